/** A rule in shards answers as the whole rule would: what is left, what is given back, what is reset. */
import { describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../../src/decision-record.js'
import { MemoryStore, RuleSet } from '../../src/index.js'
import { Deadlines } from '../../src/stores/deadlines.js'
import type { LeasingStore } from '../../src/stores/leasing.js'
import { ShardRules } from '../../src/stores/sharded/sharded-rule.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import { newTransaction, type Transaction } from '../../src/stores/transaction.js'
import { printReceipt, readReceipt } from '../../src/transport.js'
import { seeded, type World, worldOf } from './over-memory.js'

const HOT = { scope: 'user', limits: '80/h', shards: 8 } as const
const ADA = { subject: { user: 'ada' } }

async function take({ limiters }: World, times: number, request: object = ADA): Promise<number> {
  let allowed = 0
  for (let i = 0; i < times; i++)
    if ((await limiters[i % limiters.length]!.check(request)).allowed) allowed++
  return allowed
}

const left = async ({ limiters }: World) => (await limiters[0]!.peek(ADA)).remaining

describe('a rule in shards', () => {
  it('admits exactly the limit, whoever asks, under its own name and numbers', async () => {
    const world = worldOf({ hot: HOT }, { instances: 3 })
    expect(await take(world, 300)).toBe(80)
    const denied = await world.limiters[0]!.check(ADA)
    expect(denied).toMatchObject({ allowed: false, rule: 'hot', limit: 80, remaining: 0 })
    expect(await take(world, 5, { subject: { user: 'bob' } })).toBe(5)
  })

  it('says what is left of all shards, and never more than the limit', async () => {
    const world = worldOf({ hot: HOT })
    for (let n = 1; n <= 80; n++) {
      const { allowed, remaining } = await world.limiters[0]!.check(ADA)
      expect([allowed, remaining]).toEqual([true, 80 - n])
    }
  })

  it('looks at every shard in a dry run, and takes nothing', async () => {
    const world = worldOf({ hot: HOT }, { instances: 2 })
    await take(world, 30)
    for (let n = 0; n < 20; n++) expect(await left(world)).toBe(50)
    await take(world, 50)
    const look = await world.limiters[1]!.peek(ADA)
    expect(look).toMatchObject({ allowed: false, remaining: 0, reason: 'limited' })
    const { retryAfterMs } = look as { retryAfterMs: number }
    world.now += retryAfterMs - 1
    expect((await world.limiters[1]!.peek(ADA)).allowed).toBe(false)
    world.now += 1
    expect((await world.limiters[1]!.peek(ADA)).allowed).toBe(true)
  })

  it('admits, alone, at the time that a denial names', async () => {
    const world = worldOf({ hot: HOT })
    await take(world, 77)
    let denials = 0
    for (let n = 0; n < 200; n++) {
      world.now += n % 7
      const decision = await world.limiters[0]!.check(ADA)
      if (decision.allowed) continue
      denials++
      world.now += decision.retryAfterMs!
      expect((await world.limiters[0]!.check(ADA)).allowed).toBe(true)
    }
    expect(denials).toBeGreaterThan(10)
  })

  it('gives a take back to the shard that it was taken from, also on another instance by text', async () => {
    const world = worldOf({ hot: HOT }, { instances: 2 })
    const [one, two] = world.limiters as [World['limiters'][0], World['limiters'][0]]
    const texts: string[] = []
    for (let n = 0; n < 80; n++)
      texts.push(printReceipt((await one.check(ADA)) as unknown as DecisionRecord)!)
    expect(await left(world)).toBe(0)
    for (const [n, text] of texts.entries()) {
      expect(await two.refund(readReceipt(text, two.rules))).toEqual({ requests: 1 })
      expect(await left(world)).toBe(n + 1)
    }
    // Once is once: every shard is full.
    expect(await two.refund(readReceipt(texts[0]!, two.rules))).toEqual({ requests: 0 })
    expect(await take(world, 200)).toBe(80)
  })

  it('is denied after three shards at most, by an instance that knows nothing of them', async () => {
    const world = worldOf({ hot: HOT }, { instances: 2 })
    for (let n = 0; n < 80; n++) expect((await world.limiters[0]!.check(ADA)).allowed).toBe(true)
    const before = world.asks
    expect((await world.limiters[1]!.check(ADA)).allowed).toBe(false)
    expect(world.asks - before).toBe(3)
  })

  it('never admits what only some shards hold, and says so to those who look', async () => {
    // Seven shards hold 10, one holds 11.
    const world = worldOf({ hot: { ...HOT, limits: '81/h' } })
    const [limiter] = world.limiters as [World['limiters'][0]]
    const never = { allowed: false, reason: 'too_expensive' }
    expect(await limiter.peek({ ...ADA, cost: 11 })).toMatchObject(never)
    expect(await limiter.check({ ...ADA, cost: 11 })).toMatchObject(never)
    expect(await limiter.peek({ ...ADA, cost: 10 })).toMatchObject({ allowed: true })
  })

  it('gives nothing back to other shards than there were', async () => {
    const world = worldOf({ hot: HOT })
    for (const shards of [1, 2, 4, 16, 40]) {
      const decisions = []
      for (let n = 0; n < 16; n++) decisions.push(await world.limiters[0]!.check(ADA))
      world.limiters[0]!.setRules({ rules: { hot: { ...HOT, shards } } })
      await take(world, 3 * shards)
      for (const decision of decisions)
        expect(await world.limiters[0]!.refund(decision)).toEqual({ requests: 0 })
      world.limiters[0]!.setRules({ rules: { hot: HOT } })
      await world.limiters[0]!.reset(ADA.subject)
    }
  })

  it('is reset as one row, which changes by one', async () => {
    const store = new ShardedStore(Object.assign(new MemoryStore(), { lease() {} }), {
      timers: new Deadlines(),
      random: seeded(1),
    })
    const rules = RuleSet.compile({ rules: { hot: HOT } })
    const rule = rules.all[0]!
    const now = 1_790_000_000_000_000
    for (let i = 0; i < 40; i++) await store.decide(newTransaction([rule], ['ada'], 1, now))
    const reset = { kind: 'reset', family: rule.family, value: 'ada' } as const
    const moment = { now, deadline: Number.POSITIVE_INFINITY }
    expect(await store.change([reset], moment)).toEqual([1])
    expect(await store.change([reset], moment)).toEqual([0])
  })

  it('is one row: reset gives back all shards and counts as one', async () => {
    const world = worldOf({ hot: HOT, cold: { scope: 'org', limits: '5/h' } })
    const subject = { user: 'ada', org: 'acme' }
    await take(world, 60)
    await world.limiters[0]!.check({ subject: { org: 'acme' } })
    expect(await world.limiters[0]!.reset(subject)).toBe(2)
    expect(await world.limiters[0]!.reset(subject)).toBe(0)
    expect(await take(world, 200)).toBe(80)
  })

  it('is granted what was used, emptiest shards first, and charged into debt', async () => {
    const world = worldOf({ hot: HOT })
    const [limiter] = world.limiters as [World['limiters'][0]]
    await take(world, 80)
    expect(await limiter.refund({ ...ADA, cost: 30 })).toEqual({ requests: 30 })
    expect(await left(world)).toBe(30)
    expect(await limiter.refund({ ...ADA, cost: 79 })).toEqual({ requests: 50 })
    expect(await left(world)).toBe(80)
    const reservation = await limiter.reserve({ ...ADA, cost: 2 })
    expect(await reservation.settle(70)).toEqual({ givenBack: {}, taken: { requests: 68 } })
    expect(await left(world)).toBe(10)
    const second = await limiter.reserve({ ...ADA, cost: 2 })
    expect(await second.settle(20)).toMatchObject({ taken: { requests: 18 } })
    expect(await left(world)).toBe(0)
    // 10 of them are debt: that much later there is still nothing.
    world.now += (10 * 3_600_000) / 80
    expect(await left(world)).toBeLessThanOrEqual(9)
  })

  it('says what is used, and more than the limit where it owes', async () => {
    const world = worldOf({ hot: HOT }, { instances: 2 })
    const [limiter, other] = world.limiters as [World['limiters'][0], World['limiters'][0]]
    for (let n = 1; n <= 30; n++) expect((await limiter.check(ADA)).used).toBe(n)
    const reservation = await limiter.reserve({ ...ADA, cost: 2 })
    await reservation.settle(90)
    const owing = { allowed: false, limit: 80, used: 120, remaining: 0 }
    for (const each of [limiter, other]) expect(await each.peek(ADA)).toMatchObject(owing)
    // Who has looked knows it of all shards.
    for (const each of [limiter, other]) expect(await each.check(ADA)).toMatchObject(owing)
    // A token of one shard takes six minutes; of the debt 10 are repaid in an hour.
    world.now += 359_000
    expect((await other.peek(ADA)).used).toBe(120)
    expect((await other.check(ADA)).used).toBe(120)
    world.now += 1000
    expect(await other.peek(ADA)).toMatchObject({ allowed: true, used: 112, remaining: 7 })
  })

  it('counts nothing as used that is only being asked for', async () => {
    const slowly = (inner: LeasingStore) => ({
      ...inner,
      decide: async (transaction: Transaction) => {
        const answer = await inner.decide(transaction)
        await new Promise((resolve) => setTimeout(resolve, transaction.rules[0]!.family.shard))
        return answer
      },
    })
    const over = (inner: LeasingStore) =>
      new ShardedStore(slowly(inner), { timers: new Deadlines(), random: seeded(1) })
    const world = worldOf({ hot: HOT }, { over })
    await take(world, 76)
    const asked = Array.from({ length: 40 }, () => world.limiters[0]!.check(ADA))
    const answers = await Promise.all(asked)
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(4)
    for (const { used, remaining } of answers) expect(used! + remaining!).toBe(80)
  })

  it('counts what one shard owes while others have room', async () => {
    const world = worldOf({ hot: HOT })
    const sharded = new ShardRules().of(world.limiters[0]!.rules.named('hot')!)!
    const rule = sharded.shard(3)
    const owing = { rule, limit: rule.limits[0]!, value: 'ada', amount: 25 }
    world.store.change([{ kind: 'charge', ...owing }], { now: world.now * 1000, deadline: 0 })
    const [limiter] = world.limiters as [World['limiters'][0]]
    expect(await limiter.peek(ADA)).toMatchObject({ used: 25, remaining: 70 })
    const first = await limiter.check(ADA)
    expect(first).toMatchObject({ allowed: true, used: 26, remaining: 69 })
    expect(first.limits).toMatchObject([{ used: 26, remaining: 69 }])
    for (let i = 1; i <= 69; i++)
      expect(await limiter.check(ADA)).toMatchObject({ used: 26 + i, remaining: 69 - i })
    expect(await limiter.peek(ADA)).toMatchObject({ allowed: false, used: 95, remaining: 0 })
    // A shard is granted no more than it holds, whatever it owes.
    expect(await limiter.refund({ ...ADA, cost: 40 })).toEqual({ requests: 40 })
    expect(await left(world)).toBe(30)
  })

  it('is granted to its emptiest shards first', async () => {
    const world = worldOf({ hot: HOT })
    const sharded = new ShardRules().of(world.limiters[0]!.rules.named('hot')!)!
    const change = (kind: 'charge' | 'grant', three: number, five: number) => {
      const operations = [[3, three] as const, [5, five] as const].map(([shard, amount]) => {
        const rule = sharded.shard(shard)
        return { kind, rule, limit: rule.limits[0]!, value: 'ada', amount }
      })
      return world.store.change(operations, { now: world.now * 1000, deadline: 0 })
    }
    change('charge', 10, 4)
    expect(await world.limiters[0]!.refund({ ...ADA, cost: 8 })).toEqual({ requests: 8 })
    expect(change('grant', 10, 10)).toEqual([2, 4])
  })

  it('answers an idempotency key again as the whole rule, and counts it once', async () => {
    const world = worldOf({ hot: HOT })
    const [limiter] = world.limiters as [World['limiters'][0]]
    const request = { ...ADA, idempotencyKey: 'k' }
    const first = await limiter.check(request)
    await take(world, 79)
    for (let n = 0; n < 20; n++) {
      const again = await limiter.check(request)
      expect(again).toMatchObject({ allowed: true, replayed: true, remaining: 79, limit: 80 })
    }
    expect(await limiter.refund(await limiter.check(request))).toEqual({ requests: 1 })
    expect(await limiter.refund(first)).toEqual({})
    expect(await left(world)).toBe(1)
    await expect(limiter.check({ ...request, cost: 2 })).rejects.toThrow('another request')
  })

  it('gives back what a first answer took that came too late, from the shard that it was taken from', async () => {
    let isLate = true
    const world = worldOf(
      { hot: HOT },
      {
        over: (inner, instance) => {
          const late: LeasingStore = {
            ...inner,
            decide: (transaction) => {
              const answer = inner.decide(transaction)
              if (!isLate) return answer
              isLate = false
              throw new Error('not in time')
            },
          }
          return new ShardedStore(late, { timers: new Deadlines(), random: seeded(instance) })
        },
      },
    )
    const [limiter] = world.limiters as [World['limiters'][0]]
    const request = { ...ADA, idempotencyKey: 'k' }
    await expect(limiter.check(request)).rejects.toThrow('not in time')
    expect(await left(world)).toBe(79)
    const again = await limiter.check(request)
    expect(again).toMatchObject({ allowed: true, replayed: true })
    expect(await limiter.refund(again)).toEqual({ requests: 1 })
    expect(await left(world)).toBe(80)
  })

  it('keeps what was used when its numbers change', async () => {
    const world = worldOf({ hot: HOT })
    await take(world, 60)
    world.limiters[0]!.setRules({ rules: { hot: { ...HOT, limits: '160/h' } } })
    expect(await left(world)).toBe(100)
    world.limiters[0]!.setRules({ rules: { hot: HOT } })
    expect(await left(world)).toBe(20)
  })

  it('converts from the time at which its numbers took effect, not from when it is next asked', async () => {
    const world = worldOf({ hot: HOT })
    await take(world, 80)
    world.now += 1_800_000
    world.limiters[0]!.setRules({ rules: { hot: { ...HOT, limits: '8/h burst 80' } } })
    world.now += 3_600_000
    // Half an hour at the old rate, and one at the new.
    expect(await left(world)).toBeGreaterThanOrEqual(40)
    expect(await left(world)).toBeLessThanOrEqual(48)
  })

  it('has as many counters for a tier or an override, which share them', async () => {
    const world = worldOf({ hot: { ...HOT, tiers: { pro: '160/h' } } }, {}, {
      overrides: [{ scope: 'user', value: 'bob', rule: 'hot', limits: '800/h' }],
    } as never)
    await take(world, 50)
    const pro = await world.limiters[0]!.peek({ ...ADA, tier: 'pro' })
    expect([pro.limit, pro.remaining]).toEqual([160, 110])
    expect(await take(world, 2000, { subject: { user: 'bob' } })).toBe(800)
  })
})

describe('several rules', () => {
  it('are taken from all or none, and only the shards that denied are changed', async () => {
    const world = worldOf({
      hot: HOT,
      team: { scope: 'org', limits: '40/h', shards: 4 },
      day: { scope: 'api_key', limits: '100/h' },
    })
    const request = { subject: { user: 'ada', org: 'acme', api_key: 'k' } }
    expect(await take(world, 200, request)).toBe(40)
    const { limits } = await world.limiters[0]!.peek(request)
    expect(limits.map(({ rule, remaining }) => [rule, remaining])).toEqual([
      ['hot', 40],
      ['team', 0],
      ['day', 60],
    ])
  })

  it('deny for a rule that is not split without asking for more shards', async () => {
    const world = worldOf({ hot: HOT, day: { scope: 'api_key', limits: '1/h' } })
    const request = { subject: { user: 'ada', api_key: 'k' } }
    expect(await take(world, 10, request)).toBe(1)
    expect(world.asks).toBe(10)
  })

  it('report a shadow rule in shards, and never deny for it', async () => {
    const world = worldOf({ hot: { ...HOT, shadow: true } })
    expect(await take(world, 100)).toBe(100)
    const { limits } = await world.limiters[0]!.peek(ADA)
    expect(limits).toMatchObject([{ rule: 'hot', shadow: true, remaining: 0 }])
  })
})
