/** Where a take was taken from stands in its verdict, whatever else does, and is read again. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MARK_REST, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import { markShard, readMark } from './shard-mark.js'

describe('a mark', () => {
  it('keeps shard, count and what the store wrote, in an integer that a double holds', () => {
    const counts = fc.integer({ min: 2, max: 1024 })
    const rests = fc.integer({ min: 0, max: 1_000_000_000 })
    fc.assert(
      fc.property(counts, fc.nat(1023), rests, (count, drawn, rest) => {
        const shard = drawn % count
        const verdicts = new Array<number>(VERDICT_WIDTH).fill(0)
        verdicts[MARK_REST] = rest
        markShard(verdicts, 0, shard, count)
        expect(Number.isSafeInteger(verdicts[MARK_REST])).toBe(true)
        expect(readMark(verdicts, 0)).toEqual({ shard, count, rest })
      }),
    )
  })

  it('of a row that is not split is none', () => {
    for (const rest of [0, 1, 1_000_000_000]) {
      const verdicts = [0, 0, 0, 0, 5, rest, 0]
      expect(readMark(verdicts, 0)).toBe(null)
    }
  })

  it('of an earlier release, which took from several shards at once, names no shard count', () => {
    const verdicts = [0, 0, 0, 0, 2 ** 47 - 1, 2 ** 30, 0]
    expect(readMark(verdicts, 0)).toEqual({ shard: 1, count: 0, rest: 0 })
  })
})
