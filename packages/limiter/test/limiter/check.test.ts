/** What a check answers, and how a limiter is made, explains and closes. */
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore, RuleSet, SluiceError } from '../../src/index.js'
import { ada, limited, START } from './limited.js'

describe('check', () => {
  it('allows what the limit allows, then says when to come back', async () => {
    const { limiter, time } = limited()
    for (const remaining of [2, 1, 0]) {
      const decision = await limiter.check(ada)
      expect(decision).toMatchObject({
        allowed: true,
        limit: 3,
        remaining,
        rule: 'hello',
        scope: 'user',
      })
    }
    const denied = await limiter.check(ada)
    if (denied.allowed) throw new Error('a fourth was allowed')
    expect(denied.retryAfterMs).toBe(3334)
    expect(denied.reason).toBe('limited')
    expect(denied.state).toBe('throttled')
    expect(denied.receipt).toBeNull()
    time.now += 3333
    expect((await limiter.check(ada)).allowed).toBe(false)
    time.now += 1
    expect((await limiter.check(ada)).allowed).toBe(true)
  })

  it('takes nothing from any limit where one denies', async () => {
    const { limiter } = limited()
    const request = { subject: { user: 'ada', org: 'acme' }, resource: '/v1/search', method: 'GET' }
    for (let i = 0; i < 5; i++) await limiter.check({ ...request, cost: 2 })
    const denied = await limiter.check({ ...request, cost: 2 })
    expect(denied.allowed).toBe(false)
    expect(denied.limits.map((limit) => [limit.rule, limit.allowed, limit.remaining])).toEqual([
      ['search', false, 0],
      ['search', true, 90],
      ['org', true, 2],
    ])
  })

  it('counts requests and tokens in one decision', async () => {
    const { limiter } = limited()
    const request = { subject: { org: 'acme' }, resource: '/chat', method: 'POST' }
    const decision = await limiter.check({ ...request, costs: { tokens: 400 } })
    expect(decision.limits.map(({ unit, remaining }) => [unit, remaining])).toEqual([
      ['requests', 11],
      ['tokens', 600],
    ])
    expect((await limiter.check(request)).limits.map(({ rule }) => rule)).toEqual(['org'])
    const denied = await limiter.check({ ...request, costs: { tokens: 601 } })
    expect(denied).toMatchObject({ allowed: false, rule: 'chat' })
    expect(denied.limits[0]!.remaining).toBe(10)
  })

  it('has the first of two limits on top that have nothing left, also where the other is above its limit', async () => {
    const rulesOf = (places: 1 | 3) =>
      ({
        jobs: { scope: 'user', limits: ['4/h fixed', `${places} concurrent for 60s`] },
      }) as const
    const limiter = createLimiter({ rules: rulesOf(3), clock: () => START })
    const take = (holdId: string) => limiter.check({ subject: { user: 'ada' }, holdId })
    for (const holdId of ['a', 'b', 'c']) await take(holdId)
    limiter.setRules({ rules: rulesOf(1) })
    const again = await take('a')
    expect(again).toMatchObject({ allowed: true, limit: 4, used: 4, remaining: 0 })
    expect(again.limits).toMatchObject([
      { limit: 4, used: 4, remaining: 0 },
      { limit: 1, used: 3, remaining: 0 },
    ])
    expect(again.toHeaders(['draft-11'])['RateLimit']).toMatch(/^"jobs";r=0;t=\d+, "jobs-60";r=0;/)
    expect(again.toHeaders()['X-RateLimit-Warning']).toBe('100% of jobs used')
  })

  it('says what is used after what is allowed, and at the top after the limit', async () => {
    const { limiter } = limited()
    const decision = await limiter.check(ada)
    expect(JSON.parse(JSON.stringify(decision))).toMatchObject({ limit: 3, used: 1, remaining: 2 })
    const keys = Object.keys(JSON.parse(JSON.stringify(decision)))
    expect(keys.slice(0, 4)).toEqual(['allowed', 'limit', 'used', 'remaining'])
    const names = Object.keys(decision.limits[0]!)
    expect(names.slice(names.indexOf('allowed'))).toEqual([
      'allowed',
      'used',
      'remaining',
      'resetAtMs',
      'retryAfterMs',
      'unit',
      'shadow',
    ])
  })

  it('allows what no rule governs, with no numbers', async () => {
    const { limiter } = limited()
    const decision = await limiter.check({ subject: { ip: '192.0.2.1' }, resource: '/x' })
    expect(decision).toMatchObject({
      allowed: true,
      limit: null,
      remaining: null,
      resetAtMs: null,
      rule: null,
    })
    expect(decision.limits).toEqual([])
    expect(decision.toHeaders()).toEqual({})
    expect(String(decision)).toBe('allowed, no rule applies')
  })

  it('tells "never" apart from "not now"', async () => {
    const { limiter } = limited()
    const decision = await limiter.check({ ...ada, cost: 4 })
    expect(decision).toMatchObject({ allowed: false, reason: 'too_expensive', retryAfterMs: null })
    expect(decision.toHeaders()).not.toHaveProperty('Retry-After')
  })

  it('rejects a bad request and never throws', async () => {
    const { limiter } = limited()
    const refused = limiter.check({ subject: { user: '' }, resource: '/hello' })
    await expect(refused).rejects.toMatchObject({ code: 'bad_request', field: 'subject.user' })
    await expect(limiter.check(null as never)).rejects.toBeInstanceOf(SluiceError)
  })

  it('counts nothing for a caller who has gone', async () => {
    const { limiter } = limited()
    const signal = AbortSignal.abort()
    await expect(limiter.check({ ...ada, signal })).rejects.toThrow(/abort/i)
    expect((await limiter.peek(ada)).remaining).toBe(3)
  })

  it('warns from 80 % used until below 70 %', async () => {
    const time = { now: START }
    const limiter = createLimiter('10 per 10s', { clock: () => time.now })
    const request = { subject: { key: 'a' } }
    const states = []
    for (let i = 0; i < 9; i++) states.push((await limiter.check(request)).state)
    expect(states).toEqual([...Array(7).fill('normal'), 'warning', 'warning'])
    time.now += 2000
    expect((await limiter.peek(request)).state).toBe('warning')
    time.now += 1000
    expect((await limiter.peek(request)).state).toBe('normal')
    time.now -= 1000
    expect((await limiter.peek(request)).state).toBe('warning')
    time.now += 3000
    expect((await limiter.check(request)).state).toBe('normal')
    expect((await limiter.check({ ...request, cost: 2 })).state).toBe('normal')
  })
})

describe('createLimiter', () => {
  it('takes a single limit, or several', () => {
    const clock = () => START
    const limiter = createLimiter(['2/s', '3/min'], { clock })
    const ask = () => limiter.checkSync({ subject: { key: 'a' } })
    expect([ask().allowed, ask().allowed, ask().allowed]).toEqual([true, true, false])
    expect(ask().rule).toBe('limit')
  })

  it('takes rules that were compiled before, for as many limiters as are wanted', () => {
    const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits: '1/h' } } })
    const [one, other] = [createLimiter({ rules }), createLimiter({ rules })]
    const ask = { subject: { user: 'ada' } }
    expect([one.checkSync(ask).allowed, other.checkSync(ask).allowed]).toEqual([true, true])
    expect([one.checkSync(ask).allowed, other.checkSync(ask).allowed]).toEqual([false, false])
  })

  it.each([
    [undefined, /expected a limit such as "10\/s"/],
    [{ rules: {}, stroe: 1 }, /unknown option "stroe"; did you mean "store"/],
    [{ rules: {}, store: {} }, /store is {}; expected one such as memoryStore\(\)/],
    [{ rules: {}, clock: 5 }, /clock is 5; expected a function/],
    [{ rules: {}, clock: () => Number.NaN }, /the clock says NaN/],
  ])('refuses %j and says what it wants', (options, message) => {
    expect(() => createLimiter(options as never)).toThrow(message)
  })

  it('refuses a store of no size', () => {
    expect(() => memoryStore({ maxKeys: 0 })).toThrow(/maxKeys is 0; expected a whole number/)
  })
})

describe('a limiter', () => {
  it('explains which rules apply and why', async () => {
    const { limiter } = limited()
    const explained = await limiter.explain({ subject: { user: 'ada' }, resource: '/hello' })
    expect(explained.applied).toEqual([
      { rule: 'hello', scope: 'user', limits: ['3 per 10s'], why: 'the only rule of scope user' },
    ])
    expect(explained.absentScopes).toEqual(['org'])
    expect(explained.cost).toEqual({ requests: 1 })
    const chat = await limiter.explain({
      subject: { org: 'acme' },
      resource: '/chat',
      method: 'POST',
    })
    expect(chat.setAside).toEqual([
      {
        rule: 'chat',
        scope: 'org',
        limits: ['1000/min'],
        by: null,
        why: 'counts tokens, and the request gives no costs.tokens',
      },
    ])
    expect((await limiter.peek(ada)).remaining).toBe(3)
  })

  it('answers nothing after it was closed', async () => {
    const { limiter } = limited()
    {
      await using closing = limiter
      await closing.check(ada)
    }
    await expect(limiter.check(ada)).rejects.toMatchObject({ code: 'closed' })
  })

  it('says what it decided in words', async () => {
    const { limiter } = limited()
    expect(String(await limiter.check(ada))).toBe('allowed by hello (3 per 10s), 2 of 3 left')
    await limiter.check({ ...ada, cost: 2 })
    expect(String(await limiter.check(ada))).toBe('denied by hello (3 per 10s), retry in 3.4 s')
    expect(String(await limiter.check({ ...ada, cost: 9 }))).toBe(
      'denied by hello (3 per 10s), a cost above 3 never passes',
    )
  })
})
