/** Handler of `GET /v1/auth`: a check by headers, for gateways that read only the status of an answer. */
import type { AuthHeader } from '@sluice/contract'
import type { Decisions } from '../decisions.js'
import type { Handlers } from '../http/route.js'
import { statusOf } from '../http/wire-answer.js'
import { namespaceOf } from '../security/caller.js'
import type { Log } from '../telemetry/log.js'
import { traced } from '../telemetry/tracing.js'
import { inHeaderWords, readAuthRequest } from './auth-request.js'

export interface AuthParts {
  readonly decisions: Decisions
  /** Headers that are read besides scopes, resource and method. */
  readonly allowed: readonly AuthHeader[]
  readonly log: Log
}

/** `X-Sluice-Subject` is deprecated since then (RFC 9745). */
const DEPRECATED_SINCE = `@${Date.parse('2026-11-18') / 1000}`

export function authHandlers({ decisions, allowed, log }: AuthParts): Handlers<'auth'> {
  const { tenants, observer, headerFamilies } = decisions
  let hasWarned = false
  const warnOnce = () => {
    if (hasWarned) return
    hasWarned = true
    log.warn(
      'X-Sluice-Subject is deprecated and goes with the next release; send a header for each scope, such as X-Sluice-Scope-User',
      { code: 'deprecated_header' },
    )
  }

  const auth: Handlers<'auth'>['auth'] = async (call) => {
    // `?deny=403` is for gateways that do not know 429.
    const denied = Number(call.query().deny ?? 429)
    // Noted before the request is read, because reading refuses a header with several scopes.
    const isDeprecated = (call.headers['x-sluice-subject'] ?? '') !== ''
    if (isDeprecated) warnOnce()
    const request = readAuthRequest(call.rawHeaders, allowed)
    const tenant = tenants.require(namespaceOf(call.caller, undefined, tenants.home))
    const started = performance.now()
    const decision = await inHeaderWords(() =>
      // Trace headers are not read: they may come from the gateway's client.
      traced({}, async () => decisions.decide(tenant, request)),
    )
    observer.took('rest', (performance.now() - started) / 1000, 1)
    const status = statusOf(decision)
    return {
      status: status === 429 ? denied : status,
      headers: {
        ...withinBuffer(decision.toHeaders(headerFamilies)),
        ...(decision.allowed ? {} : { 'X-Sluice-Reason': decision.reason ?? 'limited' }),
        ...(isDeprecated ? { Deprecation: DEPRECATED_SINCE } : {}),
      },
    }
  }
  return { auth }
}

/** By default nginx treats an answer with a head of more than 4 KB as an outage. */
const MOST_HEADER_BYTES = 3000

/** Leaves out `RateLimit-Policy` and `RateLimit` where the head is too long: they grow with the number of rules. */
function withinBuffer(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const lengths = Object.entries(headers).map(([name, value]) => name.length + value.length + 4)
  const bytes = lengths.reduce((sum, length) => sum + length, 0)
  if (bytes <= MOST_HEADER_BYTES) return headers
  const { 'RateLimit-Policy': _policy, RateLimit: _state, ...rest } = headers
  return rest
}
