/** Decisions on the wire: every family of headers, and the problem that a refusal carries. */
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../index.js'

const START = 1_780_000_000_000

function limiterAt(now: number) {
  return createLimiter({
    rules: {
      hello: { scope: 'user', resource: '/hello', limits: '3 per 10s' },
      'per-user': { scope: 'user', limits: ['10/s', '1000/h burst 2000', '100k/h fixed'] },
      month: { scope: 'org', limits: '1M per calendar month', additive: true },
      jobs: { scope: 'org', resource: '/jobs', limits: '2 concurrent for 60s' },
      trial: { scope: 'user', additive: true, shadow: true, limits: '1/d' },
      chat: { scope: 'org', resource: '/chat', unit: 'tokens', limits: '1000/min' },
    },
    blocks: [{ ip: '198.51.100.0/24', reason: 'card testing' }],
    exemptions: ['user:healthcheck'],
    clock: () => now,
  })
}

const ada = { subject: { user: 'ada' }, resource: '/hello' } as const

describe('headers', () => {
  it('are X-RateLimit and draft 11 unless chosen otherwise', async () => {
    const limiter = limiterAt(START)
    expect((await limiter.check(ada)).toHeaders()).toEqual({
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '2',
      'X-RateLimit-Reset': '1780000004',
      'RateLimit-Policy': '"hello";q=3;w=10',
      RateLimit: '"hello";r=2;t=4',
    })
  })

  it('of a denial say when to retry and what blocks, in whole seconds rounded up', async () => {
    const limiter = limiterAt(START)
    await limiter.check({ ...ada, cost: 3 })
    expect((await limiter.check(ada)).toHeaders()).toEqual({
      'Retry-After': '4',
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1780000010',
      'RateLimit-Policy': '"hello";q=3;w=10',
      RateLimit: '"hello";r=0;t=4',
      'X-RateLimit-Blocking-Scope': 'user',
      'X-RateLimit-Blocking-Rule': 'hello',
      'X-RateLimit-Blocking-Resource': '/hello',
    })
  })

  it('say Retry-After of at least one second', async () => {
    const limiter = limiterAt(START)
    const request = { subject: { user: 'ada' }, resource: '/x', cost: 10 }
    await limiter.check(request)
    expect((await limiter.check({ ...request, cost: 1 })).toHeaders()['Retry-After']).toBe('1')
  })

  it('name the further limits of a rule by their window, and leave shadow rules out', async () => {
    const limiter = limiterAt(START)
    const headers = (await limiter.check({ subject: { user: 'ada', org: 'acme' } })).toHeaders([
      'draft-8',
    ])
    expect(headers).toEqual({
      'RateLimit-Policy':
        '"per-user";q=10;w=1, "per-user-3600";q=1000;w=3600, "per-user-3600-2";q=100000;w=3600, "month";q=1000000;w=2678400',
      RateLimit:
        '"per-user";r=9;t=1, "per-user-3600";r=1999;t=4, "per-user-3600-2";r=99999;t=2000, "month";r=999999;t=272000',
    })
  })

  it('name the unit that is counted, where it is not requests', async () => {
    const limiter = limiterAt(START)
    const org = { subject: { org: 'acme' } }
    const jobs = await limiter.check({ ...org, resource: '/jobs' })
    expect(jobs.toHeaders()['RateLimit-Policy']).toContain(
      '"jobs";q=2;w=60;qu="concurrent-requests"',
    )
    const chat = await limiter.check({ ...org, resource: '/chat', costs: { tokens: 5 } })
    expect(chat.toHeaders()['RateLimit-Policy']).toContain('"chat";q=1000;w=60;qu="tokens"')
  })

  it.each([
    [
      'draft-6',
      {
        'RateLimit-Policy': '3;w=10',
        'RateLimit-Limit': '3',
        'RateLimit-Remaining': '2',
        'RateLimit-Reset': '4',
      },
    ],
    ['draft-7', { 'RateLimit-Policy': '3;w=10', RateLimit: 'limit=3, remaining=2, reset=4' }],
    ['draft-11', { 'RateLimit-Policy': '"hello";q=3;w=10', RateLimit: '"hello";r=2;t=4' }],
  ] as const)('have the form of %s', async (family, expected) => {
    expect((await limiterAt(START).check(ada)).toHeaders([family])).toEqual(expected)
  })

  it('warn', async () => {
    const limiter = limiterAt(START)
    const decision = await limiter.check({ ...ada, cost: 3 })
    expect(decision.toHeaders([])).toEqual({ 'X-RateLimit-Warning': '100% of hello used' })
  })

  it('are none for the exempt', async () => {
    const decision = await limiterAt(START).check({
      subject: { user: 'healthcheck' },
      resource: '/hello',
    })
    expect(decision.exempt).toBe(true)
    expect(decision.toHeaders()).toEqual({})
  })
})

describe('a refusal as a response', () => {
  it('is a 429 with a problem that explains itself', async () => {
    const limiter = limiterAt(START)
    await limiter.check({ ...ada, cost: 3 })
    const denied = await limiter.check(ada)
    if (denied.allowed) throw new Error('allowed')
    const response = denied.toResponse()
    expect(response.status).toBe(429)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('retry-after')).toBe('4')
    expect(await response.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too Many Requests',
      status: 429,
      detail: 'hello allows user ada 3 per 10s; next in 3.4 s',
      reason: 'limited',
      retry_after: 3.334,
      'violated-policies': ['hello'],
    })
  })

  it('is a 403 for the blocked, without a time to retry', async () => {
    const denied = await limiterAt(START).check({ subject: { ip: '198.51.100.7', user: 'ada' } })
    if (denied.allowed) throw new Error('allowed')
    expect(denied).toMatchObject({ reason: 'blocked', scope: 'ip', rule: null, retryAfterMs: null })
    const response = denied.toResponse()
    expect(response.status).toBe(403)
    expect(response.headers.get('retry-after')).toBeNull()
    expect(await response.json()).toHaveProperty(
      'detail',
      'ip 198.51.100.7 is blocked: card testing',
    )
    expect(String(denied)).toBe('ip 198.51.100.7 is blocked: card testing')
  })

  it('shows an API key by its ends only', async () => {
    const limiter = createLimiter({
      rules: { keys: { scope: 'api_key', limits: '1/h' } },
      clock: () => START,
    })
    const request = { subject: { api_key: 'sk_live_0123456789f3c' } }
    await limiter.check(request)
    const denied = await limiter.check(request)
    if (denied.allowed) throw new Error('allowed')
    expect(await denied.toResponse().json()).toHaveProperty(
      'detail',
      'keys allows api_key sk_l…9f3c 1/h; next in 60 min',
    )
  })
})
