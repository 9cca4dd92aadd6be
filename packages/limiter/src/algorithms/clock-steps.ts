/**
 * Clocks that step back. By up to a minute nothing needs to be done: every counter goes by the latest time it
 * knows. Further than that, a counter would stay as it is until that time comes again, perhaps for a day. So
 * it is started anew: what was used of it is used now, by the time of the clock that is in force, and nothing
 * is refilled. The caller sees to it that receipts and leases from before are worth nothing: what they were
 * taken from is not there any more, and giving it back would mint.
 */
import { F, LAST, T } from './bucket.js'
import type { Holds } from './concurrency.js'
import { startOf } from './fixed-window.js'
import {
  BUCKET,
  CONCURRENCY,
  FIXED_WINDOW,
  type LimitNumbers,
  SLIDING_COUNTER,
} from './limit-numbers.js'
import { restartSlidingCounter } from './sliding-counter.js'
import { type LogEntries, restartSlidingLog } from './sliding-log.js'
import type { Numbers } from './verdict.js'

/**
 * How far a clock may step back with nothing done about it, in microseconds. So rows and records are kept for this
 * long after they say nothing any more.
 */
export const GRACE_US = 60_000_000

/** Whether a hold lives longer than any that is taken now. */
export function isHeldTooLong(limit: LimitNumbers, now: number, holds: Holds): boolean {
  return holds.lastExpiry() > now + limit.window + GRACE_US
}

/** Whether the limit can be started anew now: a calendar window must know its boundaries. */
export function canRestart(limit: LimitNumbers, now: number): boolean {
  return limit.kind !== FIXED_WINDOW || startOf(limit, now) >= 0
}

/** Starts a limit's part of a row anew, if it was written at a time later than `now` and the longest step. */
export function restart(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  now: number,
  beside: LogEntries | Holds | undefined,
): void {
  const kind = limit.kind
  const latest = now + GRACE_US
  if (kind === BUCKET) {
    if (row[at + LAST]! > latest) restartBucket(row, at, now)
  } else if (kind === FIXED_WINDOW) {
    if (row[at]! > latest) row[at] = startOf(limit, now)
  } else if (kind === SLIDING_COUNTER) {
    if (row[at]! > latest) restartSlidingCounter(row, at, limit, now)
  } else if (kind === CONCURRENCY) {
    if (isHeldTooLong(limit, now, beside as Holds)) (beside as Holds).shorten(now + limit.window)
  } else if (row[at + 1]! > latest) {
    restartSlidingLog(row, at, limit, now, beside as LogEntries)
  }
}

/** As full as it was at its last write. */
function restartBucket(row: Numbers, at: number, now: number): void {
  const t = row[at + T]! - (row[at + LAST]! - now)
  if (t < now) {
    row[at + T] = now
    row[at + F] = 0
  } else {
    row[at + T] = t
  }
  row[at + LAST] = now
}
