/**
 * Several rules with several limits each, over the oracles of single limits: all or nothing, shadow
 * limits counted and never enforced, and which limit gives the top-level numbers.
 */
import { most } from './fraction.js'
import { type LimitSpec, oracleOf } from './limits.js'
import type { GiveBack, Oracle } from './oracle.js'

export interface RuleSpec {
  readonly name: string
  readonly scope: string
  readonly shadow: boolean
  /** What its limits count: it applies only to requests that name this unit. */
  readonly unit: string
  readonly limits: readonly LimitSpec[]
}

export interface Asked {
  readonly subject: Readonly<Record<string, string>>
  /** By unit. */
  readonly costs: Readonly<Record<string, bigint>>
  readonly holdId: string
}

export interface LimitAnswer {
  readonly rule: RuleSpec
  readonly spec: LimitSpec
  readonly cost: bigint
  readonly allowed: boolean
  /** Null: never. */
  readonly retryAt: bigint | null
  readonly used: bigint
  readonly remaining: bigint
  readonly resetAt: bigint
}

export interface RulesAnswer {
  readonly allowed: boolean
  readonly limits: readonly LimitAnswer[]
  /** The limit that gives the top-level numbers. */
  readonly top: LimitAnswer | null
  readonly releaseAt: bigint
  /** Gives back all that was taken; answers the most that any limit gave, by unit. Null if nothing was taken. */
  readonly giveBack: ((now: bigint) => Record<string, number>) | null
}

interface Counter {
  readonly rule: RuleSpec
  readonly spec: LimitSpec
  readonly oracle: Oracle
}

const SPACING = new Set(['gcra', 'leaky_bucket'])

export class RulesOracle {
  readonly #rules: readonly RuleSpec[]
  readonly #rows = new Map<string, Counter[]>()

  constructor(rules: readonly RuleSpec[]) {
    this.#rules = rules
  }

  /** The counters of every limit that applies, in the order of rules and limits. */
  #counters({ subject, costs }: Asked): (Counter & { readonly cost: bigint })[] {
    return this.#rules.flatMap((rule) => {
      const value = rule.scope === 'global' ? '' : subject[rule.scope]
      const cost = costs[rule.unit]
      if (value === undefined || cost === undefined) return []
      const key = JSON.stringify([rule.name, value])
      const row =
        this.#rows.get(key) ?? rule.limits.map((spec) => ({ rule, spec, oracle: oracleOf(spec) }))
      this.#rows.set(key, row)
      return row.map((counter) => ({ ...counter, cost }))
    })
  }

  check(asked: Asked, now: bigint, dryRun = false): RulesAnswer {
    const { holdId } = asked
    const decided = this.#counters(asked).map((counter) => {
      const { oracle, cost } = counter
      const fits = oracle.fits(cost, now, holdId)
      const denial = fits || cost > oracle.limit ? null : oracle.retryAt(cost, now)
      return { ...counter, fits, denial, releaseAt: oracle.releaseAt(now) }
    })
    const enforced = decided.filter(({ rule }) => !rule.shadow)
    const allowed = enforced.every(({ fits }) => fits)
    const taking = allowed && !dryRun ? decided.filter(({ fits }) => fits) : []
    const takes = taking.map(({ rule, oracle, cost }) => {
      return { unit: rule.unit, cost, giveBack: oracle.take(cost, now, holdId) }
    })
    const limits = decided.map(({ rule, spec, oracle, cost, fits, denial }) => ({
      rule,
      spec,
      cost,
      allowed: fits,
      retryAt: denial,
      used: oracle.used(now),
      remaining: oracle.remaining(now),
      resetAt: oracle.resetAt(now),
    }))
    return {
      allowed,
      limits,
      top: topOf(limits, allowed),
      releaseAt: enforced.reduce((last, { releaseAt }) => most(last, releaseAt), now),
      giveBack: takes.length === 0 ? null : (at) => giveBackAll(takes, at),
    }
  }
}

function giveBackAll(
  takes: readonly { readonly unit: string; readonly cost: bigint; readonly giveBack: GiveBack }[],
  now: bigint,
): Record<string, number> {
  const given: Record<string, number> = {}
  for (const { unit, cost, giveBack } of takes)
    given[unit] = Math.max(given[unit] ?? 0, Number(giveBack(cost, now)))
  return given
}

/** Of a no the denying limit with the latest retry; of a yes the one with the smallest part left. */
function topOf(limits: readonly LimitAnswer[], allowed: boolean): LimitAnswer | null {
  const enforced = limits.filter(({ rule }) => !rule.shadow)
  if (!allowed) {
    const denying = enforced.filter((limit) => !limit.allowed)
    return denying.reduce((top, limit) => (isLater(limit.retryAt, top.retryAt) ? limit : top))
  }
  const measuring = enforced.filter(({ spec }) => !SPACING.has(spec.algorithm))
  const candidates = measuring.length > 0 ? measuring : enforced
  return candidates.reduce<LimitAnswer | null>((top, limit) => {
    if (top === null) return limit
    return limit.remaining * top.spec.burst < top.remaining * limit.spec.burst ? limit : top
  }, null)
}

function isLater(a: bigint | null, b: bigint | null): boolean {
  if (b === null) return false
  return a === null || a > b
}
