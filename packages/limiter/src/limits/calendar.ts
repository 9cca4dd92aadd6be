/**
 * Calendar windows: where days, weeks (from Monday) and months start in a time zone, as UTC
 * microseconds. A day starts at the first instant of its date, also where a clock change skips
 * midnight; its length follows daylight saving.
 */
import { didYouMean } from '../faults.js'
import { DAY_MS, HOUR_MS } from './duration.js'
import type { CalendarUnit } from './limit.js'

const formats = new Map<string, Intl.DateTimeFormat | null>()
const MOST_FORMATS = 1000

function formatOf(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone)
  if (known !== undefined) return known
  if (formats.size >= MOST_FORMATS) formats.clear()
  let format: Intl.DateTimeFormat | null = null
  try {
    const date = { year: 'numeric', month: 'numeric', day: 'numeric', era: 'short' } as const
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, calendar: 'gregory', ...date })
  } catch {
    // not a zone that this machine knows
  }
  formats.set(zone, format)
  return format
}

/** A zone's name: no offsets, which know nothing of daylight saving. */
export function isTimeZone(zone: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_+\-/]{1,63}$/.test(zone) && formatOf(zone) !== null
}

export function nearestTimeZone(written: string): string {
  return didYouMean(written, Intl.supportedValuesOf('timeZone'))
}

/** The local date at an instant, as the UTC milliseconds of that date's midnight. */
function localDate(format: Intl.DateTimeFormat, ms: number): number {
  const date = { year: 0, month: 0, day: 0 }
  for (const { type, value } of format.formatToParts(ms)) {
    if (type === 'year' || type === 'month' || type === 'day') date[type] = Number(value)
  }
  return Date.UTC(date.year, date.month - 1, date.day)
}

/** The first instant whose local date is `date` or later. No zone is a whole day off UTC and a bit. */
function firstInstantOf(format: Intl.DateTimeFormat, date: number): number {
  let before = date - DAY_MS - 12 * HOUR_MS
  let after = date + DAY_MS + 12 * HOUR_MS
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (localDate(format, middle) >= date) after = middle
    else before = middle
  }
  return after
}

/** The date on which the window of `date` starts, moved by `steps` windows. */
function startDate(unit: CalendarUnit, date: number, steps: number): number {
  const day = new Date(date)
  if (unit === 'month') return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + steps, 1)
  if (unit === 'day') return date + steps * DAY_MS
  const sinceMonday = (day.getUTCDay() + 6) % 7
  return date + (7 * steps - sinceMonday) * DAY_MS
}

/** Starts of the windows from the one before `nowUs` to the next but one, ascending, in microseconds. */
export function boundariesAround(unit: CalendarUnit, zone: string, nowUs: number): number[] {
  const format = formatOf(zone)
  if (format === null) throw new Error(`unknown time zone ${zone}`)
  const today = localDate(format, Math.floor(nowUs / 1000))
  const starts = [-1, 0, 1, 2].map(
    (steps) => firstInstantOf(format, startDate(unit, today, steps)) * 1000,
  )
  // A zone that skips a whole date would give two windows the same start.
  return starts.filter((start, i) => i === 0 || start > starts[i - 1]!)
}
