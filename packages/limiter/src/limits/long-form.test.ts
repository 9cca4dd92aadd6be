/** Limits written out mean the same as their one-line forms. */
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../create-limiter.js'
import { printFault } from '../faults.js'
import type { RulesDocument } from '../rules/document.js'
import { RuleSet } from '../rules/rule-set.js'
import { isFault, parseLimit } from './grammar.js'
import { type Algorithm, type Limit, printLimit } from './limit.js'
import type { LimitObject } from './long-form.js'

function read(limits: unknown, timezone = 'UTC'): Limit[] {
  const rules = { r: { scope: 'user', limits } } as RulesDocument['rules'] & object
  return RuleSet.compile({ timezone, rules }).rules[0]!.limits.map(({ limit }) => limit)
}

describe('a limit written out', () => {
  it.each<[LimitObject, string]>([
    [{ amount: 10, window: '1s' }, '10/s'],
    [
      { algorithm: 'token_bucket', amount: '1_000', window: '1h', burst: '2k' },
      '1000/h burst 2000',
    ],
    [{ capacity: 2000, refill_rate: '500/s' }, '500/s burst 2000'],
    [{ capacity: '2k', refill_rate: '1 per 90s' }, '1 per 90s burst 2000'],
    [{ algorithm: 'sliding_window_counter', amount: 100, window: '5m' }, '100 per 5m sliding'],
    [{ algorithm: 'sliding_window_log', amount: 100, window: '5min' }, '100 per 5m exact'],
    [{ algorithm: 'fixed_window', amount: 100, window: '1d' }, '100/d fixed'],
    [{ algorithm: 'gcra', amount: 10, window: '1s' }, '10/s smooth'],
    [{ algorithm: 'gcra', amount: 10, window: '1s', burst: 5 }, '10/s smooth 5'],
    [{ algorithm: 'leaky_bucket', amount: 10, window: '1s' }, '10/s queue'],
    [{ algorithm: 'leaky_bucket', amount: 10, window: '1s', queue: 0 }, '10/s queue 0'],
    [{ amount: 10, window: '1s', queue: '1k' }, '10/s queue 1000'],
    [
      { amount: '1M', calendar: 'month', timezone: 'Asia/Tokyo' },
      '1M per calendar month in Asia/Tokyo',
    ],
    [
      { algorithm: 'fixed_window', amount: 5, calendar: 'day' },
      '5 per calendar day in Europe/Oslo',
    ],
    [{ algorithm: 'concurrency', amount: 8, timeout: '60s' }, '8 concurrent for 60s'],
  ])('%j is %s', (long, line) => {
    expect(read(long, 'Europe/Oslo')).toEqual([parseLimit(line)])
  })

  it('is a concurrency limit if it has a time-out', () => {
    expect(read({ amount: 8, timeout: '1m' })).toEqual(read('8 concurrent for 60s'))
  })

  it('reads as its line does, whatever the algorithm', () => {
    const lines = [
      '7 per 90s',
      '7/h burst 9',
      '7/s smooth 3',
      '7/s queue 2',
      '7/d fixed',
      '7/w exact',
    ]
    for (const line of [...lines, '7/min sliding', '7 concurrent for 5s']) {
      const limit = parseLimit(line)
      if (isFault(limit)) throw new Error(printFault(limit))
      expect(read(writtenOut(limit)).map(printLimit)).toEqual([line])
    }
  })

  it('stands beside others in a list', () => {
    const limits = read(['10/s', { capacity: 5, refill_rate: '1/s' }, { amount: 9, window: '1h' }])
    expect(limits.map(printLimit)).toEqual(['10/s', '1/s burst 5', '9/h'])
  })

  it('decides', async () => {
    const limiter = createLimiter({
      rules: { keys: { scope: 'api_key', limits: { capacity: 3, refill_rate: '1/s' } } },
      clock: () => 1_000_000,
    })
    const ask = () => limiter.check({ subject: { api_key: 'k' } })
    const answers = [await ask(), await ask(), await ask(), await ask()]
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    expect(answers[3]).toMatchObject({ limit: 3, rule: 'keys', retryAfterMs: 1000 })
  })
})

function writtenOut({ algorithm, amount, window, burst }: Limit): Record<string, unknown> {
  const time = `${window / 1000}ms`
  const fields: Partial<Record<Algorithm, object>> = {
    token_bucket: { window: time, burst },
    gcra: { window: time, burst },
    leaky_bucket: { window: time, queue: burst - 1 },
    concurrency: { timeout: time },
  }
  return { algorithm, amount, ...(fields[algorithm] ?? { window: time }) }
}
