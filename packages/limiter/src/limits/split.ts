/** A limit in shards: each counts a part of it apart, and the parts sum to the whole. */
import { type Algorithm, type Limit, limitOutOfRange, printLimit } from './limit.js'

export const MOST_SHARDS = 1024

/** Why some cannot be split. */
const WHOLE: Partial<Record<Algorithm, string>> = {
  gcra: 'shards would each space their own requests, and together they would not be even',
  leaky_bucket: 'shards would each let out their own queue, and together not at a constant rate',
  concurrency: 'a request that is in flight is counted in one place',
}

/** Shard number `shard`, from 0, of so many. */
export function shardOf(limit: Limit, shard: number, shards: number): Limit {
  const part = (whole: number) => Math.floor((whole + shard) / shards)
  return { ...limit, amount: part(limit.amount), burst: part(limit.burst) }
}

/** Why a limit cannot be split so; undefined if it can. */
export function splitFault(limit: Limit, shards: number): string | undefined {
  if (shards === 1) return undefined
  const why = WHOLE[limit.algorithm]
  if (why !== undefined) return `${printLimit(limit)} cannot be split: ${why}`
  const most = Math.min(limit.amount, limit.burst)
  if (most < shards)
    return `${printLimit(limit)} in ${shards} shards leaves less than 1 to a shard; ${most} is the most here`
  // The slowest that a shard can be, and the most that it can hold.
  const slowest = shardOf(limit, 0, shards)
  return limitOutOfRange({ ...slowest, burst: Math.ceil(limit.burst / shards) })
}
