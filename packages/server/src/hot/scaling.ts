/** How a rule's rows bear heat: what it says of leases and shards, and what it could say. */
import { type CompiledRule, canBeLeased } from '@sluice/limiter/transport'

export interface Scaling {
  /** This instance takes tokens of it ahead of time. */
  readonly isLeased: boolean
  /** Why it is not, where it could be: the rule says so, or the instance. */
  readonly strictBy: 'rule' | 'instance' | null
  readonly shards: number
  /** As many as it can be split into, a power of two; 1: it cannot. */
  readonly mostShards: number
}

/** What the instance does where a rule says nothing; null: its counters are its own, and nobody is asked. */
export type Leasing = 'on' | 'off' | null

/** They space requests, or count who is inside: no part of them can be split off. */
const WHOLE = new Set(['gcra', 'leaky_bucket', 'concurrency'])
/** A shard that holds less strands what is left in it. */
const LEAST_SHARD = 4
const MOST_SHARDS = 64

export function scalingOf(compiled: CompiledRule, leasing: Leasing): Scaling {
  const { shards, lease } = compiled.rule
  const isWhole = compiled.limits.some(({ limit }) => WHOLE.has(limit.algorithm))
  const numbers = compiled.limits.map((limit) => limit.numbers)
  const canLease = leasing !== null && canBeLeased(compiled)
  const isOn = lease?.isOn ?? leasing === 'on'
  const smallest = Math.min(
    ...numbers.map(({ amount, burst }) => Math.min(amount, burst / LEAST_SHARD)),
  )
  return {
    isLeased: canLease && isOn,
    strictBy: !canLease || isOn ? null : lease === null ? 'instance' : 'rule',
    shards,
    mostShards: isWhole ? 1 : powerOfTwo(Math.min(smallest, MOST_SHARDS)),
  }
}

/** The largest that is not above it; at least 1. */
function powerOfTwo(most: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, most)))
}
