/** What to do about a hot row. */
import type { HotRow } from './hot-rows.js'
import type { Scaling } from './scaling.js'

export interface Advice {
  readonly code: 'lease' | 'shard'
  readonly message: string
}

/** A call a millisecond: from here on leases answer nearly all of it, and sparing Redis that is worth a setting. */
const LEASE_FROM = 1000
/** One key is one thread of one Redis: a handful of instances that ask as much as this fill it. */
const SHARD_FROM = 10_000
/** What a shard should have less than: with room to grow twice before it is hot itself. */
const SHARD_UNDER = 5000

/** Leases before shards: they cost nothing and help over any Redis. */
export function adviceOf({ rule, askedPerSecond }: HotRow, scaling: Scaling): Advice | null {
  const asked = `it is asked of Redis ${printRate(askedPerSecond)} times a second by this instance`
  if (askedPerSecond > LEASE_FROM && scaling.strictBy !== null) {
    const how =
      scaling.strictBy === 'rule'
        ? `take \`lease: off\` from ${rule}`
        : 'start it with --leases on, or as a sidecar'
    return { code: 'lease', message: `${asked}; leases answer most of that from memory: ${how}` }
  }
  const shards = Math.min(scaling.mostShards, shardsFor(askedPerSecond))
  if (askedPerSecond <= SHARD_FROM || scaling.shards > 1 || shards < 2) return null
  return {
    code: 'shard',
    message: `${asked}, all under one key; \`shards: ${shards}\` of ${rule} spreads it over the nodes of a Redis Cluster (a single Redis gains nothing)`,
  }
}

function shardsFor(perSecond: number): number {
  let shards = 1
  while (perSecond / shards >= SHARD_UNDER) shards *= 2
  return shards
}

function printRate(perSecond: number): string {
  return Math.round(perSecond).toLocaleString('en-US')
}
