/** Handlers of single subjects: their limits now, their tier, their overrides. */
import { printLimitDecision, type RouteIdsOf } from '@sluice/contract'
import { type Explanation, type LimitDecision, type Request, SluiceError } from '@sluice/limiter'
import { singleSubject } from '../control/subjects-part.js'
import { ServiceError } from '../error-codes.js'
import type { Handlers } from '../http/route.js'
import type { Tenant } from '../tenants.js'
import { type ControlParts, plane } from './control-parts.js'
import { namespaceIn, present } from './pages.js'

export function subjectHandlers(parts: ControlParts): Handlers<RouteIdsOf<'subjects'>> {
  const { tenants } = parts

  return {
    async subjectLimits(call) {
      const query = call.query()
      const namespace = namespaceIn(call, query, tenants.home)
      const tenant = tenants.require(namespace)
      const { scope, value } = singleSubject({ namespace, ...call.params })
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
    },

    async setTier(call) {
      const { tier } = call.body()
      const subject = { namespace: namespaceIn(call, call.query()), ...call.params }
      const set = await plane(parts).subjects.setTier(call.caller, subject, tier)
      return { status: 200, body: set }
    },

    async setOverride(call) {
      const { rule, limits, until, reason } = call.body()
      const subject = { namespace: namespaceIn(call, call.query()), ...call.params }
      const fields = { rule, limits: limits ?? undefined, ...present({ until, reason }) }
      const set = await plane(parts).subjects.setOverride(call.caller, subject, fields)
      const place = [subject.scope, subject.value].map(encodeURIComponent).join('/')
      const headers = {
        Location: `/v1/subjects/${place}/override?rule=${encodeURIComponent(rule)}`,
      }
      return { status: 201, headers, body: set }
    },

    async deleteOverride(call) {
      const query = call.query()
      const subject = { namespace: namespaceIn(call, query), ...call.params }
      await plane(parts).subjects.removeOverride(call.caller, subject, query.rule!)
      return { status: 204 }
    },
  }
}

/** The most units that a request may name. */
const MOST_UNITS = 16

/** One of each unit, so that rules of every unit apply. */
function oneOfEach({ limiter }: Tenant): Record<string, number> {
  const units = new Set(['requests', ...limiter.rules.all.map(({ unit }) => unit)])
  return Object.fromEntries([...units].slice(0, MOST_UNITS).map((unit) => [unit, 1]))
}

function effective(
  tenant: Tenant,
  { scope, value }: { scope: string; value: string },
  { decision, applied, setAside, tiers }: Explanation,
) {
  // The decision has the limits in the same order.
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

/** A limit of a decision, with its text and why it applies. */
function wireLimit(limit: LimitDecision, { limit: text, why }: { limit: string; why: string }) {
  const { allowed: _allowed, limit: total, ...rest } = printLimitDecision(limit)
  return { ...rest, limit: text, limit_total: total, why }
}

/** The override in force; null where the rule's own limits hold. */
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
