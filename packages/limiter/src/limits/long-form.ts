/** The long forms of a limit: `{ algorithm, amount, window, burst }`, `{ capacity, refill_rate }` and their kin. */
import { list, quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { isTimeZone, nearestTimeZone } from './calendar.js'
import { parseDuration } from './duration.js'
import { isFault, parseLimit } from './grammar.js'
import {
  ALGORITHMS,
  type Algorithm,
  AMOUNT_RANGE,
  CALENDAR_UNITS,
  type CalendarUnit,
  calendarLimit,
  isAmount,
  type Limit,
  limitOutOfRange,
  parseAmount,
} from './limit.js'
import type { LimitText } from './limit-text.js'

type AmountInput = number | string

/** A limit written out. Durations are texts with their unit (`5m`). */
export type LimitObject =
  | {
      readonly algorithm?: Algorithm
      readonly amount: AmountInput
      readonly window: string
      readonly burst?: AmountInput
      readonly queue?: AmountInput
    }
  | { readonly capacity: AmountInput; readonly refill_rate: string }
  | {
      readonly algorithm?: 'fixed_window'
      readonly amount: AmountInput
      readonly calendar: CalendarUnit
      readonly timezone?: string
    }
  | {
      readonly algorithm: 'concurrency'
      readonly amount: AmountInput
      readonly timeout: string
    }

export type LimitInput = LimitText | LimitObject

const FIELDS = [
  'algorithm',
  'amount',
  'window',
  'burst',
  'capacity',
  'refill_rate',
  'queue',
  'calendar',
  'timezone',
  'timeout',
]

/** Which fields go with which algorithm, besides algorithm and amount. */
const GOES_WITH: Record<Algorithm, readonly string[]> = {
  token_bucket: ['window', 'burst'],
  gcra: ['window', 'burst'],
  leaky_bucket: ['window', 'queue'],
  fixed_window: ['window'],
  sliding_window_log: ['window'],
  sliding_window_counter: ['window'],
  concurrency: ['timeout'],
}

/** The limit, or undefined after noting every fault. */
export function readLongForm(reader: FieldReader, timezone: string): Limit | undefined {
  reader.refuseUnknown(FIELDS, 'a limit')
  if (reader.has('capacity') || reader.has('refill_rate')) return readRefill(reader, timezone)
  if (reader.has('calendar')) return readCalendar(reader, timezone)
  let algorithm = reader.oneOf('algorithm', ALGORITHMS)
  if (reader.has('algorithm') && algorithm === undefined) {
    readAmount(reader, 'amount')
    if (reader.has('window')) readDuration(reader, 'window')
    return undefined
  }
  algorithm ??= reader.has('queue')
    ? 'leaky_bucket'
    : reader.has('timeout')
      ? 'concurrency'
      : 'token_bucket'
  refuseStrays(reader, ['algorithm', 'amount', ...GOES_WITH[algorithm]], algorithm)
  const amount = readAmount(reader, 'amount')
  const window = readDuration(reader, algorithm === 'concurrency' ? 'timeout' : 'window')
  let burst = amount
  if (algorithm === 'gcra') burst = 1
  if (reader.has('burst')) burst = readAmount(reader, 'burst')
  if (algorithm === 'leaky_bucket') {
    const queue = reader.has('queue') ? readAmount(reader, 'queue') : amount
    burst = queue === undefined ? undefined : queue + 1
  }
  if (amount === undefined || window === undefined || burst === undefined) return undefined
  return inRange(reader, { algorithm, amount, window, burst, calendar: null, timezone: null })
}

function readRefill(reader: FieldReader, timezone: string): Limit | undefined {
  refuseStrays(reader, ['algorithm', 'capacity', 'refill_rate'], 'capacity and refill_rate')
  const algorithm = reader.oneOf('algorithm', ['token_bucket'])
  if (reader.has('algorithm') && algorithm === undefined) return undefined
  const capacity = readAmount(reader, 'capacity')
  const text = reader.text('refill_rate')
  if (text === undefined) {
    if (!reader.has('refill_rate'))
      reader.fault('refill_rate', 'is missing', { expected: 'one such as 500/s' })
    return undefined
  }
  const rate = parseLimit(text, timezone)
  if (isFault(rate)) return reader.note({ ...rate, path: reader.pathOf('refill_rate') })
  if (rate.algorithm !== 'token_bucket' || rate.burst !== rate.amount)
    return reader.fault('refill_rate', `${quote(text)} is more than a rate`, {
      expected: 'one such as 500/s',
    })
  return capacity === undefined ? undefined : inRange(reader, { ...rate, burst: capacity })
}

function readCalendar(reader: FieldReader, defaultZone: string): Limit | undefined {
  refuseStrays(reader, ['algorithm', 'amount', 'calendar', 'timezone'], 'a calendar window')
  const algorithm = reader.oneOf('algorithm', ['fixed_window'])
  if (reader.has('algorithm') && algorithm === undefined) return undefined
  const amount = readAmount(reader, 'amount')
  const calendar = reader.oneOf('calendar', CALENDAR_UNITS)
  const timezone = readTimeZone(reader) ?? (reader.has('timezone') ? undefined : defaultZone)
  if (amount === undefined || calendar === undefined || timezone === undefined) return undefined
  return inRange(reader, calendarLimit(amount, calendar, timezone))
}

export function readTimeZone(reader: FieldReader): string | undefined {
  const zone = reader.text('timezone')
  if (zone === undefined || isTimeZone(zone)) return zone
  return reader.fault('timezone', `unknown time zone ${quote(zone)}${nearestTimeZone(zone)}`)
}

function refuseStrays(reader: FieldReader, known: readonly string[], what: string): void {
  for (const field of FIELDS) {
    if (reader.has(field) && !known.includes(field))
      reader.fault(field, `does not go with ${what}`, { expected: list(known) })
  }
}

function readAmount(reader: FieldReader, field: string): number | undefined {
  const written = reader.get(field)
  const amount = typeof written === 'string' ? parseAmount(written) : written
  if (isAmount(amount)) return amount
  if (field === 'queue' && amount === 0) return 0
  if (written === undefined) return reader.fault(field, 'is missing', { expected: AMOUNT_RANGE })
  return reader.fault(field, `${quote(written)} is not ${AMOUNT_RANGE}`)
}

function readDuration(reader: FieldReader, field: string): number | undefined {
  const written = reader.get(field)
  const duration = typeof written === 'string' ? parseDuration(written) : undefined
  if (typeof duration === 'number') return duration
  const what = written === undefined ? 'is missing' : `${quote(written)} is not a duration`
  return reader.fault(field, what, { expected: 'a text such as 30s, 5m or 1h' })
}

function inRange(reader: FieldReader, limit: Limit): Limit | undefined {
  const fault = limitOutOfRange(limit)
  return fault === undefined ? limit : reader.fault('', fault)
}
