/**
 * Leases: tokens that are taken ahead of time, to be spent somewhere else and reported later. A lease is n
 * from every limit of a row at once, so that a row needs one account of what is out, whoever has it: a
 * period and two sums. Leases of a period live to the end of the next; what nobody has reported by then
 * has been spent.
 *
 * What holds for buckets at every instant: level + leased out ≤ burst. Giving out and giving back leave that
 * sum alone, expiry lowers it, and refill stops where it reaches the burst; so nobody can spend more than
 * one full burst and what was refilled, and unspent tokens may come back. TAT of a bucket with n leased out
 * is therefore never earlier than now + n tokens' time, at the end of each period as well as now.
 *
 * Windows are charged when a lease is granted, and a lease of theirs ends with the window. A log is charged
 * at the lease's END: of the grants behind what a window has spent take the last, at y; all of them have
 * stamps later than y − window, so all were counted at y.
 *
 * gcra, leaky buckets and concurrency are never leased.
 */
import { AMOUNT, current, F, LAST, T, tat } from './bucket.js'
import { giveBack } from './bucket-changes.js'
import { endOf, refundFixedWindow } from './fixed-window.js'
import {
  BUCKET,
  FIXED_WINDOW,
  type LimitNumbers,
  limitNumbers,
  SLIDING_COUNTER,
} from './limit-numbers.js'
import { refundSlidingCounter, windowAt } from './sliding-counter.js'
import { type LogEntries, refundSlidingLog, stampOf } from './sliding-log.js'
import { span, spanned } from './token-time.js'
import { MARK, MARK_REST, type Numbers } from './verdict.js'

/** A row's account: the period it was last brought up to, what is out of that period and of the one before. */
export const LEASE_WIDTH = 3
export const PERIOD = 0
const FRESH = 1
const OLDER = 2

/** Microseconds of a period. */
export const LEASE_PERIOD = 500_000

/** The last result of `settleTo`: the account as it stands at that time. */
const account: number[] = [0.5, 0.5, 0.5]

function copyAccount(lease: Numbers): void {
  account[PERIOD] = lease[PERIOD]!
  account[FRESH] = lease[FRESH]!
  account[OLDER] = lease[OLDER]!
}

/** Nothing is out. */
export function clearLeases(lease: Numbers, now: number): void {
  lease[PERIOD] = Math.floor(now / LEASE_PERIOD)
  lease[FRESH] = 0
  lease[OLDER] = 0
}

/**
 * After the clock has stepped back: what is out stays out until the end of the next period but one, which is
 * not sooner than any holder stops spending it. It is of no period that a holder could report of.
 */
export function carryLeases(lease: Numbers, now: number): void {
  lease[PERIOD] = Math.floor(now / LEASE_PERIOD) + 1
  lease[FRESH] = lease[FRESH]! + lease[OLDER]!
  lease[OLDER] = 0
}

/** The account, one period later. */
function passPeriod(lease: Numbers): void {
  lease[PERIOD] = lease[PERIOD]! + 1
  lease[OLDER] = lease[FRESH]!
  lease[FRESH] = 0
}

/** Everything that is out. */
export function leasedOut(lease: Numbers): number {
  return lease[FRESH]! + lease[OLDER]!
}

/** TAT is not earlier than n tokens' time from then. */
function notBefore(row: Numbers, at: number, limit: LimitNumbers, time: number, n: number): void {
  if (n === 0) return
  span(n, limit)
  const t = time + spanned[0]!
  const f = spanned[1]!
  if (t < row[at + T]! || (t === row[at + T] && f <= row[at + F]!)) return
  row[at + T] = t
  row[at + F] = f
  row[at + AMOUNT] = limit.amount
}

/** Brings the bucket to this time, and `account` with it: the end of each period that has passed, then the time itself. */
function settleTo(row: Numbers, at: number, limit: LimitNumbers, time: number): void {
  const period = Math.floor(time / LEASE_PERIOD)
  while (account[PERIOD]! < period && leasedOut(account) > 0) {
    notBefore(row, at, limit, (account[PERIOD]! + 1) * LEASE_PERIOD, leasedOut(account))
    passPeriod(account)
  }
  notBefore(row, at, limit, time, leasedOut(account))
}

/**
 * A limit's part of a row with leases, as it stands now. Clipped only at the next look, across an
 * expiry, a bucket would refill by what was out meanwhile. A change of amount happens between.
 */
export function settleLeases(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  lease: Numbers,
  now: number,
): void {
  if (limit.kind !== BUCKET) return
  copyAccount(lease)
  const amount = row[at + AMOUNT]!
  if (amount !== limit.amount && amount !== 0) {
    const x = Math.min(now, Math.max(limit.since, row[at + LAST]!))
    settleTo(row, at, limitNumbers(BUCKET, amount, limit.window, 1, false), x)
    current(row, at, limit, now)
    row[at + T] = tat[0]!
    row[at + F] = tat[1]!
    row[at + AMOUNT] = limit.amount
  }
  settleTo(row, at, limit, now)
}

/** The account as it stands now; after every limit of the row was settled. */
export function rollLeases(lease: Numbers, now: number): void {
  const period = Math.floor(now / LEASE_PERIOD)
  while (lease[PERIOD]! < period && leasedOut(lease) > 0) passPeriod(lease)
  if (lease[PERIOD]! < period) lease[PERIOD] = period
}

/** What may be leased of `want` where so much is left: less near the limit, and never more than a quarter in all. */
export function leasable(limit: LimitNumbers, left: number, lease: Numbers, want: number): number {
  const room = Math.floor(limit.burst / 4) - leasedOut(lease)
  return Math.max(0, Math.min(want, Math.floor(left / 8), room))
}

/** n were taken from every limit of the row; when that lease ends, as far as its period goes. */
export function noteLease(lease: Numbers, n: number): number {
  lease[FRESH] = lease[FRESH]! + n
  return (lease[PERIOD]! + 2) * LEASE_PERIOD
}

/** When a lease that left this mark ends, as far as the limit goes. */
export function leaseEnd(limit: LimitNumbers, mark: number, end: number): number {
  const kind = limit.kind
  if (kind === BUCKET) return end
  if (kind === FIXED_WINDOW) return Math.min(end, endOf(limit, mark))
  if (kind === SLIDING_COUNTER) return Math.min(end, mark + limit.window)
  return Math.min(end, mark)
}

/** Whether the row still knows of a lease of this period, from which n are reported; they are not out any more. */
export function reportLease(lease: Numbers, period: number, n: number): boolean {
  let from = -1
  if (period === lease[PERIOD]) from = FRESH
  if (period === lease[PERIOD]! - 1) from = OLDER
  if (from < 0 || n > lease[from]!) return false
  lease[from] = lease[from]! - n
  return true
}

/** Gives back n that were leased then and not spent: into the window they came from, while that lasts. */
export function returnLease(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  grantedAt: number,
  now: number,
  beside: LogEntries,
): void {
  const kind = limit.kind
  if (kind === BUCKET) {
    giveBack(row, at, limit, n, now)
  } else if (kind === FIXED_WINDOW) {
    if (row[at]! <= grantedAt) refundFixedWindow(row, at, limit, n, now, row[at]!)
  } else if (kind === SLIDING_COUNTER) {
    const start = windowAt(row, at, limit, now)
    if (start <= grantedAt) refundSlidingCounter(row, at, limit, n, now, start)
  } else {
    refundSlidingLog(row, at, limit, n, now, stampOf(limit, grantedAt), beside)
  }
}

/**
 * When a take that a bucket with leases out has denied may go: a latest time, because somebody may report
 * sooner. Walks through the stretches in which what is out does not change, at most three.
 */
export function leasedGoAt(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  lease: Numbers,
  cost: number,
  now: number,
): number {
  copyAccount(lease)
  let t = row[at + T]!
  let f = row[at + F]!
  let from = now
  for (;;) {
    const out = leasedOut(account)
    const end = (account[PERIOD]! + 1) * LEASE_PERIOD
    span(cost, limit)
    let goT = t + spanned[0]! - limit.burstWhole
    const goF = f + spanned[1]! - limit.burstRest
    if (goF > 0) goT = goT + 1
    if (goF > limit.amount) goT = goT + 1
    const go = Math.max(from, goT)
    if (cost <= limit.burst - out && (out === 0 || go < end)) return go
    if (out > 0) {
      span(out, limit)
      const endT = end + spanned[0]!
      if (endT > t || (endT === t && spanned[1]! > f)) {
        t = endT
        f = spanned[1]!
      }
    }
    from = end
    passPeriod(account)
  }
}

/** Corrects a bucket's receipt: what is leased out does not count in it. */
export function noteLeasesOut(limit: LimitNumbers, out: number, verdict: Numbers, o: number): void {
  span(out, limit)
  verdict[o + MARK] = verdict[o + MARK]! - spanned[0]!
  verdict[o + MARK_REST] = verdict[o + MARK_REST]! - spanned[1]!
  if (verdict[o + MARK_REST]! >= 0) return
  verdict[o + MARK] = verdict[o + MARK]! - 1
  verdict[o + MARK_REST] = verdict[o + MARK_REST]! + limit.amount
}
