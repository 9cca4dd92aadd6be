/** A limit in shards: the parts sum to the whole, and what cannot be split says why. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFault, parseLimit } from './grammar.js'
import { type Limit, limitOutOfRange } from './limit.js'
import { MOST_SHARDS, shardOf, splitFault } from './split.js'

function limit(text: string): Limit {
  const read = parseLimit(text)
  if (isFault(read)) throw new Error(read.message)
  return read
}

describe('the shards of a limit', () => {
  it('sum to the amount and the burst, and each is a limit that may be', () => {
    const numbers = fc.integer({ min: 1, max: 1_000_000_000 })
    const counts = fc.integer({ min: 2, max: MOST_SHARDS })
    fc.assert(
      fc.property(numbers, numbers, counts, (amount, burst, shards) => {
        const whole = { ...limit('1/s'), amount, burst }
        if (limitOutOfRange(whole) !== undefined || splitFault(whole, shards) !== undefined) return
        const parts = Array.from({ length: shards }, (_, i) => shardOf(whole, i, shards))
        expect(parts.reduce((sum, part) => sum + part.amount, 0)).toBe(amount)
        expect(parts.reduce((sum, part) => sum + part.burst, 0)).toBe(burst)
        for (const part of parts) expect(limitOutOfRange(part)).toBeUndefined()
      }),
    )
  })

  it.each([
    ['10/s', 10, undefined],
    ['10/s', 11, '10/s in 11 shards leaves less than 1 to a shard; 10 is the most here'],
    [
      '10/s burst 3',
      4,
      '10/s burst 3 in 4 shards leaves less than 1 to a shard; 3 is the most here',
    ],
    [
      '3/s burst 10',
      4,
      '3/s burst 10 in 4 shards leaves less than 1 to a shard; 3 is the most here',
    ],
    ['5 per calendar day', 5, undefined],
    ['9 per 5m exact', 8, undefined],
    ['9 per 5m sliding', 8, undefined],
  ])('of %s in %d: %s', (text, shards, fault) => {
    expect(splitFault(limit(text), shards)).toBe(fault)
  })

  it('that would take more than 100 years to fill are refused', () => {
    const slow = { ...limit('3 per 300d burst 300'), burst: 300 }
    expect(limitOutOfRange(slow)).toBeUndefined()
    expect(splitFault(slow, 2)).toContain('more than 100 years')
  })

  it.each(['10/s smooth 8', '10/s queue 50', '8 concurrent for 60s'])(
    'of %s are not to be had, and it says why',
    (text) => {
      expect(splitFault(limit(text), 2)).toMatch(/ cannot be split: \S+ /)
      expect(splitFault(limit(text), 1)).toBeUndefined()
    },
  )
})
