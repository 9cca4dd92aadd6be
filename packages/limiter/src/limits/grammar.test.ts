/** The one-line grammar: what each form means, and what a mistake is told. */
import { describe, expect, it } from 'vitest'
import { type Fault, printFault } from '../faults.js'
import { isFault, parseLimit } from './grammar.js'
import { type Limit, printLimit } from './limit.js'

const SECOND = 1_000_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

function limitOf(text: string, timezone?: string): Limit {
  const limit = parseLimit(text, timezone)
  if (isFault(limit)) throw new Error(printFault(limit))
  return limit
}

function faultOf(text: string): Fault {
  const fault = parseLimit(text)
  if (!isFault(fault)) throw new Error(`${text} is a limit`)
  return fault
}

/** The part of the text that the fault points at. */
function markedIn(text: string): string {
  const { offset = Number.NaN, length = Number.NaN } = faultOf(text)
  return text.slice(offset, offset + length)
}

describe('a limit in one line', () => {
  it.each<[text: string, algorithm: string, amount: number, window: number, burst: number]>([
    ['10/s', 'token_bucket', 10, SECOND, 10],
    ['1000/h burst 2000', 'token_bucket', 1000, HOUR, 2000],
    ['100 per 5m', 'token_bucket', 100, 5 * MINUTE, 100],
    ['100 per 5m burst 7', 'token_bucket', 100, 5 * MINUTE, 7],
    ['100 per 5m sliding', 'sliding_window_counter', 100, 5 * MINUTE, 100],
    ['100 per 5m exact', 'sliding_window_log', 100, 5 * MINUTE, 100],
    ['100 per 5m fixed', 'fixed_window', 100, 5 * MINUTE, 100],
    ['10/s smooth', 'gcra', 10, SECOND, 1],
    ['10/s smooth 5', 'gcra', 10, SECOND, 5],
    ['10/s queue 50', 'leaky_bucket', 10, SECOND, 51],
    ['10/s queue', 'leaky_bucket', 10, SECOND, 11],
    ['10/s queue 0', 'leaky_bucket', 10, SECOND, 1],
    ['50/d', 'token_bucket', 50, DAY, 50],
    ['8 concurrent for 60s', 'concurrency', 8, MINUTE, 8],
    ['8 concurrent for 1500ms', 'concurrency', 8, 1_500_000, 8],
  ])('%s is %s of %i', (text, algorithm, amount, window, burst) => {
    const plain = { calendar: null, timezone: null }
    expect(limitOf(text)).toEqual({ algorithm, amount, window, burst, ...plain })
  })

  it.each([
    ['1000', 1000],
    ['1_000', 1000],
    ['1_000_000', 1_000_000],
    ['20k', 20_000],
    ['5M', 5_000_000],
    ['1.5k', 1500],
    ['0.5k', 500],
    ['2.25M', 2_250_000],
    ['1000M', 1_000_000_000],
  ])('counts %s as %i, as an amount and as a burst', (written, amount) => {
    expect(limitOf(`${written}/s`).amount).toBe(amount)
    expect(limitOf(`1000M/s burst ${written}`).burst).toBe(amount)
  })

  it.each([
    ['s', SECOND],
    ['m', MINUTE],
    ['min', MINUTE],
    ['h', HOUR],
    ['d', DAY],
    ['w', 7 * DAY],
  ])('takes %s alone, after a slash or per, and counted', (unit, length) => {
    expect(limitOf(`5/${unit}`).window).toBe(length)
    expect(limitOf(`5 per ${unit}`).window).toBe(length)
    expect(limitOf(`5 per 1${unit}`).window).toBe(length)
    expect(limitOf(`5 per 52${unit}`).window).toBe(52 * length)
  })

  it('takes windows from a second to a year', () => {
    expect(limitOf('1 per 1000ms').window).toBe(SECOND)
    expect(limitOf('1 per 1_500ms').window).toBe(1_500_000)
    expect(limitOf('1 per 366d').window).toBe(366 * DAY)
  })

  it('takes calendar windows, in the zone that is named, else in that of the rules', () => {
    expect(limitOf('1M per calendar month in Asia/Tokyo')).toMatchObject({
      algorithm: 'fixed_window',
      amount: 1_000_000,
      burst: 1_000_000,
      calendar: 'month',
      timezone: 'Asia/Tokyo',
    })
    expect(limitOf('5 per calendar day')).toMatchObject({ calendar: 'day', timezone: 'UTC' })
    const berlin = { calendar: 'week', timezone: 'Europe/Berlin' }
    expect(limitOf('5 per calendar week', 'Europe/Berlin')).toMatchObject(berlin)
    expect(limitOf('5 per calendar week in UTC', 'Europe/Berlin').timezone).toBe('UTC')
  })

  it('prints in its shortest form', () => {
    for (const [written, printed] of [
      ['1_000 per 60s burst 1k', '1000/min'],
      ['1.5k per 120s', '1500 per 2m'],
      ['5 per 7d fixed', '5/w fixed'],
      ['5 per 48h exact', '5 per 2d exact'],
      ['5 per 90m sliding', '5 per 90m sliding'],
      ['5 per 1500ms smooth 1', '5 per 1500ms smooth'],
      ['5/s queue', '5/s queue 5'],
      ['5 per calendar day', '5 per calendar day in UTC'],
      ['8 concurrent for 3600s', '8 concurrent for 1h'],
    ] as const)
      expect(printLimit(limitOf(written))).toBe(printed)
  })

  it('does not mind how much space is between its words', () => {
    expect(limitOf('  1000/h \t burst\n2000 ')).toEqual(limitOf('1000/h burst 2000'))
  })
})

describe('a mistake in a limit', () => {
  const EXAMPLES = 'such as 10/s, "100 per 5m sliding" or "8 concurrent for 60s"'
  const RANGE = 'is not a whole number from 1 to 1_000_000_000'
  const UNITS = 'expected s, min, h, d or w'

  it.each<[text: string, said: string, marked: string]>([
    ['10/sce', `unknown unit "sce"; ${UNITS} (write s)`, 'sce'],
    ['10/S', `unknown unit "S"; ${UNITS} (write s)`, 'S'],
    ['5 per 2hours', `unknown unit "hours"; ${UNITS} (write h)`, 'hours'],
    ['10/', `no unit; ${UNITS}`, ''],
    ['10/ms', `unknown unit "ms"; ${UNITS} (windows start at 1s)`, 'ms'],
    [
      '1000/mon',
      `unknown unit "mon"; ${UNITS} (a month has no fixed length: "1000 per calendar month" or "1000 per 30d")`,
      'mon',
    ],
    ['10 per 1y', `unknown unit "y"; ${UNITS} (a year has no fixed length: "10 per 365d")`, 'y'],
    ['ten/s', '"ten" is not a whole number (amounts are written 1000, 1_000, 20k or 5M)', 'ten'],
    ['0.5/s', '"0.5" is not a whole number (a limit of 0.5/s is written "1 per 2s")', '0.5'],
    [
      '10/s brust 20',
      'unknown word "brust"; expected burst, sliding, exact, fixed, smooth or queue; did you mean "burst"?',
      'brust',
    ],
    ['10/s burst', '"burst" needs a number (burst 20)', 'burst'],
    ['10/s sliding exact', 'a second modifier "exact"; a limit takes one', 'exact'],
    ['10/s exact 5', 'unexpected "5" at the end', '5'],
    [
      '10 per calendar mnth',
      'unknown calendar unit "mnth"; expected day, week or month; did you mean "month"?',
      'mnth',
    ],
    ['10 per calendar', 'no calendar unit; expected day, week or month', ''],
    [
      '1 per calendar day in Europe/Berln',
      'unknown time zone "Europe/Berln"; expected a name such as Europe/Berlin; did you mean "Europe/Berlin"?',
      'Europe/Berln',
    ],
    [
      '1 per calendar day UTC',
      'unknown word "UTC"; expected in and a time zone (1 per calendar day in Europe/Berlin)',
      'UTC',
    ],
    [
      '8 concurrent',
      'no time-out after "concurrent"; expected "for" and a duration: 8 concurrent for 60s',
      '',
    ],
    [
      '8 concurrent for 60',
      '"60" is not a duration; expected one such as 30s, 5m or 1h (write 60s)',
      '60',
    ],
    [
      '10 pre 5m',
      `unknown word "pre"; expected per or concurrent; did you mean "per"? (${EXAMPLES})`,
      'pre',
    ],
    ['10', `"10" says no time; expected a limit ${EXAMPLES}`, ''],
    ['', `an empty limit; expected one ${EXAMPLES}`, ''],
    ['0/s', 'an amount of 0 would admit nobody; use a block', '0/s'],
    ['2000000000/s', `the amount 2000000000 ${RANGE}`, '2000000000/s'],
    ['10/s burst 0', `the burst 0 ${RANGE}`, '10/s burst 0'],
    ['1 per 500ms', 'the window 500ms is not from 1s to 366d', '1 per 500ms'],
    ['1 per 400d', 'the window 400d is not from 1s to 366d', '1 per 400d'],
    [
      '1 per 366d burst 1000',
      'a burst of 1000 takes more than 100 years to fill',
      '1 per 366d burst 1000',
    ],
  ])('%j: %s', (text, said, marked) => {
    expect(printFault(faultOf(text))).toBe(said)
    expect(markedIn(text)).toBe(marked)
  })

  it('is told the right form where a number and its unit are apart', () => {
    expect(printFault(faultOf('5 per 2 h'))).toContain('"2" is not a duration')
    expect(printFault(faultOf('5 per 2 h'))).toContain('2h')
  })

  it('is told in the words that were written', () => {
    expect(printFault(faultOf('10/s queue 1000000000'))).toContain('queue')
    expect(printFault(faultOf('1 per 0s'))).toContain('0s')
  })

  it('in a text of any length is told in a few words', () => {
    expect(faultOf('1'.repeat(1_000_000)).message.length).toBeLessThan(100)
    expect(faultOf(`10/${'x'.repeat(190)}`).message.length).toBeLessThan(150)
  })
})
