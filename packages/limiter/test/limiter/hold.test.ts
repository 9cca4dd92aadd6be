/** Holds under concurrency limits. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitDecision } from '../../src/index.js'
import { ada, limited, START } from './limited.js'

describe('a hold', () => {
  const render = { subject: { org: 'acme' }, resource: '/render' } as const
  const left = ({ rule, remaining }: LimitDecision) => `${rule} ${remaining}`

  it('is taken by a check, renewed, and released by its id', async () => {
    const { limiter, time } = limited()
    const one = await limiter.check({ ...render, holdId: 'job-1' })
    await limiter.check({ ...render, holdId: 'job-2' })
    expect(one.hold).toMatchObject({ id: 'job-1', expiresAtMs: START + 60_000 })
    const denied = await limiter.check({ ...render, holdId: 'job-3' })
    expect(denied).toMatchObject({ allowed: false, rule: 'render', retryAfterMs: 60_000 })
    time.now += 30_000
    expect(await limiter.renew(one.hold!)).toBe(START + 90_000)
    expect((await limiter.check({ ...render, holdId: 'job-1' })).remaining).toBe(0)
    time.now += 30_000
    expect(await limiter.renew({ ...render, holdId: 'job-2' })).toBeNull()
    expect((await limiter.check({ ...render, holdId: 'job-3' })).allowed).toBe(true)
    expect(await limiter.release({ ...render, holdId: 'job-1' })).toBe(true)
    expect(await limiter.release(one.hold!)).toBe(false)
    expect((await limiter.peek({ ...render, holdId: 'job-4' })).remaining).toBe(1)
  })

  it('is released when it is disposed', async () => {
    const { limiter } = limited()
    {
      await using hold = await limiter.hold(render)
      expect(hold.allowed).toBe(true)
      expect((await limiter.peek(render)).limits.map(left)).toEqual(['org 11', 'render 1'])
    }
    expect((await limiter.peek(render)).limits.map(left)).toEqual(['org 11', 'render 2'])
  })

  it('is nothing where no concurrency limit applies', async () => {
    const { limiter } = limited()
    const hold = await limiter.hold(ada)
    expect([hold.allowed, hold.hold, await hold.release()]).toEqual([true, null, false])
  })

  it('takes the request’s rate limits too, or nothing at all', async () => {
    const limiter = createLimiter({
      rules: { r: { scope: 'user', limits: ['1/h', '5 concurrent for 60s'] } },
      clock: () => START,
    })
    await limiter.check({ subject: { user: 'ada' } })
    expect((await limiter.check({ subject: { user: 'ada' } })).allowed).toBe(false)
    expect((await limiter.peek({ subject: { user: 'ada' } })).limits[1]!.remaining).toBe(4)
  })

  it('that has ended is not released, also before anyone else holds', async () => {
    const { limiter, time } = limited()
    const { hold } = await limiter.check({ ...render, holdId: 'job-1' })
    time.now += 60_000
    expect(await limiter.release(hold!)).toBe(false)
  })

  it('under several limits is renewed until the first of them ends it', async () => {
    const time = { now: START }
    const limiter = createLimiter({
      rules: { r: { scope: 'user', limits: ['5 concurrent for 60s', '3 concurrent for 30s'] } },
      clock: () => time.now,
    })
    const { hold } = await limiter.check({ subject: { user: 'ada' }, holdId: 'a' })
    time.now += 10_000
    expect(await limiter.renew(hold!)).toBe(START + 40_000)
  })
})
