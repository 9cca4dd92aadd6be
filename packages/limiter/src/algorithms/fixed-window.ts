/**
 * fixed_window: a count per window, aligned to the epoch or to the calendar.
 *
 * Row: the window's start, the count. A stored start later than now's stays in force, so that a
 * clock stepping back finds its window as full as it left it. A row of zeros is unused.
 */
import type { LimitNumbers } from './limit-numbers.js'
import { NEVER, NOT_NOW, OTHER_BOUNDS, YES } from './status.js'
import { GO_AT, MARK, MARK_REST, type Numbers, REMAINING, RESET_AT, STATUS } from './verdict.js'

export const FIXED_WINDOW_WIDTH = 2
const START = 0
const COUNT = 1

/** Start of the window that holds `now`; -1 where the calendar's boundaries do not cover it. */
export function startOf(limit: LimitNumbers, now: number): number {
  const last = limit.bounds.length - 1
  if (last < 0) return Math.floor(now / limit.window) * limit.window
  if (now < limit.bounds[0]! || now >= limit.bounds[last]!) return -1
  let i = 0
  while (i < last && limit.bounds[i + 1]! <= now) i = i + 1
  return limit.bounds[i]!
}

/** End of the window that starts at `start`. */
export function endOf(limit: LimitNumbers, start: number): number {
  const last = limit.bounds.length - 1
  if (last < 0) return start + limit.window
  for (let i = 0; i <= last; i++) {
    if (limit.bounds[i]! > start) return limit.bounds[i]!
  }
  return start + limit.window
}

export function decideFixedWindow(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  let start = startOf(limit, now)
  if (start < 0) {
    out[o + STATUS] = OTHER_BOUNDS
    return
  }
  let count = 0
  if (row[at + START]! >= start) {
    start = row[at + START]!
    count = row[at + COUNT]!
  }
  const end = endOf(limit, start)
  out[o + REMAINING] = limit.amount - count
  out[o + RESET_AT] = now
  if (count > 0) out[o + RESET_AT] = end
  out[o + GO_AT] = now
  out[o + MARK] = start
  out[o + MARK_REST] = cost
  if (cost > limit.mostCost) {
    out[o + STATUS] = NEVER
  } else if (count + cost <= limit.amount) {
    out[o + STATUS] = YES
  } else {
    out[o + STATUS] = NOT_NOW
    out[o + GO_AT] = end
  }
}

export function takeFixedWindow(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  out: Numbers,
  o: number,
): void {
  const start = out[o + MARK]!
  addToWindow(row, at, start, cost)
  out[o + REMAINING] = out[o + REMAINING]! - cost
  out[o + RESET_AT] = endOf(limit, start)
}

function addToWindow(row: Numbers, at: number, start: number, cost: number): void {
  if (row[at + START]! < start) {
    row[at + START] = start
    row[at + COUNT] = 0
  }
  row[at + COUNT] = row[at + COUNT]! + cost
}

/** Only into the window it was taken from, while that lasts. */
export function refundFixedWindow(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  mark: number,
): number {
  if (row[at + START] !== mark || endOf(limit, mark) <= now) return 0
  const given = Math.min(n, row[at + COUNT]!)
  row[at + COUNT] = row[at + COUNT]! - given
  return given
}

export function grantFixedWindow(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  return refundFixedWindow(row, at, limit, n, now, row[at + START]!)
}

export function chargeFixedWindow(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  addToWindow(row, at, Math.max(row[at + START]!, startOf(limit, now)), n)
  return n
}

/** Makes the window's count at least n; returns how much was added. */
export function raiseFixedWindow(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  const start = Math.max(row[at + START]!, startOf(limit, now))
  let count = 0
  if (row[at + START] === start) count = row[at + COUNT]!
  const missing = Math.max(0, n - count)
  addToWindow(row, at, start, missing)
  return missing
}

export function fixedWindowEmptyAt(row: Numbers, at: number, limit: LimitNumbers): number {
  if (row[at + START] === 0 && row[at + COUNT] === 0) return 0
  return endOf(limit, row[at + START]!)
}
