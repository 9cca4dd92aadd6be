/** While Redis is away every rule does what its failure mode says, and every answer says that it is degraded. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Limiter } from '../../src/index.js'
import { limiterOver, type Rules, START } from './over-redis.js'
import { RedisServer } from './servers.js'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server.stop())

/** A limiter whose Redis goes away after `before`. */
async function away(rules: Rules, before?: (limiter: Limiter) => Promise<void>) {
  const clock = { now: START }
  const over = await limiterOver(server, rules, clock, { prefix: `t${Math.random()}` })
  await before?.(over.limiter)
  over.client.disconnect()
  return { ...over, clock }
}

const subject = { user: 'ada' }

describe('without Redis', () => {
  it('a closed rule refuses: 503, why, and when to come back', async () => {
    const { limiter } = await away({ a: { scope: 'user', limits: '10/s', failure_mode: 'closed' } })
    const decision = await limiter.check({ subject })
    expect(decision).toMatchObject({
      allowed: false,
      degraded: true,
      degradedReason: 'store_unreachable',
      reason: 'store_down',
      rule: 'a',
      limit: 10,
      used: null,
      remaining: null,
      retryAfterMs: 1000,
      state: 'throttled',
      receipt: null,
    })
    if (decision.allowed) return
    expect(String(decision)).toBe('refused by a (10/s): the store cannot be asked')
    const response = decision.toResponse()
    expect(response.status).toBe(503)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'retry-after': '1',
      'x-ratelimit-degraded': 'true',
      'x-ratelimit-degraded-reason': 'store_unreachable',
      'x-ratelimit-blocking-rule': 'a',
    })
    expect(response.headers.has('x-ratelimit-remaining')).toBe(false)
    expect(await response.json()).toMatchObject({ reason: 'store_down', retry_after: 1 })
  })

  it('an open rule lets through what it cannot count', async () => {
    const { limiter } = await away({ a: { scope: 'user', limits: '1/s', failure_mode: 'open' } })
    for (let i = 0; i < 3; i++) {
      const decision = await limiter.check({ subject })
      expect(decision).toMatchObject({ allowed: true, degraded: true, rule: 'a', remaining: null })
      expect(decision.used).toBeNull()
      expect(decision.limits).toMatchObject([
        { allowed: true, used: null, remaining: null, limit: 1 },
      ])
      expect(decision.toHeaders()).toEqual({
        'X-RateLimit-Degraded': 'true',
        'X-RateLimit-Degraded-Reason': 'store_unreachable',
      })
    }
  })

  it('a local rule counts in this process, all limits or none', async () => {
    const { limiter } = await away({ a: { scope: 'user', limits: ['3/s', '2/min fixed'] } })
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await limiter.check({ subject }))
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect(answers[2]).toMatchObject({ degraded: true, reason: 'limited', rule: 'a' })
    expect(answers[2]!.limits.map(({ remaining }) => remaining)).toEqual([1, 0])
    expect(answers[2]!.limits.map(({ used }) => used)).toEqual([2, 2])
    expect(answers[0]!.toHeaders()).toMatchObject({
      'X-RateLimit-Remaining': '1',
      'X-RateLimit-Degraded': 'true',
    })
  })

  it('a closed rule refuses for the others too, and they are charged nothing', async () => {
    const { limiter } = await away({
      a: { scope: 'user', limits: '2/min' },
      b: { scope: 'ip', limits: '5/min', failure_mode: 'closed' },
    })
    for (let i = 0; i < 5; i++)
      expect(await limiter.check({ subject: { user: 'ada', ip: '1.1.1.1' } })).toMatchObject({
        reason: 'store_down',
        rule: 'b',
      })
    expect(await limiter.check({ subject })).toMatchObject({ allowed: true, remaining: 1 })
  })

  it('a shadow rule refuses nobody, whatever its mode', async () => {
    const { limiter } = await away({
      a: { scope: 'user', limits: '1/min', failure_mode: 'closed', shadow: true },
      b: { scope: 'user', limits: '1/min', failure_mode: 'local', shadow: true, additive: true },
    })
    for (let i = 0; i < 3; i++) expect((await limiter.check({ subject })).allowed).toBe(true)
  })

  it('local takes are given back, held, renewed and released where they were taken', async () => {
    const { limiter } = await away({
      a: { scope: 'user', limits: '2/min fixed' },
      h: { scope: 'org', limits: '1 concurrent for 30s' },
    })
    const first = await limiter.check({ subject })
    await limiter.check({ subject })
    expect((await limiter.check({ subject })).allowed).toBe(false)
    expect(await limiter.refund(first)).toEqual({ requests: 1 })
    expect(await limiter.refund(first)).toEqual({})
    expect((await limiter.check({ subject })).allowed).toBe(true)

    const hold = await limiter.hold({ subject: { org: 'o' } })
    expect(hold).toMatchObject({ allowed: true, degraded: true })
    expect((await limiter.hold({ subject: { org: 'o' } })).allowed).toBe(false)
    expect(await limiter.renew(hold.hold!)).toBe(START + 30_000)
    expect(await hold.release()).toBe(true)
    expect((await limiter.hold({ subject: { org: 'o' } })).allowed).toBe(true)
  })

  it('an idempotency key is answered again from here', async () => {
    const { limiter } = await away({ a: { scope: 'user', limits: '2/min' } })
    const request = { subject, idempotencyKey: 'k' }
    expect(await limiter.check(request)).toMatchObject({ replayed: false, remaining: 1 })
    expect(await limiter.check(request)).toMatchObject({ replayed: true, remaining: 1 })
    await expect(limiter.check({ ...request, cost: 2 })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })

  it('nothing rejects: what cannot be done is said', async () => {
    let taken!: { refund: unknown; hold: unknown; reservation: unknown }
    const rules = {
      a: { scope: 'user', limits: '5/min' },
      h: { scope: 'org', limits: '2 concurrent for 30s' },
    } as const
    const { limiter } = await away(rules, async (before) => {
      taken = {
        refund: await before.check({ subject }),
        hold: (await before.check({ subject: { org: 'o' } })).hold,
        reservation: await before.reserve({ subject, cost: 2 }),
      }
    })
    expect(await limiter.refund(taken.refund as never)).toBeNull()
    expect(await (taken.reservation as { settle(n: number): unknown }).settle(3)).toBeNull()
    expect(await limiter.reset(subject)).toBeNull()
    expect(await limiter.renew(taken.hold as never)).toBe(START + 30_000)
    expect(await limiter.release(taken.hold as never)).toBeNull()
    expect(await limiter.refund({ subject })).toBeNull()
  })

  it('after five failures nobody waits for Redis any more', async () => {
    const { limiter, store } = await away({ a: { scope: 'user', limits: '100/s' } })
    for (let i = 0; i < 5; i++) await limiter.check({ subject })
    expect(store.health.breaker).toBe('open')
    const answer = limiter.decide({ subject })
    expect(answer).not.toBeInstanceOf(Promise)
    expect(await answer).toMatchObject({ allowed: true, degradedReason: 'breaker_open' })
  })
})

describe('a key that holds something else', () => {
  it('fails whoever asks for it, and nobody who travels in the same call', async () => {
    const clock = { now: START }
    const over = await limiterOver(server, { a: { scope: 'user', limits: '5/min' } }, clock, {
      prefix: 'poisoned',
    })
    const { limiter, client, store } = over
    await client.lpush('poisoned:{default|user|list}:a', 'x')
    await client.set('poisoned:{default|user|short}:a', '1t60000000=5;-')
    const users = ['ada', 'list', 'bob', 'short', 'eve']
    for (const left of [4, 3]) {
      const answers = await Promise.all(users.map((user) => limiter.check({ subject: { user } })))
      expect(answers.map(({ degradedReason }) => degradedReason)).toEqual([
        null,
        'store_refused',
        null,
        'store_refused',
        null,
      ])
      expect(answers.map(({ remaining }) => remaining)).toEqual(Array(5).fill(left))
    }
    expect(store.health.breaker).toBe('closed')
    await over.close()
  })
})
