/**
 * Where a take was taken from, written into its verdict: so whoever gives it back, here or on another
 * instance, finds the shard again. The mark's second number is below 2^30; above it stand the shard and
 * how many there were.
 */
import { MARK, MARK_REST } from '../../algorithms/verdict.js'
import type { Verdicts } from '../store.js'

const UNIT = 2 ** 30
const COUNTS = 1024
/** Instead of a shard: the mark is the number under which a gathering is kept. */
const GATHERED = 1

export interface ShardMark {
  readonly shard: number
  /** Of how many. */
  readonly count: number
  /** The mark's second number as the store gave it. */
  readonly rest: number
}

export function markShard(verdicts: number[], at: number, shard: number, count: number): void {
  verdicts[at + MARK_REST]! += (count * COUNTS + shard) * UNIT
}

/** Null: the take was of a row that is not split, or is gathered. */
export function readMark(verdicts: Verdicts, at: number): ShardMark | null {
  const written = verdicts[at + MARK_REST]!
  const code = Math.floor(written / UNIT)
  if (code <= GATHERED) return null
  const count = Math.floor(code / COUNTS)
  return { shard: code % COUNTS, count, rest: written - code * UNIT }
}

export function markGathered(verdicts: number[], at: number, id: number): void {
  verdicts[at + MARK] = id
  verdicts[at + MARK_REST] = GATHERED * UNIT
}

/** The number of the gathering; null where it is none. */
export function gatheringOf(verdicts: Verdicts, at: number): number | null {
  return verdicts[at + MARK_REST] === GATHERED * UNIT ? verdicts[at + MARK]! : null
}
