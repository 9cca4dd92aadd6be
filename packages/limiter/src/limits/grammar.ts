/**
 * The one-line form of a limit: `<amount>/<unit>` or `<amount> per <duration>`, then at most one
 * modifier; or `<amount> per calendar <unit> [in <zone>]`; or `<amount> concurrent for <duration>`.
 */
import { didYouMean, type Fault, list, quote } from '../faults.js'
import { isTimeZone, nearestTimeZone } from './calendar.js'
import { isUnit, parseDuration, UNITS, unitHint } from './duration.js'
import {
  type Algorithm,
  CALENDAR_UNITS,
  calendarLimit,
  type Limit,
  limitOutOfRange,
  parseAmount,
} from './limit.js'

const LONGEST = 200
const MODIFIERS = ['burst', 'sliding', 'exact', 'fixed', 'smooth', 'queue']
const EXAMPLES = 'such as 10/s, "100 per 5m sliding" or "8 concurrent for 60s"'
const RATE_UNITS = ['s', 'min', 'h', 'd', 'w']

interface Word {
  readonly text: string
  readonly offset: number
}

/** Thrown inside this file only: a text has one fault, the first. */
class Refused {
  constructor(readonly fault: Fault) {}
}

function refuse(
  word: Word,
  message: string,
  { expected, hint }: { expected?: string; hint?: string | undefined } = {},
): never {
  throw new Refused({
    path: '',
    message,
    ...(expected === undefined ? {} : { expected }),
    ...(hint === undefined ? {} : { hint }),
    offset: word.offset,
    length: word.text.length,
  })
}

/** The limit, or the first fault of the text. Calendars without a zone are in `timezone`. */
export function parseLimit(text: string, timezone = 'UTC'): Limit | Fault {
  if (text.length > LONGEST)
    return { path: '', message: `a limit of ${text.length} characters; at most ${LONGEST}` }
  const words = [...text.matchAll(/[^\s]+/g)].map((m) => ({ text: m[0], offset: m.index }))
  try {
    const limit = readLimit(words, { text: '', offset: text.length }, timezone)
    const fault = limitOutOfRange(limit)
    return fault === undefined
      ? limit
      : { path: '', message: fault, offset: 0, length: text.length }
  } catch (refused) {
    if (refused instanceof Refused) return refused.fault
    throw refused
  }
}

export function isFault(result: Limit | Fault): result is Fault {
  return 'message' in result
}

function readLimit(words: readonly Word[], end: Word, timezone: string): Limit {
  const first = words[0] ?? refuse(end, 'an empty limit', { expected: `one ${EXAMPLES}` })
  const slash = first.text.indexOf('/')
  if (slash >= 0) {
    const amount = readAmount({ ...first, text: first.text.slice(0, slash) })
    const unit = { text: first.text.slice(slash + 1), offset: first.offset + slash + 1 }
    if (!isUnit(unit.text) || unit.text === 'ms')
      return refuseUnit(unit, first.text.slice(0, slash))
    return readModifier(amount, UNITS[unit.text], words.slice(1))
  }
  const amount = readAmount(first)
  const second =
    words[1] ??
    refuse(end, `${quote(first.text)} says no time`, { expected: `a limit ${EXAMPLES}` })
  const third = words[2] ?? { ...end, text: '' }
  if (second.text === 'concurrent') {
    if (third.text !== 'for')
      refuse(third, 'no time-out after "concurrent"', {
        expected: `"for" and a duration: ${first.text} concurrent for 60s`,
      })
    const window = readDuration(words[3] ?? end, first.text, words[4])
    noMore(words[4])
    return simple('concurrency', amount, window)
  }
  if (second.text !== 'per') {
    refuse(second, `unknown word ${quote(second.text)}`, {
      expected: `per or concurrent${didYouMean(second.text, ['per', 'concurrent'])}`,
      hint: EXAMPLES,
    })
  }
  if (third.text === 'calendar') return readCalendar(amount, words.slice(3), end, timezone)
  return readModifier(amount, readDuration(third, first.text, words[3]), words.slice(3))
}

function simple(algorithm: Algorithm, amount: number, window: number, burst = amount): Limit {
  return { algorithm, amount, window, burst, calendar: null, timezone: null }
}

function readAmount(word: Word): number {
  const amount = parseAmount(word.text)
  if (amount === undefined) {
    const hint = /^[0-9.]+$/.test(word.text)
      ? 'a limit of 0.5/s is written "1 per 2s"'
      : 'amounts are written 1000, 1_000, 20k or 5M'
    return refuse(word, `${quote(word.text)} is not a whole number`, { hint })
  }
  return amount
}

function refuseUnit(word: Word, amount: string): never {
  const hint = word.text === 'ms' ? 'windows start at 1s' : unitHint(word.text, amount)
  const written = word.text === '' ? 'no unit' : `unknown unit ${quote(word.text)}`
  return refuse(word, written, { expected: list(RATE_UNITS), hint })
}

function readDuration(word: Word, amount: string, next: Word | undefined): number {
  const duration = parseDuration(word.text)
  if (duration === undefined) {
    const bare = /^[0-9][0-9_]*$/.test(word.text)
    const unit = next !== undefined && isUnit(next.text) ? next.text : 's'
    return refuse(word, `${quote(word.text)} is not a duration`, {
      expected: 'one such as 30s, 5m or 1h',
      hint: bare ? `write ${word.text}${unit}` : undefined,
    })
  }
  if (typeof duration === 'object') {
    const digits = word.text.length - duration.unit.length
    return refuseUnit({ text: duration.unit, offset: word.offset + digits }, amount)
  }
  return duration
}

function readCalendar(amount: number, words: readonly Word[], end: Word, timezone: string): Limit {
  const [unit = end, preposition, zone = end, more] = words
  const calendar = CALENDAR_UNITS.find((known) => known === unit.text)
  if (calendar === undefined) {
    const written =
      unit.text === '' ? 'no calendar unit' : `unknown calendar unit ${quote(unit.text)}`
    const expected = `${list(CALENDAR_UNITS)}${didYouMean(unit.text, CALENDAR_UNITS)}`
    return refuse(unit, written, { expected })
  }
  if (preposition === undefined) return calendarLimit(amount, calendar, timezone)
  if (preposition.text !== 'in') {
    refuse(preposition, `unknown word ${quote(preposition.text)}`, {
      expected: 'in and a time zone',
      hint: `${amount} per calendar ${calendar} in Europe/Berlin`,
    })
  }
  if (!isTimeZone(zone.text)) {
    refuse(zone, `unknown time zone ${quote(zone.text)}`, {
      expected: `a name such as Europe/Berlin${nearestTimeZone(zone.text)}`,
    })
  }
  noMore(more)
  return calendarLimit(amount, calendar, zone.text)
}

function readModifier(amount: number, window: number, words: readonly Word[]): Limit {
  const [word, argument, more] = words
  if (word === undefined) return simple('token_bucket', amount, window)
  const number = () => (argument === undefined ? undefined : readAmount(argument))
  const alone = (algorithm: Algorithm) => {
    noMore(argument)
    return simple(algorithm, amount, window)
  }
  switch (word.text) {
    case 'sliding':
      return alone('sliding_window_counter')
    case 'exact':
      return alone('sliding_window_log')
    case 'fixed':
      return alone('fixed_window')
    case 'burst': {
      const hint = `burst ${2 * amount}`
      const burst = number() ?? refuse(word, '"burst" needs a number', { hint })
      noMore(more)
      return simple('token_bucket', amount, window, burst)
    }
    case 'smooth': {
      const burst = number() ?? 1
      noMore(more)
      return simple('gcra', amount, window, burst)
    }
    case 'queue': {
      const queue = number() ?? amount
      noMore(more)
      return simple('leaky_bucket', amount, window, queue + 1)
    }
    default:
      return refuse(word, `unknown word ${quote(word.text)}`, {
        expected: `${list(MODIFIERS)}${didYouMean(word.text, MODIFIERS)}`,
      })
  }
}

function noMore(word: Word | undefined): void {
  if (word === undefined) return
  const known = MODIFIERS.includes(word.text)
  refuse(
    word,
    known
      ? `a second modifier ${quote(word.text)}; a limit takes one`
      : `unexpected ${quote(word.text)} at the end`,
  )
}
