/** Calendar windows: days, weeks and months of zones whose clocks change, found independently. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CalendarUnit, LimitText } from '../../src/index.js'
import { expectAlignedBound } from './bounds.js'
import { type Deed, type Step, stepsBack } from './histories.js'
import { DAY, HOUR, MINUTE } from './limits.js'
import { calendarWindows } from './oracle-calendar.js'
import { WindowOracle } from './oracle-window.js'
import { Replay } from './replay.js'
import { World } from './world.js'

/** Clocks that change at night, at midnight, by half an hour, never, and once skipped a whole day. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kiritimati',
]

/** Around changes of clocks, of years, and around the day that Apia never had. */
const MOMENTS = [
  '2026-03-29T01:00:00Z',
  '2026-10-25T01:00:00Z',
  '2026-03-08T07:00:00Z',
  '2026-11-01T06:00:00Z',
  '2018-11-04T03:00:00Z',
  '2018-02-18T02:00:00Z',
  '2024-02-29T12:00:00Z',
  '2025-12-31T23:59:59Z',
  '2023-04-28T00:00:00Z',
  '2011-12-30T10:00:00Z',
  '2026-04-04T15:00:00Z',
].map((text) => BigInt(Date.parse(text)) * 1000n)

const windowsOf = new Map<string, ReturnType<typeof calendarWindows>>()

function windowOf(unit: CalendarUnit, zone: string): ReturnType<typeof calendarWindows> {
  const key = `${unit} ${zone}`
  const known = windowsOf.get(key) ?? calendarWindows(unit, zone)
  windowsOf.set(key, known)
  return known
}

interface Calendar {
  readonly calendar: CalendarUnit
  readonly timezone: string
  readonly amount: bigint
  readonly start: bigint
}

const CALENDARS: fc.Arbitrary<Calendar> = fc.record({
  calendar: fc.constantFrom<CalendarUnit[]>('day', 'week', 'month'),
  timezone: fc.constantFrom(...ZONES),
  amount: fc.bigInt(1n, 12n),
  start: fc
    .record({ moment: fc.constantFrom(...MOMENTS), off: fc.bigInt(-2n * DAY, 2n * DAY) })
    .map(({ moment, off }) => moment + off),
})

const deed = <D extends Deed>(does: D) => fc.constant(does)
const which = fc.nat({ max: 10 })
const ASK = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: deed('check'), cost: fc.bigInt(1n, 13n) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: deed('wait'),
      us: fc.oneof(
        fc.constantFrom(HOUR, DAY, 7n * DAY),
        fc.bigInt(0n, 32n * DAY),
        fc.bigInt(0n, DAY),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: deed('await retry'), off: fc.constantFrom(-1n, 0n, MINUTE) }),
  },
  { weight: 1, arbitrary: fc.record({ does: deed('step back'), us: stepsBack() }) },
) satisfies fc.Arbitrary<Step>
const GIVE = fc.oneof(
  { weight: 4, arbitrary: ASK.filter(({ does }) => does !== 'step back') },
  { weight: 1, arbitrary: fc.record({ does: deed('refund'), which, amount: fc.bigInt(1n, 5n) }) },
  { weight: 1, arbitrary: fc.record({ does: deed('grant'), amount: fc.bigInt(1n, 5n) }) },
  { weight: 1, arbitrary: fc.record({ does: deed('reserve'), estimate: fc.bigInt(1n, 5n) }) },
  { weight: 1, arbitrary: fc.record({ does: deed('settle'), which, used: fc.bigInt(0n, 9n) }) },
) satisfies fc.Arbitrary<Step>

function replayOf({ calendar, timezone, amount, start }: Calendar): Replay {
  const world = new World({ amount: Number(amount), calendar, timezone }, start)
  return new Replay(world, new WindowOracle(amount, windowOf(calendar, timezone)))
}

describe('calendar windows', () => {
  it.each<[string, fc.Arbitrary<Step>]>([
    ['asked', ASK],
    ['given back to and owing', GIVE],
  ])('answer every request as the local dates say: %s', async (_name, step) => {
    const steps = fc.array(step, { maxLength: 30, size: 'max' })
    await fc.assert(
      fc.asyncProperty(CALENDARS, steps, async (calendar, steps) => {
        const replay = replayOf(calendar)
        for (const step of steps) await replay.do(step)
        const windows = windowOf(calendar.calendar, calendar.timezone)
        if (step === ASK) expectAlignedBound(replay.admissions, calendar.amount, windows)
      }),
      { numRuns: 300 },
    )
  })

  it('are as long as their days are, clock changes included', () => {
    const lengths = (limits: LimitText, at: string) => {
      const world = new World(limits, BigInt(Date.parse(at)) * 1000n)
      return world.check().limits[0]!.windowSeconds / 3600
    }
    expect(lengths('5 per calendar day in Europe/Berlin', '2026-03-29T12:00:00Z')).toBe(23)
    expect(lengths('5 per calendar day in Europe/Berlin', '2026-10-25T12:00:00Z')).toBe(25)
    expect(lengths('5 per calendar week in Europe/Berlin', '2026-03-29T12:00:00Z')).toBe(167)
    expect(lengths('5 per calendar month in Europe/Berlin', '2026-10-25T12:00:00Z')).toBe(745)
    expect(lengths('5 per calendar day in Australia/Lord_Howe', '2026-04-04T20:00:00Z')).toBe(24.5)
    expect(lengths('5 per calendar month in Pacific/Apia', '2011-12-20T00:00:00Z')).toBe(30 * 24)
  })
})
