/**
 * The table of algorithms: what every store calls. A new one is a file of its own and a line in each
 * function here. `decide` reads and `take` writes, so that a request can take from all of its limits
 * or from none. `beside` is what a log or a concurrency limit keeps outside the row.
 */
import {
  BUCKET_WIDTH,
  bucketEmptyAt,
  chargeBucket,
  decideBucket,
  grantBucket,
  refundBucket,
  resetBucket,
  takeBucket,
} from './bucket.js'
import { decideConcurrency, type Holds, takeConcurrency } from './concurrency.js'
import {
  chargeFixedWindow,
  decideFixedWindow,
  FIXED_WINDOW_WIDTH,
  fixedWindowEmptyAt,
  grantFixedWindow,
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
  refundSlidingLog,
  SLIDING_LOG_WIDTH,
  slidingLogEmptyAt,
  takeSlidingLog,
} from './sliding-log.js'
import type { Numbers } from './verdict.js'

export type Beside = LogEntries | Holds | undefined

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
 * Gives back up to n of an earlier take, found by its mark; returns how many. For buckets `amount` is
 * the amount it was taken under and `since` the tokens given back to the row after it; the caller
 * keeps that sum. Holds are released by their id instead.
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
  if (kind === FIXED_WINDOW) return refundFixedWindow(row, at, n, mark)
  if (kind === SLIDING_COUNTER) return refundSlidingCounter(row, at, limit, n, now, mark)
  if (kind === SLIDING_LOG) return refundSlidingLog(row, at, n, mark, beside as LogEntries)
  return 0
}

/** Gives n to whoever the row belongs to, at most what is used; returns how many. The caller adds n to a bucket's sum of refunds. */
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

/** Gives back all that is used; returns how much that was. The caller adds it to a bucket's sum of refunds. */
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
  if (kind === CONCURRENCY) return (beside as Holds).removeAll()
  return grant(row, at, limit, ALL, now, beside)
}

/** When the limit's part of the row says nothing any more; 0 where it says nothing now. */
export function emptyAt(row: Numbers, at: number, limit: LimitNumbers, beside: Beside): number {
  const kind = limit.kind
  if (kind === BUCKET) return bucketEmptyAt(row, at)
  if (kind === FIXED_WINDOW) return fixedWindowEmptyAt(row, at, limit)
  if (kind === SLIDING_COUNTER) return slidingCounterEmptyAt(row, at, limit)
  if (kind === SLIDING_LOG) return slidingLogEmptyAt(limit, beside as LogEntries)
  return (beside as Holds).lastExpiry()
}
