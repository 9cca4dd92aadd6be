import { expect, it } from 'vitest'
import { RuleSet } from '../../rules/rule-set.js'
import { RuleLayout } from './rule-layout.js'

const NOW = 1_790_000_000_000_000
const SECOND = 1_000_000

/** The numbers of a bucket whose amount changed now, for a store whose clock is so far ahead. */
function packed(offset: number): Float64Array {
  const [rule] = RuleSet.compile({ rules: { r: { scope: 'user', limits: '10/s' } } }).all
  rule!.limits[0]!.numbers.since = NOW
  return new Float64Array(new Uint8Array(RuleLayout.of(rule!).packed(NOW, offset)).buffer)
}

it('says by the store’s clock since when an amount holds, and nothing before that clock is known', () => {
  const here = packed(0)
  const place = here.indexOf(NOW)
  const since = (offset: number) => {
    const there = packed(offset)
    expect(there.with(place, 0)).toEqual(here.with(place, 0))
    return there[place]
  }
  expect(since(3600 * SECOND)).toBe(NOW + 3600 * SECOND)
  expect(since(-5 * SECOND)).toBe(NOW - 5 * SECOND)
  expect(since(Number.NaN)).toBe(0)
})
