/** What can be asked of a limiter, in memory, with a clock that is moved by hand. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitDecision, memoryStore, RuleSet, SluiceError } from './index.js'

const START = 1_780_000_000_000

function limited() {
  const time = { now: START }
  const limiter = createLimiter({
    rules: {
      hello: { scope: 'user', resource: '/hello', limits: '3 per 10s' },
      search: { scope: 'user', resource: 'GET /v1/search', limits: ['10/s', '100/min'] },
      org: { scope: 'org', limits: '12/s', additive: true },
      render: { scope: 'org', resource: '/render', limits: '2 concurrent for 60s' },
      chat: {
        scope: 'org',
        resource: 'POST /chat',
        additive: true,
        unit: 'tokens',
        limits: '1000/min',
      },
    },
    clock: () => time.now,
  })
  return { limiter, time }
}

const ada = { subject: { user: 'ada' }, resource: '/hello' } as const

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
})

describe('refund, reserve and reset', () => {
  it('gives back what a decision took, once', async () => {
    const { limiter } = limited()
    const decision = await limiter.check({ ...ada, cost: 3 })
    expect(await limiter.refund(decision, 2)).toEqual({ requests: 2 })
    expect(await limiter.refund(decision, 2)).toEqual({ requests: 1 })
    expect(await limiter.refund(decision)).toEqual({})
    expect((await limiter.peek(ada)).remaining).toBe(3)
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
