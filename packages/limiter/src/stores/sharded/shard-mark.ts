/**
 * Which shard a take was taken from, written into the take's second number: so whoever gives it back, here
 * or on another instance, finds the shard again. The number is below 2^30 as the store gives it; above it
 * stand the shard and how many there were.
 */
const UNIT = 2 ** 30
const COUNTS = 1024

export interface ShardMark {
  readonly shard: number
  /** Of how many; 0 in receipts of earlier releases that took from several: nothing is given back for them. */
  readonly count: number
  /** The take's second number as the store gave it. */
  readonly rest: number
}

export function markShard(rest: number, shard: number, count: number): number {
  return rest + (count * COUNTS + shard) * UNIT
}

/** Null: the take was of a row that is not split. */
export function readMark(written: number): ShardMark | null {
  const code = Math.floor(written / UNIT)
  if (code === 0) return null
  const count = Math.floor(code / COUNTS)
  return { shard: code % COUNTS, count, rest: written - code * UNIT }
}
