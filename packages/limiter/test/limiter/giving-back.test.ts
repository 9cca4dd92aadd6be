/** Refunds, grants, estimates and resets. */
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { ada, limited } from './limited.js'

describe('refund, reserve and reset', () => {
  it('gives back what a decision took, once', async () => {
    const { limiter } = limited()
    const decision = await limiter.check({ ...ada, cost: 3 })
    expect(await limiter.refund(decision, 2)).toEqual({ requests: 2 })
    expect(await limiter.refund(decision, 2)).toEqual({ requests: 1 })
    expect(await limiter.refund(decision)).toEqual({})
    expect((await limiter.peek(ada)).remaining).toBe(3)
  })

  it('gives nothing back to a bucket that is full again, though the rule went and came back', async () => {
    let now = 1_780_000_000_000
    const rules = { r: { scope: 'user', limits: '20/h' } } as const
    const limiter = createLimiter({ rules, clock: () => now })
    const decision = await limiter.check({ ...ada, cost: 10 })
    limiter.setRules({ rules: {} })
    limiter.setRules({ rules })
    await limiter.check(ada)
    now += 240_000
    expect(await limiter.refund(decision)).toEqual({ requests: 0 })
    expect((await limiter.peek(ada)).remaining).toBe(20)
  })

  it('grants without a decision, at most what is used', async () => {
    const { limiter } = limited()
    await limiter.check({ ...ada, cost: 2 })
    expect(await limiter.refund({ ...ada, cost: 5 })).toEqual({ requests: 2 })
    expect((await limiter.peek(ada)).remaining).toBe(3)
  })

  it('settles an estimate once: gives back, or takes more into debt', async () => {
    const { limiter, time } = limited()
    const chat = { subject: { org: 'acme' }, resource: '/chat', method: 'POST' } as const
    {
      await using call = await limiter.reserve({ ...chat, costs: { tokens: 500 } })
      expect(call.allowed).toBe(true)
      expect(await call.settle({ tokens: 200 })).toEqual({ givenBack: { tokens: 300 }, taken: {} })
      expect(await call.settle({ tokens: 900 })).toEqual({ givenBack: { tokens: 300 }, taken: {} })
    }
    const call = await limiter.reserve({ ...chat, costs: { tokens: 800 } })
    expect(await call.settle({ tokens: 1400 })).toEqual({ givenBack: {}, taken: { tokens: 600 } })
    const denied = await limiter.check({ ...chat, costs: { tokens: 1 } })
    if (denied.allowed) throw new Error('debt was forgotten')
    expect(denied.retryAfterMs).toBe(36_060)
    time.now += 36_060
    expect((await limiter.check({ ...chat, costs: { tokens: 1 } })).allowed).toBe(true)
  })

  it('leaves the estimate where it is not settled, and charges nothing for a denial', async () => {
    const { limiter } = limited()
    {
      await using call = await limiter.reserve({ ...ada, cost: 2 })
      expect(call.remaining).toBe(1)
    }
    expect((await limiter.peek(ada)).remaining).toBe(1)
    const denied = await limiter.reserve({ ...ada, cost: 2 })
    expect(denied.allowed).toBe(false)
    expect(await denied.settle(5)).toEqual({ givenBack: {}, taken: {} })
    expect((await limiter.peek(ada)).remaining).toBe(1)
  })

  it('resets a subject, of every rule or of one', async () => {
    const { limiter } = limited()
    const request = { subject: { user: 'ada', org: 'acme' }, resource: '/v1/search', method: 'GET' }
    await limiter.check(request)
    await limiter.check(ada)
    expect(await limiter.reset({ user: 'ada' }, { rule: 'hello' })).toBe(1)
    expect((await limiter.peek(ada)).remaining).toBe(3)
    expect((await limiter.peek(request)).limits[0]!.remaining).toBe(9)
    expect(await limiter.reset({ user: 'ada', org: 'acme' })).toBe(2)
    expect(await limiter.reset({ user: 'ada', org: 'acme' })).toBe(0)
    await expect(limiter.reset({ user: 'ada' }, { rule: 'helo' })).rejects.toThrow(/name of a rule/)
  })
})
