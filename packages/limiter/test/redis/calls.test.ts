/** How many calls Redis gets, and what they leave besides rows. */
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { LimitText } from '../../src/index.js'
import { ioredisOptions, redisStore } from '../../src/redis.js'
import { Look } from './look.js'
import { until } from './servers.js'

const ADA = { subject: { user: 'ada' } }

let look: Look
beforeAll(async () => {
  look = await Look.start()
})
afterEach(() => look.clear())
afterAll(() => look.stop())

describe('calls', () => {
  async function scriptCalls(
    checks: number,
    limits: LimitText[] = ['1000/s', '100/s exact'],
  ): Promise<number> {
    const limiter = look.limiter({ rule: { scope: 'user', limits } })
    await limiter.check(ADA)
    await look.forgetCalls()
    const asked = Array.from({ length: checks }, (_, i) =>
      limiter.check({ subject: { user: `user-${i % 7}` } }),
    )
    for (const { allowed, degraded } of await Promise.all(asked))
      expect({ allowed, degraded }).toEqual({ allowed: true, degraded: false })
    return look.callsOf('evalsha')
  }

  it.each([
    [1, 1],
    [2, 1],
    [64, 1],
    [65, 2],
    [200, 4],
  ])('of %i checks in one turn there are %i', async (checks, calls) => {
    expect(await scriptCalls(checks)).toBe(calls)
  })

  it('are more where a log is long, so that none keeps Redis for long', async () => {
    expect(await scriptCalls(64, ['10000/s exact'])).toBeGreaterThan(10)
  })

  it('survive that Redis forgets its scripts', async () => {
    const limiter = look.limiter({
      rule: { scope: 'user', limits: ['5/h', '5 concurrent for 60s'] },
    })
    const decision = await limiter.check({ ...ADA, holdId: 'a' })
    await look.redis.script('FLUSH')
    expect(await limiter.check({ ...ADA, holdId: 'b' })).toMatchObject({
      degraded: false,
      remaining: 3,
    })
    await look.redis.script('FLUSH')
    expect(await limiter.refund(decision)).toEqual({ requests: 1 })
    await look.redis.script('FLUSH')
    expect(await limiter.release(decision.hold!)).toBe(true)
    await look.redis.script('FLUSH')
    const many = await Promise.all(Array.from({ length: 100 }, () => limiter.peek(ADA)))
    expect(many.every(({ degraded }) => !degraded)).toBe(true)
  })

  it('send a script’s text only where Redis does not have it', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '5/h' } })
    await limiter.check(ADA)
    await limiter.refund(ADA)
    await look.forgetCalls()
    for (let i = 0; i < 5; i++) await limiter.check(ADA)
    expect([await look.callsOf('eval'), await look.callsOf('evalsha')]).toEqual([0, 5])
  })
})

describe('an idempotency record', () => {
  it('lives for 5 minutes, and only of what was allowed', async () => {
    const limiter = look.limiter({ rule: { scope: 'user', limits: '2/h' } })
    await limiter.check({ ...ADA, cost: 2, idempotencyKey: 'yes' })
    await limiter.check({ ...ADA, idempotencyKey: 'no' })
    const records = (await look.keys()).filter((key) => key.includes(':='))
    expect(records).toEqual(['sluice:{default|user|ada}:=yes'])
    const life = await look.redis.pttl(records[0]!)
    expect(life).toBeGreaterThan(299_000)
    expect(life).toBeLessThanOrEqual(300_000)
    await limiter.check({ ...ADA, cost: 2, idempotencyKey: 'yes' })
    expect(await look.redis.pttl(records[0]!)).toBeLessThanOrEqual(life)
  })
})

describe('an answer that is replayed', () => {
  const rules = { rule: { scope: 'user', limits: '9/h' } } as const

  it('has no receipt where another instance gave it', async () => {
    const [first, second] = [look.limiter(rules), look.limiter(rules)]
    const request = { ...ADA, idempotencyKey: 'k' }
    await first.check(request)
    const again = await second.check(request)
    expect(again.replayed).toBe(true)
    expect(await second.refund(again)).toEqual({})
  })

  it('is that of the record, also where this instance gave another one before', async () => {
    const [first, second] = [look.limiter(rules), look.limiter(rules)]
    const request = { ...ADA, idempotencyKey: 'k' }
    await first.check(request)
    look.now += 300_000
    const later = await second.check(request)
    expect(later).toMatchObject({ replayed: false, used: 2 })
    expect(await first.check(request)).toMatchObject({ replayed: true, used: 2 })
  })
})

describe('the count of instances', () => {
  it('has this one also before there are rules', async () => {
    const client = new Redis(look.redis.options.port!, '127.0.0.1', ioredisOptions)
    await redisStore(client, { prefix: 'early' }).beat()
    client.disconnect()
    expect(await look.redis.zcard('early:{default}:instances')).toBe(1)
  })

  it('has neither those that are gone nor those of a time ahead', async () => {
    const key = 'sluice:{default}:instances'
    const us = 1000 * look.now
    await look.redis.zadd(key, us - 8_000_000, 'gone', us - 6_000_000, 'there')
    await look.redis.zadd(key, us + 61_000_000, 'ahead')
    look.limiter({})
    await until('this one is counted', async () => (await look.redis.zcard(key)) < 3)
    expect(await look.redis.zrange(key, '0', '-1')).toEqual(['there', expect.any(String)])
  })

  it('is kept under one key that goes by itself', async () => {
    for (let i = 0; i < 3; i++) look.limiter({})
    const counted = () => look.redis.zcard('sluice:{default}:instances')
    await until('three instances to be counted', async () => (await counted()) === 3)
    const life = await look.redis.pttl('sluice:{default}:instances')
    expect(life).toBeGreaterThan(0)
    expect(life).toBeLessThanOrEqual(60_000)
  })
})
