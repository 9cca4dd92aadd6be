/** Giving back to buckets and taking more: refunds by receipt, grants, debt and resets. */
import { AMOUNT, current, F, LAST, MOST_OWED, T, tat, write } from './bucket.js'
import { BUCKET, HORIZON_US, type LimitNumbers, limitNumbers } from './limit-numbers.js'
import { span, spanned, tokens } from './token-time.js'
import type { Numbers } from './verdict.js'

/** Moves TAT earlier by n tokens. */
export function giveBack(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): void {
  span(n, limit)
  let t = row[at + T]! - spanned[0]!
  let f = row[at + F]! - spanned[1]!
  if (f < 0) {
    t = t - 1
    f = f + limit.amount
  }
  write(row, at, limit, t, f, now)
}

/**
 * Gives back up to n of a take that left TAT at (mark, markRest) under `amount`. `since` is how many
 * tokens were given back to this row after that take: each moved the take up the queue. Never more
 * than time has left of it, and time is no earlier than the last write: what a clock had repaid it has
 * repaid, also if it steps back. The caller adds what is returned to the row's sum of refunds.
 */
export function refundBucket(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  mark: number,
  markRest: number,
  amount: number,
  since: number,
): number {
  if (row[at + AMOUNT] !== amount || limit.amount !== amount || since < 0) return 0
  if (limit.queues && (row[at + T] !== mark || row[at + F] !== markRest)) return 0
  if ((since / amount) * limit.window > HORIZON_US || since > MOST_OWED) return 0
  const time = Math.max(now, row[at + LAST]!)
  // The row may have been forgotten since, and begun anew: a full bucket takes nothing.
  if (row[at + T]! < time || (row[at + T] === time && row[at + F] === 0)) return 0
  span(since, limit)
  let t = mark - time - spanned[0]!
  let f = markRest - spanned[1]!
  if (f < 0) {
    t = t - 1
    f = f + amount
  }
  const given = tokens(t, f, limit, n)
  if (given > 0) giveBack(row, at, limit, given, now)
  return given
}

/** Tokens in use, rounded up. */
function usedUp(limit: LimitNumbers, now: number): number {
  let t = tat[0]!
  const f = tat[1]!
  t = t - now
  if (t < 0 || (t === 0 && f === 0)) return 0
  const used = tokens(t, f, limit, MOST_OWED)
  span(used, limit)
  if (spanned[0] === t && spanned[1] === f) return used
  return used + 1
}

/** Adds n tokens, at most to full. The caller adds n to the row's sum of refunds. Returns what was used of it. */
export function grantBucket(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  current(row, at, limit, now)
  const used = usedUp(limit, now)
  if (used === 0) return 0
  if (n >= used) {
    write(row, at, limit, now, 0, now)
    return used
  }
  write(row, at, limit, tat[0]!, tat[1]!, now)
  giveBack(row, at, limit, n, now)
  return n
}

/** Takes n tokens whatever is there: what is missing is debt that delays later requests. Returns what it could take. */
export function chargeBucket(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  current(row, at, limit, now)
  let t = tat[0]!
  let f = tat[1]!
  const used = usedUp(limit, now)
  if (used === 0) {
    t = now
    f = 0
  }
  const time = Math.floor(((HORIZON_US - (t - now)) / limit.window) * limit.amount)
  const taken = Math.max(0, Math.min(n, MOST_OWED - used, time))
  span(taken, limit)
  t = t + spanned[0]!
  f = f + spanned[1]!
  if (f >= limit.amount) {
    t = t + 1
    f = f - limit.amount
  }
  write(row, at, limit, t, f, now)
  return taken
}

/** Makes what is used at least n, which is no more than the burst; returns how much was added. */
export function raiseBucket(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  current(row, at, limit, now)
  const used = usedUp(limit, now)
  if (used >= n) return 0
  span(n, limit)
  write(row, at, limit, now + spanned[0]!, spanned[1]!, now)
  return n - used
}

/**
 * Makes the bucket full; returns what was used, by the amount it was written under or the one in force,
 * whichever is more. The caller voids every older receipt.
 */
export function resetBucket(row: Numbers, at: number, limit: LimitNumbers, now: number): number {
  const amount = row[at + AMOUNT]!
  current(row, at, limit, now)
  let used = usedUp(limit, now)
  if (amount !== limit.amount && amount !== 0) {
    tat[0] = row[at + T]!
    tat[1] = row[at + F]!
    used = Math.max(used, usedUp(limitNumbers(BUCKET, amount, limit.window, 1, false), now))
  }
  if (used > 0) write(row, at, limit, now, 0, now)
  return used
}
