/**
 * sliding_window_log: every take with its stamp, so that every window, wherever it starts, holds at
 * most the limit. The entries live beside the row, behind a port.
 *
 * Row: the sum of all entries, the latest `now` that admitted. Time is never earlier than the latter.
 * Only a take trims: a denial that trimmed, then a clock stepping back, would mint.
 */
import type { LimitNumbers } from './limit-numbers.js'
import { NEVER, NOT_NOW, YES } from './status.js'
import { GO_AT, MARK, MARK_REST, type Numbers, REMAINING, RESET_AT, STATUS } from './verdict.js'

export const SLIDING_LOG_WIDTH = 2
const SUM = 0
export const SEEN = 1

/** Entries in ascending order of their stamps, no two with the same. */
export interface LogEntries {
  count(): number
  stamp(i: number): number
  cost(i: number): number
  setCost(i: number, cost: number): void
  push(stamp: number, cost: number): void
  dropOldest(n: number): void
  dropNewest(): void
}

/**
 * The stamp of what is taken at this time: rounded up to its cell. Of a row that was ever leased it is ahead
 * of time, where a lease that begins now ends: then all of them stay in order.
 */
export function stampOf(limit: LimitNumbers, time: number): number {
  if (limit.lead > 0) return (Math.floor(time / limit.lead) + 2) * limit.lead
  return Math.ceil(time / limit.cell) * limit.cell
}

/** The last result of `measure`: how many entries have left the window, and their sum. */
const left: number[] = [0.5, 0.5]

function measure(limit: LimitNumbers, entries: LogEntries, time: number): void {
  const edge = time - limit.window
  const count = entries.count()
  let i = 0
  let sum = 0
  while (i < count && entries.stamp(i) <= edge) {
    sum = sum + entries.cost(i)
    i = i + 1
  }
  left[0] = i
  left[1] = sum
}

function newestLeavesAt(limit: LimitNumbers, entries: LogEntries, now: number): number {
  const count = entries.count()
  if (count > left[0]!) return entries.stamp(count - 1) + limit.window
  return now
}

export function decideSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
  entries: LogEntries,
): void {
  const time = Math.max(now, row[at + SEEN]!)
  measure(limit, entries, time)
  const used = row[at + SUM]! - left[1]!
  out[o + REMAINING] = limit.amount - used
  out[o + RESET_AT] = newestLeavesAt(limit, entries, now)
  out[o + GO_AT] = now
  out[o + MARK] = stampOf(limit, time)
  out[o + MARK_REST] = cost
  if (cost > limit.mostCost) {
    out[o + STATUS] = NEVER
  } else if (used + cost <= limit.amount) {
    out[o + STATUS] = YES
  } else {
    out[o + STATUS] = NOT_NOW
    let missing = used + cost - limit.amount
    let i = left[0]!
    missing = missing - entries.cost(i)
    while (missing > 0) {
      i = i + 1
      missing = missing - entries.cost(i)
    }
    out[o + GO_AT] = entries.stamp(i) + limit.window
  }
}

export function takeSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
  entries: LogEntries,
): void {
  chargeSlidingLog(row, at, limit, cost, now, entries)
  out[o + REMAINING] = out[o + REMAINING]! - cost
  out[o + RESET_AT] = out[o + MARK]! + limit.window
}

/** Shortens the entry, while it counts. */
export function refundSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  mark: number,
  entries: LogEntries,
): number {
  if (mark <= Math.max(now, row[at + SEEN]!) - limit.window) return 0
  for (let i = entries.count() - 1; i >= 0 && entries.stamp(i) >= mark; i--) {
    if (entries.stamp(i) === mark) {
      const given = Math.min(n, entries.cost(i))
      entries.setCost(i, entries.cost(i) - given)
      row[at + SUM] = row[at + SUM]! - given
      dropSpent(entries)
      return given
    }
  }
  return 0
}

/** Entries that were given back whole leave from the newest end, so that the newest is one that counts. */
function dropSpent(entries: LogEntries): void {
  while (entries.count() > 0 && entries.cost(entries.count() - 1) === 0) entries.dropNewest()
}

/** Drops from the newest entry on. */
export function grantSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  entries: LogEntries,
): number {
  measure(limit, entries, Math.max(now, row[at + SEEN]!))
  let given = 0
  while (given < n && entries.count() > left[0]!) {
    const newest = entries.count() - 1
    const cost = entries.cost(newest)
    if (cost <= n - given) {
      entries.dropNewest()
      given = given + cost
    } else {
      entries.setCost(newest, cost - (n - given))
      given = n
    }
  }
  dropSpent(entries)
  row[at + SUM] = row[at + SUM]! - given
  return given
}

export function chargeSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  entries: LogEntries,
): number {
  const time = Math.max(now, row[at + SEEN]!)
  measure(limit, entries, time)
  entries.dropOldest(left[0]!)
  const stamp = stampOf(limit, time)
  const newest = entries.count() - 1
  if (newest >= 0 && entries.stamp(newest) === stamp) {
    entries.setCost(newest, entries.cost(newest) + n)
  } else {
    entries.push(stamp, n)
  }
  row[at + SUM] = row[at + SUM]! - left[1]! + n
  row[at + SEEN] = time
  return n
}

/** Makes what is used at least n; returns how much was added. */
export function raiseSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  entries: LogEntries,
): number {
  measure(limit, entries, Math.max(now, row[at + SEEN]!))
  const missing = n - (row[at + SUM]! - left[1]!)
  if (missing <= 0) return 0
  return chargeSlidingLog(row, at, limit, missing, now, entries)
}

/** All that counted at the latest time becomes one entry, as if it were taken now. */
export function restartSlidingLog(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  now: number,
  entries: LogEntries,
): void {
  measure(limit, entries, row[at + SEEN]!)
  const sum = row[at + SUM]! - left[1]!
  while (entries.count() > 0) entries.dropNewest()
  if (sum > 0) entries.push(stampOf(limit, now), sum)
  row[at + SUM] = sum
  row[at + SEEN] = now
}

/** A log whose entries were given back still knows the latest time. */
export function slidingLogEmptyAt(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  entries: LogEntries,
): number {
  const count = entries.count()
  if (count > 0) return entries.stamp(count - 1) + limit.window
  if (row[at + SEEN] === 0) return 0
  return row[at + SEEN]! + limit.window
}
