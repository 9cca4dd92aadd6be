/** Rows that were above their limit when the store was last asked. */
import { describe, expect, it } from 'vitest'
import { NOT_NOW } from '../../algorithms/status.js'
import { createLimiter } from '../../create-limiter.js'
import type { LimitText } from '../../limits/limit-text.js'
import type { RulesDocument } from '../../rules/document.js'
import { RuleSet } from '../../rules/rule-set.js'
import { Answer } from '../answer.js'
import { LastSeenRows } from '../last-seen-rows.js'
import { newTransaction } from '../transaction.js'
import { Instances } from './heartbeat.js'
import { LocalFallback } from './local-fallback.js'

const START_MS = 1_790_000_000_000
const START = 1000 * START_MS
const RULES = RuleSet.compile({ rules: { r: { scope: 'user', limits: '10 per 10s' } } })
const [RULE] = RULES.all
/** 40 are counted of 10. */
const OWING = [0, START, 0, NOT_NOW, -30, START + 40_000_000, START + 31_000_000, 0, 0, 0]

function lastSeenOf(rules: RuleSet): LastSeenRows {
  const lastSeen = new LastSeenRows()
  const asked = newTransaction([rules.all[0]!], ['ada'], 1, START)
  lastSeen.record(new Answer(asked, OWING), 0, 0, 40, 0)
  return lastSeen
}

it('a row that was above its limit has nothing left, and no less than nothing', () => {
  const lastSeen = lastSeenOf(RULES)
  expect(lastSeen.leftOf(RULE!, 'ada')).toBe(0)
  expect(lastSeen.of(RULE!, 'ada')?.limits).toEqual([{ remaining: 0, resetAt: START + 40_000_000 }])
})

it('a row that was above its limit is counted on here from a full one', async () => {
  const lastSeen = lastSeenOf(RULES)
  const store = new LocalFallback({ lastSeen, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules: RULES, store, clock: () => START_MS + 4000 })
  // Four were refilled since.
  const decision = await limiter.check({ subject: { user: 'ada' } })
  expect(decision).toMatchObject({ allowed: true, degraded: true, used: 7, remaining: 3 })
})

it('a dry run counts on from what was last seen, and keeps nothing of it', async () => {
  const lastSeen = lastSeenOf(RULES)
  const store = new LocalFallback({ lastSeen, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules: RULES, store, clock: () => START_MS + 4000 })
  const seen = { allowed: true, degraded: true, used: 6, remaining: 4 }
  for (let i = 0; i < 2; i++)
    expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject(seen)
  expect(await limiter.peek({ subject: { user: 'eve' } })).toMatchObject({ used: 0, remaining: 10 })
  // What was used elsewhere is not this instance's to tell.
  const now = START + 4_000_000
  const asked = newTransaction([RULE!], ['ada'], 1, now, { dryRun: true })
  store.report(asked, () => expect.fail('there is nothing to report'))
  expect(await limiter.check({ subject: { user: 'ada' } })).toMatchObject({ used: 7, remaining: 3 })
  expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject({ used: 7, remaining: 3 })
})

it("an instance's part is mostly its part of the traffic, and a little an even one", async () => {
  const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits: '100/d fixed' } } })
  const lastSeen = new LastSeenRows()
  const asked = newTransaction([rules.all[0]!], ['ada'], 1, START)
  const unused = Answer.open(asked, START, true)
  unused.setNothing(0, 0, START)
  unused.setDifference(0, 100)
  // Of 100 tokens that all took while it looked, it took 30.
  lastSeen.record(unused, 0, 0, 0, 0)
  lastSeen.record(unused, 0, 0, 100, 30)
  const store = new LocalFallback({ lastSeen, instances: new Instances(4), storeTime: (us) => us })
  const limiter = createLimiter({ rules, store, clock: () => START_MS })
  let admitted = 0
  while ((await limiter.check({ subject: { user: 'ada' } })).allowed) admitted++
  // 0.8 of 30 and 0.2 of 25, in steps of a thirty-second.
  expect([28, 29]).toContain(admitted)
})

describe('a request that repeats its idempotency key while the store is away', () => {
  const day = (rules: RulesDocument['rules']) => {
    const parts = { lastSeen: new LastSeenRows(), instances: new Instances(1) }
    const store = new LocalFallback({ ...parts, storeTime: (us) => us })
    return createLimiter({ rules: rules!, store, clock: () => START_MS })
  }
  const ADA = { subject: { user: 'ada' } }

  it('has the receipt of the first, which gives back once', async () => {
    const limiter = day({ r: { scope: 'user', limits: '10/d fixed' } })
    await limiter.check({ ...ADA, cost: 5 })
    const first = await limiter.check({ ...ADA, cost: 2, idempotencyKey: 'k' })
    const again = await limiter.check({ ...ADA, cost: 2, idempotencyKey: 'k' })
    expect(again).toMatchObject({ replayed: true, degraded: true, remaining: 3 })
    expect(await limiter.refund(first)).toEqual({ requests: 2 })
    expect(await limiter.refund(again)).toEqual({})
    expect(await limiter.peek(ADA)).toMatchObject({ remaining: 5 })
  })

  it('has the answer of the first also when the rules have changed', async () => {
    const a = { scope: 'user', limits: '10/d' } as const
    const limiter = day({ a })
    await limiter.check({ ...ADA, idempotencyKey: 'k' })
    limiter.setRules({ rules: { first: { ...a, limits: '7/d', additive: true }, a } })
    const again = await limiter.check({ ...ADA, idempotencyKey: 'k' })
    expect(again).toMatchObject({ replayed: true, limits: [{ rule: 'a', remaining: 9 }] })
  })
})

it.each([
  ['10 per 10s', 4],
  ['10 per 10s fixed', 0],
  ['10 per 10s sliding', 0],
  ['10 per 10s exact', 0],
] as const)('a dry run leaves a counter of %s as it was', async (limits, remaining) => {
  const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits } } })
  const lastSeen = lastSeenOf(rules)
  const store = new LocalFallback({ lastSeen, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules, store, clock: () => START_MS + 4000 })
  for (let i = 0; i < 3; i++)
    expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject({ remaining })
  expect(await limiter.check({ subject: { user: 'ada' } })).toMatchObject({
    allowed: remaining > 0,
    remaining: Math.max(0, remaining - 1),
  })
})

it('a row whose rule has changed takes the place of nobody else', async () => {
  const [first, changed] = [10, 20].map((amount) =>
    RuleSet.compile({ rules: { r: { scope: 'user', limits: `${amount}/h` } } }),
  ) as [RuleSet, RuleSet]
  const lastSeen = new LastSeenRows()
  const store = new LocalFallback({ lastSeen, instances: new Instances(1), storeTime: (us) => us })
  const limiter = createLimiter({ rules: first, store, clock: () => START_MS })
  const users = Array.from({ length: 100_000 }, (_, i) => `user-${i}`)
  for (const user of users) await limiter.check({ subject: { user } })
  limiter.setRules(changed)
  for (const user of users.slice(-1000)) await limiter.check({ subject: { user } })
  const asked = newTransaction([changed.all[0]!], ['user-0'], 1, START)
  const reported: unknown[] = []
  store.report(asked, (raises) => {
    reported.push(...raises)
    return []
  })
  expect(reported).toMatchObject([{ kind: 'raise', value: 'user-0', amount: 1 }])
})

it('traffic of long ago counts for less than that of now', () => {
  const lastSeen = new LastSeenRows()
  const answer = new Answer(newTransaction([RULE!], ['ada'], 1, START), OWING)
  let taken = 0
  for (let i = 0; i < 1000; i++) lastSeen.record(answer, 0, 0, (taken += 2), 0)
  for (let i = 0; i < 1000; i++) lastSeen.record(answer, 0, 0, (taken += 2), 2)
  const { own, all } = lastSeen.of(RULE!, 'ada')!
  expect(own / all).toBeGreaterThan(0.7)
})

/** A fallback of one of several instances, under one rule, and what it has seen of ada's row. */
function oneOf(count: number, limits: LimitText, seen?: { remaining: number; resetAt: number }) {
  const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits } } })
  const rule = rules.all[0]!
  const lastSeen = new LastSeenRows()
  if (seen !== undefined) {
    const asked = newTransaction([rule], ['ada'], 1, START)
    const answer = new Answer(asked, [0, START, 0, 0, seen.remaining, seen.resetAt, START, 0, 0, 0])
    // Of 100 that all took while it looked, it took 50.
    lastSeen.record(answer, 0, 0, 0, 0)
    lastSeen.record(answer, 0, 0, 100, 50)
  }
  const time = { now: START_MS }
  const store = new LocalFallback({
    lastSeen,
    instances: new Instances(count),
    storeTime: (us) => us,
  })
  const limiter = createLimiter({ rules, store, clock: () => time.now })
  const admitted = async (most: number, user = 'ada') => {
    let count = 0
    while (count < most && (await limiter.check({ subject: { user } })).allowed) count++
    return count
  }
  return { rule, store, limiter, time, admitted }
}

describe('one of several instances', () => {
  it('starts with its part of what was used before', async () => {
    const seen = { remaining: 40, resetAt: START + 3_600_000_000 }
    const { admitted } = oneOf(2, '100/h fixed', seen)
    // Half of the limit, less half of the sixty that were used.
    expect(await admitted(100)).toBe(20)
  })

  it('starts with nothing of a window that is over', async () => {
    const { admitted, time } = oneOf(2, '100 per 10s fixed', {
      remaining: 40,
      resetAt: START + 10_000_000,
    })
    time.now += 10_000
    expect(await admitted(100)).toBe(50)
  })

  it('tells of no more than the limit holds, though its part was rounded up', async () => {
    const { rule, store, admitted } = oneOf(4, '3/d fixed')
    let some = 0
    for (let i = 0; i < 40; i++) {
      if ((await admitted(3, `u${i}`)) === 0) continue
      some++
      const asked = newTransaction([rule], [`u${i}`], 1, START)
      store.report(asked, (raises) => {
        expect(raises.map(({ amount }) => amount)).toEqual([3])
        return raises.map(() => 1)
      })
    }
    expect(some).toBeGreaterThan(0)
  })

  it('tells what it has used once, while that is not answered', async () => {
    const { rule, store, admitted } = oneOf(2, '100/d fixed')
    await admitted(10)
    let reports = 0
    const asked = newTransaction([rule], ['ada'], 1, START)
    for (let i = 0; i < 3; i++)
      store.report(asked, () => {
        reports++
        return new Promise(() => {})
      })
    expect(reports).toBe(1)
  })

  it('gives back what it took of its part of a bucket', async () => {
    const { limiter } = oneOf(4, '100/d')
    const taken = await limiter.check({ subject: { user: 'ada' }, cost: 5 })
    expect(await limiter.refund(taken)).toEqual({ requests: 5 })
  })

  it('is granted nothing: that is for the store', async () => {
    const { limiter } = oneOf(1, '100/d')
    const before = await limiter.check({ subject: { user: 'ada' }, cost: 5 })
    await limiter.refund({ subject: { user: 'ada' }, cost: 5 })
    expect(await limiter.peek({ subject: { user: 'ada' } })).toMatchObject({ used: before.used })
  })
})
