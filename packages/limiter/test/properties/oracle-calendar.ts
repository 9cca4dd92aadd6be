/**
 * Calendar windows found by walking: half an hour at a time, then minute by minute, until the local
 * date that the zone shows belongs to another day, week or month.
 */
import type { CalendarUnit } from '../../src/index.js'
import type { Window, WindowOf } from './oracle-window.js'

const MINUTE_MS = 60_000
const STRIDE_MS = 30 * MINUTE_MS

/** The zone's date at an instant, as 2026-03-29. */
function dateOf(format: Intl.DateTimeFormat, ms: number): string {
  return format.format(ms)
}

/** What all instants of one window have in common: its first date, or its month. */
function nameOf(unit: CalendarUnit, date: string): string {
  if (unit === 'day') return date
  if (unit === 'month') return date.slice(0, 7)
  const day = new Date(`${date}T00:00:00Z`)
  while (day.getUTCDay() !== 1) day.setUTCDate(day.getUTCDate() - 1)
  return day.toISOString().slice(0, 10)
}

export function calendarWindows(unit: CalendarUnit, timeZone: string): WindowOf {
  const digits = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, ...digits })
  const name = (ms: number) => nameOf(unit, dateOf(format, ms))
  const known: { readonly from: number; readonly to: number }[] = []

  /** The first minute from which on the name is another; `stride` is negative to look back. */
  const edge = (ms: number, stride: number): number => {
    const here = name(ms)
    let at = ms
    while (name(at + stride) === here) at += stride
    const minute = Math.sign(stride) * MINUTE_MS
    while (name(at + minute) === here) at += minute
    return at
  }

  return (now): Window => {
    const minute = Math.floor(Number(now) / 1000 / MINUTE_MS) * MINUTE_MS
    let window = known.find(({ from, to }) => from <= minute && minute < to)
    if (window === undefined) {
      window = { from: edge(minute, -STRIDE_MS), to: edge(minute, STRIDE_MS) + MINUTE_MS }
      known.push(window)
    }
    return { start: BigInt(window.from) * 1000n, end: BigInt(window.to) * 1000n }
  }
}
