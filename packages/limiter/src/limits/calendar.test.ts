/** Calendar windows against the local dates that zones show, quarter of an hour by quarter of an hour. */
import { describe, expect, it } from 'vitest'
import { boundariesAround, isTimeZone, nearestTimeZone } from './calendar.js'
import type { CalendarUnit } from './limit.js'

const QUARTER_MS = 15 * 60_000
const DAY_MS = 96 * QUARTER_MS

/** What all instants of one window have in common: its date, its Monday, or its month. */
function nameOf(unit: CalendarUnit, date: string): string {
  if (unit === 'day') return date
  if (unit === 'month') return date.slice(0, 7)
  const monday = new Date(`${date}T00:00:00Z`)
  while (monday.getUTCDay() !== 1) monday.setUTCDate(monday.getUTCDate() - 1)
  return monday.toISOString().slice(0, 10)
}

/** Every quarter of an hour at which the zone's date changes, with the date that begins. */
function datesOf(timeZone: string, from: number, to: number): { at: number; date: string }[] {
  const digits = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, ...digits })
  const found: { at: number; date: string }[] = []
  let last = format.format(from)
  for (let at = from; at < to; at += QUARTER_MS) {
    const date = format.format(at)
    if (date !== last) found.push({ at, date })
    last = date
  }
  return found
}

function startsOf(unit: CalendarUnit, dates: readonly { at: number; date: string }[]): number[] {
  return dates
    .filter(({ date }, i) => i > 0 && nameOf(unit, date) !== nameOf(unit, dates[i - 1]!.date))
    .map(({ at }) => at)
}

function around(unit: CalendarUnit, zone: string, at: number | string): number[] {
  const ms = typeof at === 'string' ? Date.parse(at) : at
  return boundariesAround(unit, zone, ms * 1000).map((us) => us / 1000)
}

/** The window that holds an instant, in local time as the zone writes it, and its length in hours. */
function windowAt(unit: CalendarUnit, zone: string, at: string): [start: string, hours: number] {
  const bounds = around(unit, zone, at)
  const next = bounds.findIndex((bound) => bound > Date.parse(at))
  const [start, end] = [bounds[next - 1]!, bounds[next]!]
  const style = { dateStyle: 'short', timeStyle: 'short', timeZone: zone } as const
  const local = new Intl.DateTimeFormat('sv-SE', style).format(start)
  return [local, (end - start) / 3_600_000]
}

/** Clocks that change at night, at midnight, by half an hour, by two hours, and never. */
const CHANGES: [zone: string, ...changes: string[]][] = [
  ['UTC', '2024-02-29', '2025-12-31'],
  ['Europe/Berlin', '2026-03-29', '2026-10-25'],
  ['America/New_York', '2026-03-08', '2026-11-01'],
  ['America/Sao_Paulo', '2018-02-18', '2018-11-04'],
  ['America/Asuncion', '2023-03-26', '2023-10-01'],
  ['America/Havana', '2026-03-08', '2026-11-01'],
  ['Africa/Cairo', '2024-04-26', '2024-11-01'],
  ['Asia/Beirut', '2024-03-31', '2024-10-27'],
  ['Asia/Kathmandu', '2026-01-01'],
  ['Australia/Lord_Howe', '2026-04-05', '2026-10-04'],
  ['Pacific/Chatham', '2026-04-05', '2026-09-27'],
  ['Antarctica/Troll', '2026-03-29', '2026-10-25'],
]
const NEAR_MS = { day: 3 * DAY_MS, week: 12 * DAY_MS, month: 40 * DAY_MS }

describe('calendar windows', () => {
  it.each(CHANGES)('start at the first instant of their dates: %s', (zone, ...changes) => {
    for (const change of changes.map((date) => Date.parse(date))) {
      const dates = datesOf(zone, change - 130 * DAY_MS, change + 130 * DAY_MS)
      for (const unit of ['day', 'week', 'month'] as const) {
        const starts = startsOf(unit, dates)
        for (let i = 1; i + 2 < starts.length; i++) {
          const [before, start, end, after] = starts.slice(i - 1, i + 3) as [
            number,
            number,
            number,
            number,
          ]
          if (Math.abs(start - change) > NEAR_MS[unit]) continue
          for (const now of [start, (start + end) / 2, end - 0.001])
            expect(around(unit, zone, now)).toEqual([before, start, end, after])
        }
      }
    }
  })

  it.each([
    ['Pacific/Apia', '2011-12-30'],
    ['Pacific/Kwajalein', '1993-08-21'],
    ['Pacific/Kiritimati', '1994-12-31'],
  ])('leave out a date that never was: %s, %s', (zone, skipped) => {
    const middle = Date.parse(skipped)
    const dates = datesOf(zone, middle - 100 * DAY_MS, middle + 100 * DAY_MS)
    expect(dates.map(({ date }) => date)).not.toContain(skipped)
    for (const unit of ['day', 'week', 'month'] as const) {
      const starts = startsOf(unit, dates)
      for (let now = middle - 4 * DAY_MS; now < middle + 4 * DAY_MS; now += 8 * QUARTER_MS) {
        const bounds = around(unit, zone, now)
        const first = starts.indexOf(bounds[0]!)
        expect(bounds).toEqual(starts.slice(first, first + bounds.length))
        expect(bounds[0]!).toBeLessThanOrEqual(now)
        expect(bounds.at(-1)!).toBeGreaterThan(now)
      }
    }
  })

  it('are as long as clock changes make them', () => {
    const noon = (date: string) => `${date}T12:00:00Z`
    expect(windowAt('day', 'Europe/Berlin', noon('2026-03-29'))).toEqual(['2026-03-29 00:00', 23])
    expect(windowAt('day', 'Europe/Berlin', noon('2026-10-25'))).toEqual(['2026-10-25 00:00', 25])
    expect(windowAt('day', 'America/New_York', noon('2026-11-01'))).toEqual([
      '2026-11-01 00:00',
      25,
    ])
    expect(windowAt('day', 'Australia/Lord_Howe', noon('2026-04-04'))[1]).toBe(24)
    expect(windowAt('day', 'Australia/Lord_Howe', '2026-04-05T00:00:00Z')[1]).toBe(24.5)
    expect(windowAt('day', 'Australia/Lord_Howe', '2026-10-04T00:00:00Z')[1]).toBe(23.5)
    expect(windowAt('week', 'Europe/Berlin', noon('2026-03-29'))).toEqual(['2026-03-23 00:00', 167])
    expect(windowAt('month', 'Europe/Berlin', noon('2026-10-25'))).toEqual([
      '2026-10-01 00:00',
      745,
    ])
    expect(windowAt('month', 'Asia/Tokyo', noon('2026-01-31'))).toEqual(['2026-01-01 00:00', 744])
  })

  it('start where the date does, if its midnight does not exist', () => {
    expect(windowAt('day', 'Africa/Cairo', '2024-04-26T12:00:00Z')).toEqual([
      '2024-04-26 01:00',
      23,
    ])
    expect(windowAt('day', 'Asia/Beirut', '2024-03-31T12:00:00Z')).toEqual(['2024-03-31 01:00', 23])
    expect(windowAt('month', 'America/Asuncion', '2023-10-10T12:00:00Z')).toEqual([
      '2023-10-01 01:00',
      31 * 24 - 1,
    ])
    expect(windowAt('day', 'Pacific/Apia', '2011-12-30T12:00:00Z')[0]).toBe('2011-12-31 00:00')
  })

  it('start their weeks on Monday', () => {
    expect(windowAt('week', 'UTC', '2026-01-04T23:59:59Z')).toEqual(['2025-12-29 00:00', 168])
    expect(windowAt('week', 'UTC', '2026-01-05T00:00:00Z')).toEqual(['2026-01-05 00:00', 168])
    expect(windowAt('week', 'Asia/Tokyo', '2026-01-04T15:00:00Z')[0]).toBe('2026-01-05 00:00')
  })
})

describe("a time zone's name", () => {
  it('is one that has rules of its own, not an offset', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])
      expect(isTimeZone(zone)).toBe(true)
    for (const zone of ['', 'x', '+02:00', '-0500', 'Europe/Berln', 'Europe', 'Berlin '])
      expect(isTimeZone(zone)).toBe(false)
  })

  it('is suggested where it was nearly written', () => {
    expect(nearestTimeZone('Europ/Berlin')).toBe('; did you mean "Europe/Berlin"?')
    expect(nearestTimeZone('Amercia/New_York')).toBe('; did you mean "America/New_York"?')
    expect(nearestTimeZone('the moon')).toBe('')
  })
})
