/** A limit: what may pass in what time, by which algorithm. A value, checked when it is made. */
import {
  BUCKET,
  CONCURRENCY,
  FIXED_WINDOW,
  HORIZON_US,
  type LimitNumbers,
  limitNumbers,
  SLIDING_COUNTER,
  SLIDING_LOG,
} from '../algorithms/limit-numbers.js'
import { quote } from '../faults.js'
import { printDuration, SECOND_US, UNITS, YEAR_US } from './duration.js'

/** Each algorithm's arithmetic. */
const KINDS = {
  token_bucket: BUCKET,
  gcra: BUCKET,
  leaky_bucket: BUCKET,
  fixed_window: FIXED_WINDOW,
  sliding_window_log: SLIDING_LOG,
  sliding_window_counter: SLIDING_COUNTER,
  concurrency: CONCURRENCY,
} as const

export type Algorithm = keyof typeof KINDS
export const ALGORITHMS = Object.keys(KINDS) as Algorithm[]

const MOST_AMOUNT = 1_000_000_000
export const AMOUNT_RANGE = 'a whole number from 1 to 1_000_000_000'

export type CalendarUnit = 'day' | 'week' | 'month'
export const CALENDAR_UNITS: readonly CalendarUnit[] = ['day', 'week', 'month']

/** The longest each can be, daylight saving included. */
const CALENDAR_US = { day: 26 * UNITS.h, week: 170 * UNITS.h, month: 31 * UNITS.d + 2 * UNITS.h }

export interface Limit {
  readonly algorithm: Algorithm
  readonly amount: number
  /** Microseconds; of concurrency the time-out of a hold, of a calendar window the longest it can be. */
  readonly window: number
  /** What a full counter holds: the burst of buckets, else the amount. */
  readonly burst: number
  readonly calendar: CalendarUnit | null
  readonly timezone: string | null
}

/** What is wrong with a limit's numbers; undefined if they are in range. */
export function limitOutOfRange(limit: Limit): string | undefined {
  if (limit.amount === 0) return 'an amount of 0 would admit nobody; use a block'
  if (!isAmount(limit.amount)) return `the amount ${quote(limit.amount)} is not ${AMOUNT_RANGE}`
  if (limit.algorithm === 'leaky_bucket' && !isAmount(limit.burst))
    return `the queue ${quote(limit.burst - 1)} is not a whole number from 0 to 999_999_999`
  if (!isAmount(limit.burst)) return `the burst ${quote(limit.burst)} is not ${AMOUNT_RANGE}`
  if (!Number.isInteger(limit.window) || limit.window < SECOND_US || limit.window > YEAR_US)
    return `the window ${printDuration(limit.window)} is not from 1s to 366d`
  if (KINDS[limit.algorithm] !== BUCKET) return undefined
  if ((limit.burst / limit.amount) * limit.window > HORIZON_US)
    return `a burst of ${limit.burst} takes more than 100 years to fill`
  return undefined
}

export function calendarLimit(amount: number, calendar: CalendarUnit, timezone: string): Limit {
  const window = CALENDAR_US[calendar]
  return { algorithm: 'fixed_window', amount, window, burst: amount, calendar, timezone }
}

export function numbersOf(limit: Limit): LimitNumbers {
  const { algorithm, amount, window, burst } = limit
  return limitNumbers(KINDS[algorithm], amount, window, burst, algorithm === 'leaky_bucket')
}

/** Algorithm and window: what must not change if use is to carry over. Equal ones of a rule are told apart by their order. */
export function limitIdentity(limit: Limit): string {
  if (limit.calendar !== null) return `${limit.algorithm}/${limit.calendar}/${limit.timezone}`
  return `${limit.algorithm}/${limit.window}`
}

const WORDS: Partial<Record<Algorithm, string>> = {
  fixed_window: ' fixed',
  sliding_window_log: ' exact',
  sliding_window_counter: ' sliding',
}

/** The one-line form; parsing it gives the same limit. */
export function printLimit(limit: Limit): string {
  const { algorithm, amount, burst } = limit
  if (limit.calendar !== null)
    return `${amount} per calendar ${limit.calendar} in ${limit.timezone}`
  const time = printDuration(limit.window)
  if (algorithm === 'concurrency') return `${amount} concurrent for ${time}`
  const single = /^1(s|h|d|w)$/.exec(time)?.[1] ?? (time === '1m' ? 'min' : undefined)
  const rate = single === undefined ? `${amount} per ${time}` : `${amount}/${single}`
  if (algorithm === 'leaky_bucket') return `${rate} queue ${burst - 1}`
  if (algorithm === 'gcra') return burst === 1 ? `${rate} smooth` : `${rate} smooth ${burst}`
  if (algorithm === 'token_bucket') return burst === amount ? rate : `${rate} burst ${burst}`
  return rate + WORDS[algorithm]
}

/** A whole number as people write it (`1000`, `1_000`, `20k`, `1.5M`), or undefined where the text is none, or not a whole one. */
export function parseAmount(text: string): number | undefined {
  const match = /^([0-9][0-9_]{0,31})(?:\.([0-9]{1,6}))?([kM])?$/.exec(text)
  if (match === null) return undefined
  const zeros = match[3] === 'M' ? 6 : match[3] === 'k' ? 3 : 0
  const fraction = match[2] ?? ''
  if (fraction.length > zeros) return undefined
  return Number(match[1]!.replaceAll('_', '') + fraction.padEnd(zeros, '0'))
}

export function isAmount(n: unknown): n is number {
  return typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= MOST_AMOUNT
}
