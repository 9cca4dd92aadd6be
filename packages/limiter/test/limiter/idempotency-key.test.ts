/** The same key and request: the first allowed answer again, counted once. */
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'
import { ada, limited, START } from './limited.js'

describe('an idempotency key', () => {
  it('gives the first allowed answer again and counts once', async () => {
    const { limiter, time } = limited()
    const request = { ...ada, idempotencyKey: 'k1' }
    const first = await limiter.check(request)
    time.now += 1000
    const again = await limiter.check(request)
    expect(again.replayed).toBe(true)
    expect(again.limits).toEqual(first.limits)
    expect((await limiter.peek(ada)).remaining).toBe(2)
    time.now += 299_000
    expect((await limiter.check(request)).replayed).toBe(false)
  })

  it('stores no denial', async () => {
    const { limiter, time } = limited()
    await limiter.check({ ...ada, cost: 3 })
    const request = { ...ada, idempotencyKey: 'k2' }
    expect((await limiter.check(request)).allowed).toBe(false)
    time.now += 4000
    expect(await limiter.check(request)).toMatchObject({ allowed: true, replayed: false })
  })

  it('refuses another request under the same key, and is nobody else’s', async () => {
    const { limiter } = limited()
    await limiter.check({ ...ada, idempotencyKey: 'k3' })
    await expect(limiter.check({ ...ada, cost: 2, idempotencyKey: 'k3' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
    const bob = await limiter.check({
      subject: { user: 'bob' },
      resource: '/hello',
      idempotencyKey: 'k3',
    })
    expect(bob.replayed).toBe(false)
  })

  it('gives the answer as it was, whatever the rules are by then', async () => {
    const { limiter } = limited()
    const request = { ...ada, idempotencyKey: 'k4' }
    const first = await limiter.check(request)
    limiter.setRules({ rules: { hello: { scope: 'user', limits: ['1/h', '2/h fixed'] } } })
    const again = await limiter.check(request)
    expect(again.limits).toEqual(first.limits)
  })

  it('is remembered within bounds', async () => {
    const store = memoryStore({ maxIdempotencyKeys: 100 })
    const limiter = createLimiter('1000000/s', { store, clock: () => START })
    for (let i = 0; i < 1000; i++)
      await limiter.check({ subject: { key: 'a' }, idempotencyKey: `k${i}` })
    expect((await limiter.check({ subject: { key: 'a' }, idempotencyKey: 'k999' })).replayed).toBe(
      true,
    )
    expect((await limiter.check({ subject: { key: 'a' }, idempotencyKey: 'k1' })).replayed).toBe(
      false,
    )
  })

  it('is of the same request in whichever order its subject is written', async () => {
    const limiter = createLimiter({
      rules: { o: { scope: 'org', limits: '9/h' }, u: { scope: 'user', limits: '9/h' } },
      clock: () => START,
    })
    await limiter.check({ subject: { org: 'acme', user: 'ada' }, idempotencyKey: 'k' })
    const again = await limiter.check({
      subject: { user: 'ada', org: 'acme' },
      idempotencyKey: 'k',
    })
    expect(again.replayed).toBe(true)
  })

  it('depends on the request alone, not on the rules that apply', async () => {
    const rules = { u: { scope: 'user', limits: '9/h' } } as const
    const limiter = createLimiter({ scopes: ['org'], rules, clock: () => START })
    const request = { subject: { user: 'ada', org: 'acme' }, idempotencyKey: 'k' } as const
    await limiter.check(request)
    limiter.setRules({ rules: { o: { scope: 'org', limits: '9/h' } } })
    expect((await limiter.check(request)).replayed).toBe(true)
  })
})
