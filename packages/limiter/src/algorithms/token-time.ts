/**
 * Durations counted in tokens. A time is the pair (t, f) = t + f/amount microseconds, 0 ≤ f < amount,
 * because tokens scaled by the window overflow 2^53 and this does not. Every intermediate is an
 * integer below 2^53, where floor(x / y) of doubles is exact.
 */
import { type LimitNumbers, partsOf } from './limit-numbers.js'

/** The last result of `span`: no allocation, no second return value. */
export const spanned: number[] = [0.5, 0.5]

/** n tokens' time, n·window/amount, into `spanned`. */
export function span(n: number, limit: LimitNumbers): void {
  if (limit.rest === 0) {
    spanned[0] = n * limit.whole
    spanned[1] = 0
    return
  }
  partsOf(n, limit.rest, limit.amount, spanned)
  spanned[0] = spanned[0]! + n * limit.whole
}

/** Whole tokens in the duration (t, f), at most `most`. */
export function tokens(t: number, f: number, limit: LimitNumbers, most: number): number {
  if (t < 0 || most <= 0) return 0
  if (limit.rest === 0) return Math.min(most, Math.floor(t / limit.whole))
  const guess = Math.floor(((t + f / limit.amount) / limit.window) * limit.amount)
  if (guess > most + 1) return most
  let n = guess
  span(n, limit)
  while (n > 0 && (spanned[0]! > t || (spanned[0] === t && spanned[1]! > f))) {
    n = n - 1
    span(n, limit)
  }
  span(n + 1, limit)
  while (spanned[0]! < t || (spanned[0] === t && spanned[1]! <= f)) {
    n = n + 1
    span(n + 1, limit)
  }
  return Math.min(most, n)
}
