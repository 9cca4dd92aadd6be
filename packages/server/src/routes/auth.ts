/** `GET /v1/auth`: a check by headers, for gateways that only know statuses. */
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
    // Before it is read: a header of several scopes, as older gateways send it, is refused.
    const isDeprecated = (call.headers['x-sluice-subject'] ?? '') !== ''
    if (isDeprecated) warnOnce()
    const request = readAuthRequest(call.rawHeaders, allowed)
    const tenant = tenants.require(namespaceOf(call.caller, undefined, tenants.home))
    const started = performance.now()
    const decision = await inHeaderWords(() =>
      // A client could send a trace of its own: it is not read either.
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

/** nginx takes a head of more than 4 KB for an outage, unless it is told otherwise. */
const MOST_HEADER_BYTES = 3000

/** Without the lists of all policies where they are long: their length grows with the rules that apply. */
function withinBuffer(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const lengths = Object.entries(headers).map(([name, value]) => name.length + value.length + 4)
  const bytes = lengths.reduce((sum, length) => sum + length, 0)
  if (bytes <= MOST_HEADER_BYTES) return headers
  const { 'RateLimit-Policy': _policy, RateLimit: _state, ...rest } = headers
  return rest
}
