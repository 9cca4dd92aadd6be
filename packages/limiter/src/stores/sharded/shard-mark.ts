/**
 * Where a take was taken from, written into its verdict: so whoever gives it back, here or on another
 * instance, finds the shard again. The mark's second number is below 2^30; above it stand the shard and
 * how many there were.
 */
import { MARK_REST } from '../../algorithms/verdict.js'
import type { Verdicts } from '../store.js'

const UNIT = 2 ** 30
const COUNTS = 1024
export interface ShardMark {
  readonly shard: number
  /** Of how many; 0 in receipts of earlier releases that took from several: nothing is given back for them. */
  readonly count: number
  /** The mark's second number as the store gave it. */
  readonly rest: number
}

export function markShard(verdicts: number[], at: number, shard: number, count: number): void {
  verdicts[at + MARK_REST]! += (count * COUNTS + shard) * UNIT
}

/** Null: the take was of a row that is not split. */
export function readMark(verdicts: Verdicts, at: number): ShardMark | null {
  const written = verdicts[at + MARK_REST]!
  const code = Math.floor(written / UNIT)
  if (code === 0) return null
  const count = Math.floor(code / COUNTS)
  return { shard: code % COUNTS, count, rest: written - code * UNIT }
}
