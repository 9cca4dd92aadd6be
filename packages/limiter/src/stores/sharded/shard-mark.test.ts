/** Where a take was taken from stands in its second number, whatever else does, and is read again. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { markShard, readMark } from './sharded-rule.js'

describe('a mark', () => {
  it('keeps shard, count and what the store wrote, in an integer that a double holds', () => {
    const counts = fc.integer({ min: 2, max: 1024 })
    const rests = fc.integer({ min: 0, max: 1_000_000_000 })
    fc.assert(
      fc.property(counts, fc.nat(1023), rests, (count, drawn, rest) => {
        const shard = drawn % count
        const written = markShard(rest, shard, count)
        expect(Number.isSafeInteger(written)).toBe(true)
        expect(readMark(written)).toEqual({ shard, count, rest })
      }),
    )
  })

  it('of a row that is not split is none', () => {
    for (const rest of [0, 1, 1_000_000_000]) expect(readMark(rest)).toBe(null)
  })

  it('of an earlier release, which took from several shards at once, names no shard count', () => {
    expect(readMark(2 ** 30)).toEqual({ shard: 1, count: 0, rest: 0 })
  })
})
