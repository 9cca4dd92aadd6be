/**
 * The table of algorithms: what every store calls. A new one is a file of its own and a line in each
 * function here. `decide` reads and `take` writes, so that a request can take from all of its limits
 * or from none. `beside` is what a log or a concurrency limit keeps outside the row.
 */
import { BUCKET_WIDTH, bucketEmptyAt, decideBucket, takeBucket } from './bucket.js'
import {
  chargeBucket,
  grantBucket,
  raiseBucket,
  refundBucket,
  resetBucket,
} from './bucket-changes.js'
import { decideConcurrency, type Holds, releaseAll, takeConcurrency } from './concurrency.js'
import {
  chargeFixedWindow,
  decideFixedWindow,
  FIXED_WINDOW_WIDTH,
  fixedWindowEmptyAt,
  grantFixedWindow,
  raiseFixedWindow,
  refundFixedWindow,
  takeFixedWindow,
} from './fixed-window.js'
import {
  BUCKET,
  CONCURRENCY,
  FIXED_WINDOW,
  type LimitNumbers,
  SLIDING_COUNTER,
  SLIDING_LOG,
} from './limit-numbers.js'
import {
  chargeSlidingCounter,
  decideSlidingCounter,
  grantSlidingCounter,
  raiseSlidingCounter,
  refundSlidingCounter,
  resetSlidingCounter,
  SLIDING_COUNTER_WIDTH,
  slidingCounterEmptyAt,
  takeSlidingCounter,
} from './sliding-counter.js'
import {
  chargeSlidingLog,
  decideSlidingLog,
  grantSlidingLog,
  type LogEntries,
  raiseSlidingLog,
  refundSlidingLog,
  SLIDING_LOG_WIDTH,
  slidingLogEmptyAt,
  takeSlidingLog,
} from './sliding-log.js'
import type { Numbers } from './verdict.js'

export type Beside = LogEntries | Holds | undefined

/** What a reset adds to the sum of refunds: more than any receipt from before is worth. */
export const RESET = 4_000_000_000

/** More than any counter holds: granting it is a reset. */
const ALL = 9_007_199_254_740_991

/** How many numbers of a row a limit of this kind has. */
export function widthOf(kind: number): number {
  if (kind === BUCKET) return BUCKET_WIDTH
  if (kind === FIXED_WINDOW) return FIXED_WINDOW_WIDTH
  if (kind === SLIDING_COUNTER) return SLIDING_COUNTER_WIDTH
  if (kind === SLIDING_LOG) return SLIDING_LOG_WIDTH
  return 0
}

/** Whether `cost` would pass, into out[o…]; writes nothing else. */
export function decide(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
  beside: Beside,
  holdId: string,
): void {
  const kind = limit.kind
  if (kind === BUCKET) decideBucket(row, at, limit, cost, now, out, o)
  else if (kind === FIXED_WINDOW) decideFixedWindow(row, at, limit, cost, now, out, o)
  else if (kind === SLIDING_COUNTER) decideSlidingCounter(row, at, limit, cost, now, out, o)
  else if (kind === SLIDING_LOG)
    decideSlidingLog(row, at, limit, cost, now, out, o, beside as LogEntries)
  else decideConcurrency(limit, cost, now, out, o, beside as Holds, holdId)
}

/** Takes what `decide` has just allowed with the same arguments. */
export function take(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
  beside: Beside,
  holdId: string,
): void {
  const kind = limit.kind
  if (kind === BUCKET) takeBucket(row, at, limit, cost, now, out, o)
  else if (kind === FIXED_WINDOW) takeFixedWindow(row, at, limit, cost, out, o)
  else if (kind === SLIDING_COUNTER) takeSlidingCounter(row, at, limit, cost, now, out, o)
  else if (kind === SLIDING_LOG)
    takeSlidingLog(row, at, limit, cost, now, out, o, beside as LogEntries)
  else takeConcurrency(now, out, o, beside as Holds, holdId)
}

/**
 * Gives back up to n of an earlier take, found by its mark; returns how many. `amount` is the amount it
 * was taken under, `since` how much the row's sum of refunds has grown after it. The caller keeps that
 * sum: it adds what is refunded to buckets, what is granted to any, and RESET for a reset. Holds are
 * released by their id instead.
 */
export function refund(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  mark: number,
  markRest: number,
  amount: number,
  since: number,
  beside: Beside,
): number {
  const kind = limit.kind
  if (kind === BUCKET) return refundBucket(row, at, limit, n, now, mark, markRest, amount, since)
  // What was granted since may have been this very take.
  if (since !== 0) return 0
  if (kind === FIXED_WINDOW) return refundFixedWindow(row, at, limit, n, now, mark)
  if (kind === SLIDING_COUNTER) return refundSlidingCounter(row, at, limit, n, now, mark)
  if (kind === SLIDING_LOG)
    return refundSlidingLog(row, at, limit, n, now, mark, beside as LogEntries)
  return 0
}

/** Gives n to whoever the row belongs to, at most what is used; returns how many. */
export function grant(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  beside: Beside,
): number {
  const kind = limit.kind
  if (kind === BUCKET) return grantBucket(row, at, limit, n, now)
  if (kind === FIXED_WINDOW) return grantFixedWindow(row, at, limit, n, now)
  if (kind === SLIDING_COUNTER) return grantSlidingCounter(row, at, limit, n, now)
  if (kind === SLIDING_LOG) return grantSlidingLog(row, at, limit, n, now, beside as LogEntries)
  return 0
}

/** Takes n whatever is left: what is missing is debt. Returns how many. */
export function charge(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  beside: Beside,
): number {
  const kind = limit.kind
  if (kind === BUCKET) return chargeBucket(row, at, limit, n, now)
  if (kind === FIXED_WINDOW) return chargeFixedWindow(row, at, limit, n, now)
  if (kind === SLIDING_COUNTER) return chargeSlidingCounter(row, at, limit, n, now)
  if (kind === SLIDING_LOG) return chargeSlidingLog(row, at, limit, n, now, beside as LogEntries)
  return 0
}

/**
 * Makes what is used at least n, and no more than full; returns how much was added. Said twice it adds
 * nothing: for those who come back from deciding by themselves, where the first speaks for all.
 */
export function atLeast(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  beside: Beside,
): number {
  const kind = limit.kind
  const used = Math.min(n, limit.burst)
  if (kind === BUCKET) return raiseBucket(row, at, limit, used, now)
  if (kind === FIXED_WINDOW) return raiseFixedWindow(row, at, limit, used, now)
  if (kind === SLIDING_COUNTER) return raiseSlidingCounter(row, at, limit, used, now)
  if (kind === SLIDING_LOG) return raiseSlidingLog(row, at, limit, used, now, beside as LogEntries)
  return 0
}

/** Gives back all that is used; returns how much that was. */
export function reset(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  now: number,
  beside: Beside,
): number {
  const kind = limit.kind
  if (kind === BUCKET) return resetBucket(row, at, limit, now)
  if (kind === SLIDING_COUNTER) return resetSlidingCounter(row, at, limit, now)
  if (kind === CONCURRENCY) return releaseAll(now, beside as Holds)
  return grant(row, at, limit, ALL, now, beside)
}

/** When the limit's part of the row says nothing any more; 0 where it says nothing now. */
export function emptyAt(row: Numbers, at: number, limit: LimitNumbers, beside: Beside): number {
  const kind = limit.kind
  if (kind === BUCKET) return bucketEmptyAt(row, at, limit)
  if (kind === FIXED_WINDOW) return fixedWindowEmptyAt(row, at, limit)
  if (kind === SLIDING_COUNTER) return slidingCounterEmptyAt(row, at, limit)
  if (kind === SLIDING_LOG) return slidingLogEmptyAt(row, at, limit, beside as LogEntries)
  return (beside as Holds).lastExpiry()
}
