/** Which rules are leased, and on what terms. */
import { SLIDING_LOG } from '../../algorithms/limit-numbers.js'
import type { CompiledLimit, CompiledRule } from '../../rules/compiled-rule.js'

/** Below this a lease is no larger than one: everything is asked for. */
const LEAST_BURST = 16
/** A log's lease lasts for a hundredth of its window: shorter ones are over before they are of use. */
const SHORTEST_LOG_US = 10_000_000

/** What a rule says of its leases, or the instance where it says nothing. */
export interface Terms {
  /** How much time's worth of the local rate is leased, in milliseconds; null: by what is left. */
  readonly aheadMs: number | null
  readonly most: number
}

/** Null: it stays strict. */
export function termsOf(rule: CompiledRule, leasedByDefault: boolean): Terms | null {
  const terms = rule.rule.lease
  if (!(terms?.isOn ?? leasedByDefault) || !canBeLeased(rule)) return null
  const ahead = terms?.ahead ?? null
  return {
    aheadMs: ahead === null ? null : ahead / 1000,
    most: terms?.most ?? Number.POSITIVE_INFINITY,
  }
}

/** Whether tokens of it can be handed out ahead. */
export function canBeLeased({ limits, family }: CompiledRule): boolean {
  return limits.every((limit) => isLeasable(limit, family.shards))
}

/** gcra and leaky buckets space what they admit, and a hold is nobody else's. */
function isLeasable({ limit, numbers }: CompiledLimit, shards: number): boolean {
  if (limit.algorithm === 'gcra' || limit.algorithm === 'leaky_bucket') return false
  if (limit.algorithm === 'concurrency' || numbers.burst < LEAST_BURST * shards) return false
  return numbers.kind !== SLIDING_LOG || numbers.window >= SHORTEST_LOG_US
}
