/** Printing and parsing are each other's inverse, and no text whatever is more than a limit or a fault. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFault, parseLimit } from './grammar.js'
import { calendarLimit, type Limit, limitOutOfRange, printLimit } from './limit.js'

const UNITS = { ms: 1e3, s: 1e6, m: 6e7, min: 6e7, h: 36e8, d: 864e8, w: 6048e8 } as const
const YEAR_MS = 366 * 86_400_000
const ZONES = Intl.supportedValuesOf('timeZone')

const calendars = fc.constantFrom('day', 'week', 'month')
const zones = fc.constantFrom(...ZONES)
/** Small ones as often as large ones. */
const amounts = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 100_000 }),
  fc.integer({ min: 1, max: 1_000_000_000 }),
)
const windows = fc
  .oneof(
    fc.integer({ min: 1000, max: YEAR_MS }),
    fc.integer({ min: 1, max: 3600 }).map((s) => s * 1000),
    fc.integer({ min: 1, max: 366 }).map((d) => d * 86_400_000),
  )
  .map((ms) => ms * 1000)

const plain = { calendar: null, timezone: null }
const buckets = fc.record({
  algorithm: fc.constantFrom('token_bucket', 'gcra', 'leaky_bucket'),
  amount: amounts,
  window: windows,
  burst: amounts,
})
const counters = fc.record({
  algorithm: fc.constantFrom(
    'fixed_window',
    'sliding_window_log',
    'sliding_window_counter',
    'concurrency',
  ),
  amount: amounts,
  window: windows,
})
const limits: fc.Arbitrary<Limit> = fc
  .oneof(
    buckets.map((bucket) => ({ ...bucket, ...plain })),
    counters.map((counter) => ({ ...counter, burst: counter.amount, ...plain })),
    fc.tuple(amounts, calendars, zones).map((parts) => calendarLimit(...parts)),
  )
  .filter((limit) => limitOutOfRange(limit) === undefined)

/** A number as people write it, with what it means. */
const writtenAmounts = fc.oneof(
  fc.integer({ min: 1, max: 9_999_999 }).chain((n) => {
    const grouped = String(n).replace(/\B(?=(\d{3})+$)/g, '_')
    return fc.constantFrom(String(n), grouped).map((text) => ({ text, n }))
  }),
  fc.integer({ min: 1, max: 9999 }).map((n) => ({ text: `${n}k`, n: n * 1000 })),
  fc.integer({ min: 1, max: 900 }).map((n) => ({ text: `${n}M`, n: n * 1_000_000 })),
  fc.integer({ min: 1, max: 99_999 }).map((n) => ({ text: `${n / 1000}k`, n })),
)
const rates = fc.oneof(
  fc.constantFrom('s', 'm', 'min', 'h', 'd', 'w').map((u) => ({ text: `/${u}`, us: UNITS[u] })),
  fc
    .record({
      count: fc.integer({ min: 1, max: 52 }),
      unit: fc.constantFrom('s', 'm', 'min', 'h', 'd', 'w'),
    })
    .map(({ count, unit }) => ({ text: ` per ${count}${unit}`, us: count * UNITS[unit] })),
  fc
    .integer({ min: 1000, max: 1e7 })
    .map((count) => ({ text: ` per ${count}ms`, us: count * UNITS.ms })),
)
const modifiers = fc.oneof(
  fc.constantFrom('', ' sliding', ' exact', ' fixed', ' smooth', ' queue'),
  fc
    .tuple(fc.constantFrom(' burst', ' smooth', ' queue'), writtenAmounts)
    .map(([word, { text }]) => `${word} ${text}`),
)
const texts = fc.oneof(
  fc.tuple(writtenAmounts, rates, modifiers).map(([{ text }, rate, end]) => text + rate.text + end),
  fc
    .tuple(writtenAmounts, calendars, fc.option(zones))
    .map(
      ([{ text }, unit, zone]) =>
        `${text} per calendar ${unit}${zone === null ? '' : ` in ${zone}`}`,
    ),
  fc
    .tuple(writtenAmounts, rates)
    .map(([{ text }, { us }]) => `${text} concurrent for ${us / 1e3}ms`),
)

function expectSound(text: string): void {
  const result = parseLimit(text)
  if (!isFault(result)) {
    expect(limitOutOfRange(result)).toBeUndefined()
    expect(parseLimit(printLimit(result))).toEqual(result)
    return
  }
  const { message, offset, length } = result
  expect(message).not.toBe('')
  if (offset === undefined || length === undefined) expect(offset).toBe(length)
  else {
    expect(Math.min(offset, length)).toBeGreaterThanOrEqual(0)
    expect(offset + length).toBeLessThanOrEqual(text.length)
  }
}

describe('printing and parsing', () => {
  it('give back every limit of every algorithm', () => {
    fc.assert(
      fc.property(limits, (limit) => {
        expect(parseLimit(printLimit(limit), 'America/Lima')).toEqual(limit)
      }),
      { numRuns: 3000 },
    )
  })

  it('keep the meaning of every well-formed text', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const limit = parseLimit(text)
        if (isFault(limit)) expect(limit.message).toMatch(/takes more than 100 years/)
        else expect(parseLimit(printLimit(limit))).toEqual(limit)
      }),
      { numRuns: 3000 },
    )
  })

  it('count amounts and durations as they are written', () => {
    fc.assert(
      fc.property(writtenAmounts, rates, (amount, rate) => {
        const limit = parseLimit(`${amount.text}${rate.text} fixed`)
        const [n, us] = [amount.n, rate.us]
        expect(limit).toEqual({
          algorithm: 'fixed_window',
          amount: n,
          window: us,
          burst: n,
          ...plain,
        })
      }),
      { numRuns: 2000 },
    )
  })
})

describe('whatever is written', () => {
  const edits = fc.array(
    fc.record({
      at: fc.nat(60),
      remove: fc.nat(3),
      insert: fc.oneof(
        fc.constantFrom('', ' ', '/', '0', '_', '.', 'k', 'per', ' burst ', 'in', '-', 'e9', '\n'),
        fc.string({ unit: 'binary', maxLength: 3 }),
      ),
    }),
    { minLength: 1, maxLength: 4 },
  )

  it('is a limit in range, or a fault that points into the text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 250 }), expectSound), {
      numRuns: 2000,
    })
  })

  it('is so too where a good text was damaged', () => {
    fc.assert(
      fc.property(texts, edits, (text, changes) => {
        let damaged = text
        for (const { at, remove, insert } of changes)
          damaged = damaged.slice(0, at) + insert + damaged.slice(at + remove)
        expectSound(damaged)
      }),
      { numRuns: 2500 },
    )
  })

  it('is read in no time, however long it is', () => {
    const parts = ['9', ' ', '1_', '_', 'a', '/', '10/s ', '1 per ', 'in ', '\u{1f600}', '\ud800']
    const started = performance.now()
    for (const part of parts) {
      for (const length of [50, 199, 200, 201, 1_000_000])
        expectSound(part.repeat(Math.ceil(length / part.length)).slice(0, length))
    }
    expect(performance.now() - started).toBeLessThan(5000)
  })
})
