/** Where a take was taken from stands in its verdict, whatever else does, and is read again. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MARK, MARK_REST, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import { gatheringOf, markGathered, markShard, readMark } from './shard-mark.js'

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
        expect(gatheringOf(verdicts, 0)).toBe(null)
      }),
    )
  })

  it('of a row that is not split is none', () => {
    for (const rest of [0, 1, 1_000_000_000]) {
      const verdicts = [0, 0, 0, 0, 5, rest, 0]
      expect(readMark(verdicts, 0)).toBe(null)
      expect(gatheringOf(verdicts, 0)).toBe(null)
    }
  })

  it('of what was gathered is the number that it is kept under', () => {
    const verdicts = [0, 0, 0, 0, 5, 7, 0]
    markGathered(verdicts, 0, 2 ** 47 - 1)
    expect(verdicts[MARK]).toBe(2 ** 47 - 1)
    expect(gatheringOf(verdicts, 0)).toBe(2 ** 47 - 1)
    expect(readMark(verdicts, 0)).toBe(null)
  })
})
