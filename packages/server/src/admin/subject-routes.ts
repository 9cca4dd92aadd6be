/** Single subjects over HTTP: what holds for them now, their tier, their overrides. */
import { type Explanation, type LimitDecision, type Request, SluiceError } from '@sluice/limiter'
import { quote } from '@sluice/limiter/transport'
import { type SubjectName, singleSubject } from '../control/subjects-part.js'
import { ServiceError } from '../error-codes.js'
import { badField, refuseUnknown, requiredText } from '../http/body.js'
import type { Call, Reply, Route } from '../http/route.js'
import type { Tenant } from '../tenants.js'
import { namespaceIn, present, queryOf, textOrNone } from './call.js'
import { type AdminParts, adminRoute, plane } from './parts.js'

const SUBJECT = '/v1/subjects/{scope}/{value}'

export function subjectRoutes(parts: AdminParts): Route[] {
  const { tenants } = parts

  const subjectOf = (call: Call, namespace: string): SubjectName => {
    const { scope, value } = call.params
    return { namespace, scope: scope!, value: value! }
  }

  const limits = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['resource', 'method', 'namespace'])
    const namespace = namespaceIn(call, query, tenants.home)
    const tenant = tenants.require(namespace)
    const { scope, value } = singleSubject(subjectOf(call, namespace))
    const { resource, method } = query
    const request: Request = {
      subject: { [scope]: value },
      costs: oneOfEach(tenant),
      ...present({ resource, method }),
    }
    try {
      const explained = await tenant.limiter.explain(request)
      return { status: 200, body: effective(tenant, { scope, value }, explained) }
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'bad_request') throw error
      const field = error.field?.startsWith('subject') === true ? 'scope' : error.field
      throw new ServiceError('bad_request', error.message, present({ field }))
    }
  }

  const setTier = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace'])
    const body = call.body()
    refuseUnknown(body, ['tier'])
    const { tier } = body
    if (tier !== null && typeof tier !== 'string')
      throw badField('tier', `is ${quote(tier)}; expected a tier's name, or null for none`)
    const subject = subjectOf(call, namespaceIn(call, query))
    const set = await plane(parts).subjects.setTier(call.caller, subject, tier)
    return { status: 200, body: set }
  }

  const setOverride = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace'])
    const body = call.body()
    refuseUnknown(body, ['rule', 'limits', 'until', 'reason'])
    const rule = requiredText(body, 'rule', "a rule's name")
    const [until, reason] = [textOrNone(body, 'until'), textOrNone(body, 'reason')]
    const subject = subjectOf(call, namespaceIn(call, query))
    const fields = { rule, limits: body['limits'] ?? undefined, ...present({ until, reason }) }
    const set = await plane(parts).subjects.setOverride(call.caller, subject, fields)
    const place = [subject.scope, subject.value].map(encodeURIComponent).join('/')
    const headers = {
      Location: `/v1/subjects/${place}/override?rule=${encodeURIComponent(rule)}`,
    }
    return { status: 201, headers, body: set }
  }

  const removeOverride = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['rule', 'namespace'])
    const { rule } = query
    if (rule === undefined) throw badField('rule', "is missing; expected a rule's name")
    const subject = subjectOf(call, namespaceIn(call, query))
    await plane(parts).subjects.removeOverride(call.caller, subject, rule)
    return { status: 204 }
  }

  return [
    adminRoute('GET', `${SUBJECT}/limits`, 'reader', limits),
    adminRoute('PUT', `${SUBJECT}/tier`, 'operator', setTier),
    adminRoute('POST', `${SUBJECT}/override`, 'operator', setOverride),
    adminRoute('DELETE', `${SUBJECT}/override`, 'operator', removeOverride),
  ]
}

/** As many as a request may name. */
const MOST_UNITS = 16

/** A rule that counts another unit holds for the subject as well. */
function oneOfEach({ limiter }: Tenant): Record<string, number> {
  const units = new Set(['requests', ...limiter.rules.all.map(({ unit }) => unit)])
  return Object.fromEntries([...units].slice(0, MOST_UNITS).map((unit) => [unit, 1]))
}

function effective(
  tenant: Tenant,
  { scope, value }: { scope: string; value: string },
  { decision, applied, setAside, tiers }: Explanation,
) {
  // Limits come in the order of the rules, and of each in its own.
  const words = applied.flatMap(({ limits, why }) => limits.map((limit) => ({ limit, why })))
  return {
    scope,
    value,
    tier: tiers[scope] ?? null,
    exempt: decision.exempt,
    blocked: !decision.allowed && decision.reason === 'blocked',
    limits: decision.limits.map((limit, i) => ({
      ...wireLimit(limit, words[i]!),
      override: overrideOf(tenant, limit.rule, value),
    })),
    set_aside: setAside.map(({ rule, by, why }) => ({ rule, by, why })),
  }
}

function wireLimit(limit: LimitDecision, { limit: text, why }: { limit: string; why: string }) {
  return {
    rule: limit.rule,
    scope: limit.scope,
    limit: text,
    algorithm: limit.algorithm,
    amount: limit.amount,
    limit_total: limit.limit,
    window_seconds: limit.windowSeconds,
    remaining: limit.remaining,
    reset_at: limit.resetAtMs === null ? null : new Date(limit.resetAtMs).toISOString(),
    retry_after: limit.retryAfterMs === null ? null : limit.retryAfterMs / 1000,
    unit: limit.unit,
    shadow: limit.shadow,
    why,
  }
}

/** The one in force; null where the rule's own limits hold. */
function overrideOf({ limiter }: Tenant, name: string, value: string) {
  const named = limiter.rules.named(name) ?? limiter.rules.defaultRule ?? undefined
  const now = Date.now() * 1000
  const found = named?.family.overrides
    .get(value)
    ?.findLast(({ rule, until }) => rule === named.rule && until > now)
  if (found === undefined) return null
  const isEndless = found.until === Number.POSITIVE_INFINITY
  const until = isEndless ? null : new Date(found.until / 1000).toISOString()
  return { until, reason: found.reason }
}
