/**
 * sliding_window_counter: this window's count and the one before, the latter weighted by how much of
 * it the sliding window still covers, in `ticks` steps. Each aligned window holds at most the limit;
 * a window placed at will can hold almost twice the limit (all at a window's end, then a trickle).
 *
 * Row: the window's start, the count before, the count in it. A row of zeros is unused.
 */
import type { LimitNumbers } from './limit-numbers.js'
import { NEVER, NOT_NOW, YES } from './status.js'
import { GO_AT, MARK, MARK_REST, type Numbers, REMAINING, RESET_AT, STATUS } from './verdict.js'

export const SLIDING_COUNTER_WIDTH = 3
const START = 0
const BEFORE = 1
const COUNT = 2

/** The last result of `roll`: the row as it stands in the window of `now`, or a later one it knows. */
const rolled: number[] = [0.5, 0.5, 0.5]

function roll(row: Numbers, at: number, limit: LimitNumbers, now: number): void {
  const start = Math.max(row[at + START]!, Math.floor(now / limit.window) * limit.window)
  rolled[START] = start
  rolled[BEFORE] = 0
  rolled[COUNT] = 0
  if (row[at + START] === start) {
    rolled[BEFORE] = row[at + BEFORE]!
    rolled[COUNT] = row[at + COUNT]!
  } else if (row[at + START]! + limit.window === start) {
    rolled[BEFORE] = row[at + COUNT]!
  }
}

/** Where the window of `now` starts, or a later one that the row knows. */
export function windowAt(row: Numbers, at: number, limit: LimitNumbers, now: number): number {
  roll(row, at, limit, now)
  return rolled[START]!
}

function writeRolled(row: Numbers, at: number): void {
  row[at + START] = rolled[START]!
  row[at + BEFORE] = rolled[BEFORE]!
  row[at + COUNT] = rolled[COUNT]!
}

/** ⌈before·(ticks − x)/ticks⌉: what the sliding window still holds of the window before. */
function weighted(limit: LimitNumbers, now: number): number {
  const x = Math.floor(Math.max(0, now - rolled[START]!) / limit.tick)
  return Math.floor((rolled[BEFORE]! * (limit.ticks - x) + limit.ticks - 1) / limit.ticks)
}

/** When `m` of `count` is all that the weight leaves, in the window after the one that starts at `start`. */
function fadedAt(limit: LimitNumbers, start: number, count: number, m: number): number {
  const x = limit.ticks - Math.floor((m * limit.ticks) / count)
  return Math.min(start + x * limit.tick, start + limit.window)
}

function resetAt(limit: LimitNumbers, now: number): number {
  if (rolled[COUNT]! > 0) return rolled[START]! + 2 * limit.window
  if (rolled[BEFORE]! > 0) return rolled[START]! + limit.window
  return now
}

export function decideSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  roll(row, at, limit, now)
  const start = rolled[START]!
  const count = rolled[COUNT]!
  const used = count + weighted(limit, now)
  out[o + REMAINING] = limit.amount - used
  out[o + RESET_AT] = resetAt(limit, now)
  out[o + GO_AT] = now
  out[o + MARK] = start
  out[o + MARK_REST] = cost
  if (cost > limit.mostCost) {
    out[o + STATUS] = NEVER
  } else if (used + cost <= limit.amount) {
    out[o + STATUS] = YES
  } else {
    out[o + STATUS] = NOT_NOW
    const m = limit.amount - count - cost
    if (m >= 0) {
      out[o + GO_AT] = fadedAt(limit, start, rolled[BEFORE]!, m)
    } else {
      out[o + GO_AT] = fadedAt(limit, start + limit.window, count, limit.amount - cost)
    }
  }
}

export function takeSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  cost: number,
  now: number,
  out: Numbers,
  o: number,
): void {
  chargeSlidingCounter(row, at, limit, cost, now)
  out[o + REMAINING] = out[o + REMAINING]! - cost
  out[o + RESET_AT] = resetAt(limit, now)
}

/** Out of the window it was taken from, while that still counts. */
export function refundSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
  mark: number,
): number {
  roll(row, at, limit, now)
  let from = -1
  if (rolled[START] === mark) from = COUNT
  if (rolled[START] === mark + limit.window) from = BEFORE
  if (from < 0) return 0
  const given = Math.min(n, rolled[from]!)
  rolled[from] = rolled[from]! - given
  writeRolled(row, at)
  return given
}

export function grantSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  roll(row, at, limit, now)
  return refundSlidingCounter(row, at, limit, n, now, rolled[START]!)
}

export function chargeSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  roll(row, at, limit, now)
  rolled[COUNT] = rolled[COUNT]! + n
  writeRolled(row, at)
  return n
}

/** Makes what is used at least n; returns how much was added. */
export function raiseSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  n: number,
  now: number,
): number {
  roll(row, at, limit, now)
  return chargeSlidingCounter(
    row,
    at,
    limit,
    Math.max(0, n - rolled[COUNT]! - weighted(limit, now)),
    now,
  )
}

export function resetSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  now: number,
): number {
  roll(row, at, limit, now)
  const used = rolled[COUNT]! + weighted(limit, now)
  rolled[BEFORE] = 0
  rolled[COUNT] = 0
  writeRolled(row, at)
  return used
}

/** All that either window counted counts in the window of `now`. */
export function restartSlidingCounter(
  row: Numbers,
  at: number,
  limit: LimitNumbers,
  now: number,
): void {
  row[at + START] = Math.floor(now / limit.window) * limit.window
  row[at + COUNT] = row[at + COUNT]! + row[at + BEFORE]!
  row[at + BEFORE] = 0
}

/** A row whose counts were given back still knows its window. */
export function slidingCounterEmptyAt(row: Numbers, at: number, limit: LimitNumbers): number {
  if (row[at + COUNT]! > 0) return row[at + START]! + 2 * limit.window
  if (row[at + START] === 0 && row[at + BEFORE] === 0) return 0
  return row[at + START]! + limit.window
}
