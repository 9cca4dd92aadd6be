import { expect, it } from 'vitest'
import { BUCKET, limitNumbers } from './limit-numbers.js'
import { span, spanned, tokens } from './token-time.js'

const SECOND = 1_000_000
const AMOUNTS = [3, 7, 333, 1009, 86_399, 999_983, 299_999_977, 999_999_937]
const WINDOWS = [1, 7, 60, 3601, 86_400, 366 * 86_400].map((seconds) => seconds * SECOND)
const COUNTS = [1, 2, 3, 10, 997, 65_537, 1_000_003, 123_456_789, 999_999_999, 1_000_000_000]
const MOST = 2 ** 31
/** A hundred years. */
const FURTHEST = 3_162_240_000_000_000

it('n tokens are there at exactly n tokens’ time, and n - 1 the smallest part of a microsecond before', () => {
  let checked = 0
  for (const amount of AMOUNTS)
    for (const window of WINDOWS)
      for (const n of COUNTS) {
        if ((n / amount) * window > FURTHEST) continue
        const limit = limitNumbers(BUCKET, amount, window, 1, false)
        span(n, limit)
        const [t, f] = [spanned[0]!, spanned[1]!]
        const where = `${n} of ${amount} per ${window} us`
        expect(BigInt(t) * BigInt(amount) + BigInt(f), where).toBe(BigInt(n) * BigInt(window))
        expect(tokens(t, f, limit, MOST), where).toBe(n)
        const before = f > 0 ? ([t, f - 1] as const) : ([t - 1, amount - 1] as const)
        const whole = limit.rest === 0 ? ([t - 1, 0] as const) : before
        expect(tokens(...whole, limit, MOST), where).toBe(n - 1)
        checked++
      }
  expect(checked).toBeGreaterThan(300)
})
