/** What is in Redis: how long it lives, and what writes it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { LimitText } from '../../src/index.js'
import { Look } from './look.js'

const ADA = { subject: { user: 'ada' } }
const FIVES = [
  '5 per 10s',
  '7 per 10s smooth 5',
  '5 per 10s queue 4',
  '5 per 10s fixed',
  '5 per 10s exact',
  '5 per 10s sliding',
  '5 per calendar day in Asia/Tokyo',
  '5 concurrent for 10s',
] as const

let look: Look
beforeAll(async () => {
  look = await Look.start()
})
afterEach(() => look.clear())
afterAll(() => look.stop())

describe('a row', () => {
  it.each(FIVES)('of %s lives until it is empty, and a minute or two', async (limits) => {
    const limiter = look.limiter({ rule: { scope: 'user', limits } })
    for (const costs of [1, 2, 2]) {
      const { limits: said } = await limiter.check({ ...ADA, cost: costs })
      const toEmptyMs = said[0]!.resetAtMs - look.now
      for (const key of await look.keys()) {
        const life = await look.redis.pttl(key)
        expect(life).toBeGreaterThan(toEmptyMs + 60_000 - 1000)
        expect(life).toBeLessThanOrEqual(toEmptyMs + 120_001)
      }
    }
  })

  it.each(FIVES.filter((limits) => !limits.includes('concurrent')))(
    'of %s that is written again and again never goes within a minute after it is empty',
    async (limits) => {
      const limiter = look.limiter({ rule: { scope: 'user', limits } })
      for (let i = 0; i < 60; i++) {
        const { allowed, limits: said } = await limiter.check(ADA)
        expect(allowed).toBe(true)
        const [expires] = await look.numbersOf('sluice:{default|user|ada}:rule')
        expect(expires! / 1000).toBeGreaterThanOrEqual(said[0]!.resetAtMs + 60_000 - 1)
        look.now += limits.includes('calendar') ? 86_400_000 : 3000
      }
    },
  )

  it.each([
    ['buckets', []],
    ['buckets and windows', ['1M per 10s fixed']],
  ] as const)(
    'of %s lives until it is empty for the slowest variant of its rule',
    async (_name, more) => {
      const limiter = look.limiter({
        rule: {
          scope: 'user',
          limits: ['100 per 100s', ...more],
          tiers: { slow: ['1 per 100s burst 100', ...more] },
        },
      })
      for (let i = 0; i < 5; i++) await limiter.check(ADA)
      const [key] = await look.keys()
      expect(await look.redis.pttl(key!)).toBeGreaterThan(500_000 + 60_000)
      expect((await limiter.peek({ ...ADA, tier: 'slow' })).remaining).toBe(95)
    },
  )

  it('lives longer after a denial by slower numbers than it was written under', async () => {
    const fast = look.limiter({ rule: { scope: 'user', limits: '100 per 100s' } })
    await fast.check({ ...ADA, cost: 100 })
    const [key] = await look.keys()
    expect(await look.redis.pttl(key!)).toBeLessThan(100_000 + 121_000)
    const slow = look.limiter({ rule: { scope: 'user', limits: '1 per 100s burst 100' } })
    look.now += 1000
    expect((await slow.check(ADA)).allowed).toBe(false)
    expect(await look.redis.pttl(key!)).toBeGreaterThan(9_000_000)
  })

  it('that is given back to, reset, charged or renewed keeps a time to live', async () => {
    const limiter = look.limiter({
      rule: { scope: 'user', limits: FIVES },
      org: { scope: 'org', limits: ['9/h', '9/h exact'] },
    })
    const request = { subject: { user: 'ada', org: 'acme' } }
    const lives = async () => {
      for (const key of await look.redis.keys('*'))
        expect(await look.redis.pttl(key)).toBeGreaterThan(0)
    }
    const reserved = await limiter.reserve({ ...request, holdId: 'a', idempotencyKey: 'k' })
    await lives()
    await reserved.settle(30)
    await lives()
    await limiter.refund({ ...request, cost: 4 })
    await lives()
    await limiter.renew({ ...request, holdId: 'a' })
    await lives()
    await limiter.refund(reserved)
    await limiter.release({ ...request, holdId: 'a' })
    await lives()
    await limiter.reset(request.subject)
    await lives()
    await limiter.refund({ subject: { user: 'nobody', org: 'none' } })
    await limiter.reset({ user: 'nobody' })
    await lives()
  })

  it.each([['100/min'], ['100/min', '1000 per 10s fixed']] as const)(
    'of %s and %s lives as long as a slower tier may find it used',
    async (...limits) => {
      const slow = ['1/min burst 100', ...limits.slice(1)] as LimitText[]
      const limiter = look.limiter({
        rule: { scope: 'user', limits: [...limits] as LimitText[], tiers: { slow } },
      })
      await limiter.check({ ...ADA, cost: 50 })
      // By the slow tier it takes 50 minutes until it is empty.
      for (const key of await look.keys())
        expect(await look.redis.pttl(key)).toBeGreaterThan(50 * 60_000)
    },
  )

  it('that was created anew gives nothing back for what was taken before', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '9/h fixed' } })
    const taken = await limiter.check({ ...ADA, cost: 5 })
    await look.redis.flushall()
    look.now += 1000
    await limiter.check({ ...ADA, cost: 9 })
    await limiter.refund(taken)
    expect((await limiter.peek(ADA)).remaining).toBe(0)
  })

  it('keeps what an instance counts that has other rules for a while', async () => {
    const [older, newer] = [
      look.limiter({ rule: { scope: 'user', limits: '9/h fixed' } }),
      look.limiter({ rule: { scope: 'user', limits: ['9/h fixed', '9/d fixed'] } }),
    ]
    await newer.check({ ...ADA, cost: 5 })
    await older.check(ADA)
    const { limits } = await newer.peek(ADA)
    expect(limits.map(({ remaining }) => remaining)).toEqual([3, 4])
  })

  it('that a denial finds under slower rules lives until it is empty by these', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '100/min' } })
    await limiter.check({ ...ADA, cost: 100 })
    limiter.setRules({ rules: { rule: { scope: 'user', limits: '1/min burst 100' } } })
    expect((await limiter.check({ ...ADA, cost: 100 })).allowed).toBe(false)
    for (const key of await look.keys())
      expect(await look.redis.pttl(key)).toBeGreaterThan(99 * 60_000)
  })

  it('of a busy bucket is given a new time to live only now and then', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '100000/s' } })
    await limiter.check(ADA)
    await look.forgetCalls()
    for (let i = 0; i < 200; i++) {
      look.now += 100
      await limiter.check(ADA)
    }
    expect(await look.callsOf('set')).toBe(0)
    expect(await look.callsOf('setrange')).toBe(200)
    look.now += 60_000
    await limiter.check(ADA)
    expect(await look.callsOf('set')).toBe(1)
  })

  it('holds all limits of a rule for a subject, and only logs and holds keep something beside', async () => {
    const limiter = look.limiter({
      rule: { scope: 'user', limits: FIVES },
      org: { scope: 'org', limits: ['1/s', '2/h'] },
    })
    await limiter.check({ subject: { user: 'ada', org: 'acme' } })
    expect(await look.keys()).toEqual([
      'sluice:{default|org|acme}:org',
      'sluice:{default|user|ada}:rule',
      'sluice:{default|user|ada}:rule:c10000000',
      'sluice:{default|user|ada}:rule:e10000000',
    ])
  })

  it('keeps numbers of more than 14 digits as they are', async () => {
    look.now += 0.789
    const at = Math.round(look.now * 1000)
    const limiter = look.limiter({
      rule: { scope: 'user', limits: ['1000/s', '5 concurrent for 10s'] },
    })
    await limiter.check({ ...ADA, holdId: 'h' })
    look.now += 0.001
    await limiter.check({ ...ADA, holdId: 'i' })
    const key = 'sluice:{default|user|ada}:rule'
    const [, birth, last, taken, tat] = await look.numbersOf(key)
    expect([birth, last, taken, tat]).toEqual([at, at + 1, 2, at + 2000])
    const holds = await look.redis.zrange(`${key}:c10000000`, '0', '-1', 'WITHSCORES')
    expect(holds).toEqual(['h/1', `${at + 10_000_000}`, 'i/1', `${at + 10_000_001}`])
  })

  it('keeps debts and sums that no text of 14 digits holds', async () => {
    const limiter = look.limiter({
      rule: { scope: 'user', unit: 'tokens', limits: '1000000000 per 366d' },
    })
    const request = { ...ADA, costs: { tokens: 999_999_999 } }
    const reserved = await limiter.reserve(request)
    expect(await reserved.settle({ tokens: 1_000_000_000 })).toMatchObject({ taken: { tokens: 1 } })
    expect((await limiter.peek({ ...ADA, costs: { tokens: 1 } })).remaining).toBe(0)
    for (let i = 0; i < 20; i++) {
      await limiter.reset({ user: 'ada' })
      expect((await limiter.check(request)).remaining).toBe(1)
    }
    const [, , , taken] = await look.numbersOf('sluice:{default|user|ada}:rule')
    expect(taken).toBeGreaterThanOrEqual(20 * 999_999_999)
  })

  it('that lost its log, or a log that lost its row, starts anew', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '50 per 10s exact' } })
    const key = 'sluice:{default|user|ada}:rule'
    for (const lost of [key, `${key}:e10000000`]) {
      for (let i = 0; i < 50; i++) await limiter.check(ADA)
      expect((await limiter.check(ADA)).allowed).toBe(false)
      await look.redis.del(lost)
      expect(await limiter.check(ADA)).toMatchObject({ degraded: false, remaining: 49 })
      await limiter.reset({ user: 'ada' })
    }
  })
})

describe('a denial and a dry run', () => {
  const rules = {
    rule: { scope: 'user', limits: [...FIVES, '5/h', '100/d exact'] },
    org: { scope: 'org', limits: ['9/h', '5/h exact', '9 concurrent for 1h'] },
    trial: { scope: 'user', shadow: true, additive: true, limits: ['3/h', '9/h sliding'] },
  } as const
  const request = { subject: { user: 'ada', org: 'acme' } }

  it('change not a byte, nor any time to live', async () => {
    const limiter = look.limiter(rules)
    for (let i = 0; i < 5; i++) await limiter.check({ ...request, holdId: `h${i}` })
    const before = await look.everything()
    for (const ms of [0, 500, 20_000, 30_000]) {
      look.now += ms
      for (const cost of [1, 2, 6, 100])
        expect((await limiter.check({ ...request, cost, holdId: 'x' })).allowed).toBe(false)
      await limiter.peek({ ...request, holdId: 'h0' })
      await limiter.peek({ subject: { user: 'new', org: 'new' } })
      await limiter.check({ ...request, holdId: 'x', idempotencyKey: 'k' })
      await limiter.explain(request)
      expect(await look.everything()).toEqual(before)
    }
    look.now -= 50_000
    await limiter.check({ ...request, holdId: 'x' })
    expect(await look.everything()).toEqual(before)
  })

  it('change not a byte where all limits are buckets', async () => {
    const limiter = look.limiter({
      rule: { scope: 'user', limits: ['5/h', '7 per 10s burst 9'] },
      org: { scope: 'org', limits: '100/h' },
    })
    for (let i = 0; i < 3; i++) await limiter.check(request)
    const before = await look.everything()
    look.now += 500
    expect((await limiter.check({ ...request, cost: 3 })).allowed).toBe(false)
    expect((await limiter.check({ ...request, dryRun: true })).allowed).toBe(true)
    expect((await limiter.peek(request)).allowed).toBe(true)
    expect(await look.everything()).toEqual(before)
  })

  it('leave nothing behind of a subject that never passed', async () => {
    const limiter = look.limiter(rules)
    await limiter.check({ ...request, cost: 6, idempotencyKey: 'k' })
    await limiter.peek(request)
    expect(await look.keys()).toEqual([])
  })

  it('take turns with takes in one call, and still write nothing', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: ['2/h', '2/h exact'] } })
    await Promise.all(Array.from({ length: 10 }, () => limiter.check(ADA)))
    const before = await look.everything()
    await Promise.all(Array.from({ length: 10 }, () => limiter.check(ADA)))
    expect(await look.everything()).toEqual(before)
  })
})
