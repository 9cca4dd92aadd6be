/** What is wrong with a limit written out: every fault, each at its field. */
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../errors.js'
import { printFault } from '../faults.js'
import { RuleSet } from '../rules/rule-set.js'

function faultsOf(limits: unknown): string[] {
  try {
    RuleSet.compile({ rules: { r: { scope: 'user', limits: limits as never } } })
  } catch (error) {
    if (error instanceof SluiceError) return error.faults.map(printFault)
    throw error
  }
  return []
}

describe('a field of a limit', () => {
  const at = 'rules.r.limits'
  const range = 'a whole number from 1 to 1_000_000_000'

  it.each<[what: string, limits: unknown, faults: string[]]>([
    [
      'that is unknown is told the nearest',
      { amount: 1, windw: '1s', window: '1s' },
      [`${at}: unknown field "windw" in a limit; did you mean "window"?`],
    ],
    [
      'that does not go with the algorithm is refused',
      { algorithm: 'fixed_window', amount: 1, window: '1s', burst: 2, queue: 3 },
      [
        `${at}.burst: does not go with fixed_window; expected algorithm, amount or window`,
        `${at}.queue: does not go with fixed_window; expected algorithm, amount or window`,
      ],
    ],
    [
      'that does not go with a capacity is refused',
      { capacity: 1, refill_rate: '1/s', burst: 2 },
      [
        `${at}.burst: does not go with capacity and refill_rate; expected algorithm, capacity or refill_rate`,
      ],
    ],
    [
      'that does not go with a calendar is refused',
      { amount: 1, calendar: 'day', window: '1d' },
      [
        `${at}.window: does not go with a calendar window; expected algorithm, amount, calendar or timezone`,
      ],
    ],
    [
      'that is missing is named, with all others',
      {},
      [
        `${at}.amount: is missing; expected ${range}`,
        `${at}.window: is missing; expected a text such as 30s, 5m or 1h`,
      ],
    ],
    [
      'that is missing beside a capacity is named',
      { capacity: 5 },
      [`${at}.refill_rate: is missing; expected one such as 500/s`],
    ],
    [
      'that is missing beside a rate is named',
      { refill_rate: '5/s' },
      [`${at}.capacity: is missing; expected ${range}`],
    ],
    [
      'of concurrency that is missing is named',
      { algorithm: 'concurrency', amount: 8 },
      [`${at}.timeout: is missing; expected a text such as 30s, 5m or 1h`],
    ],
    [
      'of the wrong type is shown',
      { amount: true, window: 60, burst: 'many' },
      [
        `${at}.amount: true is not ${range}`,
        `${at}.window: 60 is not a duration; expected a text such as 30s, 5m or 1h`,
        `${at}.burst: "many" is not ${range}`,
      ],
    ],
    [
      'with an unknown word is told the nearest',
      [
        { amount: 1, calendar: 'mnth' },
        { algorithm: 'gcar', amount: 1, window: '1s' },
      ],
      [
        `${at}[0].calendar: unknown calendar "mnth"; expected day, week or month; did you mean "month"?`,
        `${at}[1].algorithm: unknown algorithm "gcar"; expected token_bucket, gcra, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter or concurrency; did you mean "gcra"?`,
      ],
    ],
    [
      'with an unknown zone is told the nearest',
      { amount: 1, calendar: 'day', timezone: 'Europe/Berln' },
      [`${at}.timezone: unknown time zone "Europe/Berln"; did you mean "Europe/Berlin"?`],
    ],
    [
      'with a rate that is no rate is told what is wrong with it',
      [
        { capacity: 5, refill_rate: '5/sce' },
        { capacity: 5, refill_rate: '5/s fixed' },
      ],
      [
        `${at}[0].refill_rate: unknown unit "sce"; expected s, min, h, d or w (write s)`,
        `${at}[1].refill_rate: "5/s fixed" is more than a rate; expected one such as 500/s`,
      ],
    ],
    [
      'out of range is refused',
      [
        { amount: 0, window: '1s' },
        { amount: 1e9 + 1, window: '1s' },
        { amount: 1.5, window: '1s' },
      ],
      [
        `${at}[0].amount: 0 is not ${range}`,
        `${at}[1].amount: 1000000001 is not ${range}`,
        `${at}[2].amount: 1.5 is not ${range}`,
      ],
    ],
    [
      'with a window out of range is refused',
      [
        { amount: 1, window: '999ms' },
        { algorithm: 'concurrency', amount: 1, timeout: '367d' },
      ],
      [
        `${at}[0]: the window 999ms is not from 1s to 366d`,
        `${at}[1]: the window 367d is not from 1s to 366d`,
      ],
    ],
    [
      'with a burst of more than a hundred years is refused',
      { capacity: 1000, refill_rate: '1 per 366d' },
      [`${at}: a burst of 1000 takes more than 100 years to fill`],
    ],
  ])('%s', (_what, limits, faults) => {
    expect(faultsOf(limits)).toEqual(faults)
  })

  it('is refused beside an unknown algorithm too', () => {
    const faults = faultsOf({ algorithm: 'tokenbucket', amount: -1, window: '1x' })
    expect(faults.map((fault) => fault.split(':')[0])).toEqual([
      `${at}.algorithm`,
      `${at}.amount`,
      `${at}.window`,
    ])
  })

  it('belongs to a limit: anything else is refused', () => {
    for (const [limits, shown] of [
      [5, '5'],
      [null, 'null'],
      [true, 'true'],
    ] as const)
      expect(faultsOf(limits)).toEqual([`${at}: ${shown} is not a limit such as 10/s`])
    expect(faultsOf([])).toEqual([`${at}: is empty; expected one or more limits, such as 10/s`])
    expect(faultsOf([[]])).toEqual([`${at}[0]: [] is not a limit such as 10/s`])
    expect(faultsOf(Array.from({ length: 17 }, () => '1/s'))).toEqual([
      `${at}: has 17 limits; at most 16`,
    ])
  })
})
