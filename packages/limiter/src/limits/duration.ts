/** Durations as people write them (`5m`, `1500ms`) and as the arithmetic wants them: integer microseconds. */
import { nearest } from '../faults.js'

export const UNITS = {
  ms: 1_000,
  s: 1_000_000,
  m: 60_000_000,
  min: 60_000_000,
  h: 3_600_000_000,
  d: 86_400_000_000,
  w: 604_800_000_000,
} as const

export type Unit = keyof typeof UNITS

export const SECOND_US = UNITS.s
export const MINUTE_MS = UNITS.min / 1000
export const HOUR_MS = UNITS.h / 1000
export const DAY_MS = UNITS.d / 1000
export const YEAR_US = 366 * UNITS.d

/** Other people's words for our units. */
const ALIASES: Record<string, Unit> = {
  sec: 's',
  secs: 's',
  second: 's',
  seconds: 's',
  msec: 'ms',
  millisecond: 'ms',
  milliseconds: 'ms',
  mins: 'min',
  minute: 'min',
  minutes: 'min',
  hr: 'h',
  hrs: 'h',
  hour: 'h',
  hours: 'h',
  day: 'd',
  days: 'd',
  wk: 'w',
  week: 'w',
  weeks: 'w',
}

export function isUnit(word: string): word is Unit {
  return Object.hasOwn(UNITS, word)
}

/** What to write instead of an unknown unit, if that can be told. */
export function unitHint(word: string, amount: string): string | undefined {
  const lower = word.toLowerCase()
  if (lower.startsWith('mon'))
    return `a month has no fixed length: "${amount} per calendar month" or "${amount} per 30d"`
  if (lower.startsWith('y')) return `a year has no fixed length: "${amount} per 365d"`
  const unit = isUnit(lower) ? lower : Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : undefined
  if (unit !== undefined) return `write ${unit}`
  const near = nearest(lower, [...Object.keys(ALIASES), 'sec', 'min'])
  return near === undefined ? undefined : `write ${ALIASES[near] ?? near}`
}

/** Microseconds, or what is wrong with the text. A bare unit is one of it. */
export function parseDuration(text: string): number | { unit: string } | undefined {
  const match = /^([0-9][0-9_]{0,15})?([a-zA-Z]+)$/.exec(text)
  if (match === null) return undefined
  const unit = match[2]!
  if (!isUnit(unit)) return { unit }
  const count = match[1] === undefined ? 1 : Number(match[1].replaceAll('_', ''))
  return count * UNITS[unit]
}

/** The shortest exact form: `5m`, `90s`, `1500ms`. */
export function printDuration(us: number): string {
  if (us === 0) return '0s'
  for (const unit of ['w', 'd', 'h', 'm', 's'] as const) {
    if (us >= UNITS[unit] && us % UNITS[unit] === 0) return `${us / UNITS[unit]}${unit}`
  }
  return `${us / UNITS.ms}ms`
}
