import type { RulesDocument } from '@sluice/limiter'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import type { UsageBatch } from '../../src/usage/batch.js'
import { UsageKeeper } from '../../src/usage/keeping.js'
import { UsageRecorder } from '../../src/usage/recorder.js'
import { UsageSender } from '../../src/usage/sender.js'
import { Tally } from '../../src/usage/tally.js'
import { DATABASES } from '../control/databases.js'
import { byRule, Deciding, PlainCount, START, violationsOf } from './deciding.js'
import { QUIET, Stored } from './stored.js'

const RULES: RulesDocument = {
  rules: {
    'per-user': { scope: 'user', limits: '5 per 10s' },
    'per-org': { scope: 'org', limits: '30 per 10s', additive: true },
  },
  blocks: ['user:7'],
}

const asked = fc.record({
  user: fc.nat(20).map(String),
  org: fc.constantFrom('acme', 'ajax', 'ä'.repeat(1024)),
  resource: fc.constantFrom('/a', '/b'),
  cost: fc.integer({ min: 1, max: 3 }),
  passes: fc.nat(5000),
})

describe.each(DATABASES)('usage in $kind', (kind) => {
  let stored: Stored
  beforeAll(async () => {
    stored = await Stored.start(kind)
  }, 120_000)
  beforeEach(() => stored.empty())
  afterAll(() => stored.stop())

  /** Batches of a few decisions each, of one instance. */
  async function batchesOf(counts: readonly number[], deciding = new Deciding(RULES)) {
    const tally = new Tally(deciding.now)
    const batches: UsageBatch[] = []
    const sender = new UsageSender({
      tally,
      now: () => deciding.now,
      deliver: async (batch) => void batches.push(batch),
    })
    for (const count of counts) {
      for (let i = 0; i < count; i++)
        deciding.ask({ subject: { user: `u${i}` }, resource: '/a' }, tally)
      deciding.now += 2000
      sender.take()
      await sender.send()
    }
    return batches
  }

  it('is what a plain count says, whatever comes in whatever batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(asked, { maxLength: 40 }), { maxLength: 8 }),
        async (rounds) => {
          await stored.empty()
          const deciding = new Deciding(RULES)
          const tally = new Tally(START)
          const plain = new PlainCount()
          const sender = new UsageSender({
            tally,
            now: () => deciding.now,
            deliver: (batch) => stored.recorder.record([batch, batch]),
          })
          for (const round of rounds) {
            for (const { user, org, resource, cost, passes } of round) {
              deciding.now += passes
              const request = { subject: { user, org }, resource, cost }
              plain.decided(deciding.ask(request, tally), request, 'default')
            }
            sender.take()
            await sender.send()
          }
          expect(await stored.sums()).toEqual(plain.sums)
          const span = { from: START, to: deciding.now + 1000 }
          const { items, totals } = await stored.reader.violations(
            { namespace: 'default' },
            span,
            null,
            10_000,
          )
          const violations = items.map(({ at, ...one }) => ({
            ...one,
            at: at.getTime(),
            namespace: 'default',
          }))
          expect(violationsOf(violations as never)).toEqual(plain.violations)
          const sum = Object.values(plain.violations).reduce((a, b) => a + b, 0)
          expect(totals.count).toBe(sum)
          expect(await stored.recorder.lostNow()).toBe(0)
        },
      ),
      { numRuns: 15 },
    )
  })

  it('is stored once, however often and in whatever order it comes', async () => {
    const batches = await batchesOf([3, 1, 4, 1, 5])
    await stored.recorder.record(batches.toReversed())
    await stored.recorder.record([batches[2]!, batches[0]!])
    await Promise.all(batches.map((batch) => stored.recorder.record([batch])))
    expect(byRule((await stored.sums()) as never)).toEqual({ 'default per-user user': [14, 0, 14] })
    expect(await stored.recorder.lostNow()).toBe(0)
  })

  it('knows exactly how many decisions never came, and that they came after all', async () => {
    const batches = await batchesOf([3, 1, 4, 1, 5])
    await stored.recorder.record([batches[0]!])
    await stored.recorder.record([batches[4]!, batches[2]!])
    expect(await stored.recorder.lostNow()).toBe(2)
    await stored.recorder.record([batches[1]!])
    expect(await stored.recorder.lostNow()).toBe(1)
  })

  it('tells of what is lost for long, and not of what is only late', async () => {
    const recorder = new UsageRecorder({
      database: stored.database,
      keeper: stored.keeper,
      now: () => stored.now,
      log: QUIET,
      settledAfterMs: 0,
    })
    const batches = await batchesOf([3, 1, 4, 1, 5])
    await recorder.record([batches[0]!])
    await recorder.record([batches[2]!])
    expect(recorder.lost).toBe(0)
    await recorder.record([batches[1]!])
    expect(recorder.lost).toBe(0)
    await recorder.record([batches[4]!])
    await recorder.record([batches[4]!])
    expect(recorder.lost).toBe(1)
  })

  it('has the partitions that it needs, and makes them again', async () => {
    const { database } = stored
    const keeper = new UsageKeeper({ database, now: () => stored.now, log: QUIET, everyMs: 10 })
    await keeper.start()
    await database.query('DROP TABLE sluice.violations_2026_01_16')
    await until('the partition to be back', async () => {
      const [row] = await database.query(`SELECT to_regclass('sluice.violations_2026_01_16') AS is`)
      return row!['is'] !== null
    })
    keeper.close()
    // Without the job too: whoever stores finds that one is missing.
    await database.query('DROP TABLE sluice.usage_minutes_2026_01_16')
    await stored.recorder.record(await batchesOf([3]))
    expect(byRule((await stored.sums()) as never)).toEqual({ 'default per-user user': [3, 0, 3] })
  })

  it('leaves out a batch that the database refuses, and nothing else', async () => {
    const batches = await batchesOf([3, 1, 4])
    const long = { ...batches[1]!, from: Date.parse('1990-01-01') }
    await stored.recorder.record([batches[0]!, long, batches[2]!])
    expect(byRule((await stored.sums()) as never)).toEqual({ 'default per-user user': [7, 0, 7] })
    expect(await stored.recorder.lostNow()).toBe(1)
    expect(stored.log.at(-1)).toMatchObject({ code: 'usage_refused', count: 1 })
    await stored.recorder.record([long])
    expect(await stored.recorder.lostNow()).toBe(1)
  })

  it('names only so many in a minute, and the heavy ones, and loses none', async () => {
    const recorder = new UsageRecorder({
      database: stored.database,
      keeper: stored.keeper,
      now: () => stored.now,
      log: QUIET,
      namesAMinute: 5,
      namesADay: 7,
    })
    const deciding = new Deciding({ rules: { one: { scope: 'user', limits: '3 per 1d fixed' } } })
    const tally = new Tally(START)
    const sender = new UsageSender({
      tally,
      now: () => deciding.now,
      deliver: (batch) => recorder.record([batch]),
    })
    const ask = (user: string) => deciding.ask({ subject: { user }, resource: '/a' }, tally)
    for (let batch = 0; batch < 4; batch++) {
      for (let i = 0; i < 200; i++) ask(`nobody-${batch}-${i}`)
      for (let i = 0; i < 10; i++) ask('heavy')
      deciding.now += 2000
      sender.take()
      await sender.send()
    }
    const sums = await stored.sums()
    expect(byRule(sums as never)).toEqual({ 'default one user': [803, 37, 803] })
    expect(Object.keys(sums).length).toBe(7)
    expect(sums['default one user heavy']).toEqual([3, 37, 3])
    const rows = await stored.database.query<{ count: number }>(
      'SELECT count(*) AS count FROM sluice.usage_days',
    )
    expect(rows[0]!.count).toBe(9)
    for (let i = 0; i < 10; i++) {
      for (let j = 0; j < 4; j++) ask(`denied-${i}`)
    }
    sender.take()
    await sender.send()
    const span = { from: START, to: deciding.now + 1000 }
    const found = await stored.reader.violations({ namespace: 'default' }, span, null, 100)
    expect(found.totals.count).toBe(47)
    expect(found.items.length).toBeLessThanOrEqual(6)
    expect(found.items.some(({ value }) => value === null)).toBe(true)
  })

  it('keeps namespaces apart', async () => {
    await stored.recorder.record(
      await batchesOf([2], new Deciding({ ...RULES, namespace: 'acme' })),
    )
    expect(await stored.sums()).toEqual({})
    expect(Object.keys(await stored.sums('acme'))).toEqual([
      expect.stringContaining('acme per-user'),
      expect.stringContaining('acme per-user'),
    ])
  })

  it('answers why somebody was denied in one call', async () => {
    const deciding = new Deciding(RULES)
    const tally = new Tally(START)
    const ask = (user: string, resource: string) =>
      deciding.ask({ subject: { user }, resource }, tally)
    for (let i = 0; i < 8; i++) ask('42', '/v1/search?q=x')
    for (let i = 0; i < 9; i++) ask('43', '/v1/search')
    deciding.now += 1500
    ask('42', '/v1/list')
    const sender = new UsageSender({
      tally,
      now: () => deciding.now,
      deliver: (batch) => stored.recorder.record([batch]),
    })
    sender.take()
    await sender.send()
    const found = await stored.reader.violations(
      { namespace: 'default', scope: 'user', values: ['42'] },
      { from: START, to: START + 60_000 },
      null,
      100,
    )
    expect(found).toEqual({
      items: [
        {
          at: new Date(START + 1000),
          count: 1,
          scope: 'user',
          value: '42',
          rule: 'per-user',
          resource: '/v1/list',
          limit: '5 per 10s',
          reason: 'limited',
        },
        expect.objectContaining({ at: new Date(START), count: 3, resource: '/v1/search' }),
      ],
      totals: { count: 4 },
      next: null,
    })
  })

  it('is read page by page, heaviest first, with the totals of all', async () => {
    const deciding = new Deciding({ rules: { all: { scope: 'user', limits: '1000/s' } } })
    const tally = new Tally(START)
    for (let user = 0; user < 25; user++)
      for (let i = 0; i <= user % 7; i++) deciding.ask({ subject: { user: String(user) } }, tally)
    const counts = tally.take(START)
    const batch = { ...counts, instance: 'x', sequence: 1, total: counts.decisions, dropped: 0 }
    await stored.recorder.record([batch])
    const seen: string[] = []
    const ranks: number[] = []
    let next = null
    do {
      const span = stored.reader.spanOf({ from: START, to: START + 1 })
      const page = await stored.reader.usage({ namespace: 'default' }, span, next, 4)
      expect(page.totals.allowed).toBe(counts.decisions)
      seen.push(...page.items.map(({ value }) => value!))
      ranks.push(...page.items.map(({ allowed }) => allowed))
      next = page.next
    } while (next !== null)
    expect(new Set(seen).size).toBe(25)
    expect(seen.length).toBe(25)
    expect(ranks).toEqual(ranks.toSorted((a, b) => b - a))
  })

  it('sums days of what is not kept by the minute any more', async () => {
    const day = 86_400_000
    const batch = (sequence: number, at: number): UsageBatch => ({
      from: at,
      to: at + 2000,
      decisions: 1,
      error: 0,
      violations: [],
      rules: [
        {
          namespace: 'default',
          rule: 'all',
          scope: 'user',
          subjects: [{ value: 'ada', allowed: 1, denied: 0, cost: 1 }],
        },
      ],
      instance: 'days',
      sequence,
      total: sequence,
      dropped: 0,
    })
    for (const [i, days] of [0, 1, 20, 40].entries()) {
      stored.now = START + days * day
      await stored.keeper.tend()
      await stored.recorder.record([batch(i + 1, stored.now)])
    }
    const { names } = (
      await stored.database.query<{ names: string[] }>(
        `SELECT array_agg(relname::text ORDER BY relname) AS names FROM pg_class
          WHERE relname LIKE 'usage_minutes_2026%' AND relkind = 'r'`,
      )
    )[0]!
    expect(names).not.toContain('usage_minutes_2026_01_16')
    expect(names).toContain('usage_minutes_2026_02_05')
    const ask = async (from: number, to: number) => {
      const span = stored.reader.spanOf({ from, to })
      const { totals } = await stored.reader.usage({ namespace: 'default' }, span, null, 10)
      return totals.allowed
    }
    expect(await ask(START, stored.now + 1)).toBe(4)
    expect(await ask(START, START + 1)).toBe(1)
    expect(await ask(START + 10 * day, stored.now + 1)).toBe(2)
    expect(await ask(stored.now - 60_000, stored.now + 1)).toBe(1)
    expect(stored.reader.spanOf({ from: START, to: START + 1 })).toEqual({
      from: Date.parse('2026-01-16'),
      to: Date.parse('2026-01-17'),
    })
  })
})
