import { ROUTE_IDS, routeOf } from '@sluice/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, startService, type TestService } from '../service.js'
import { untruths } from './true-to-openapi.js'

const RULES = `
timezone: UTC
tiers: { pro: [user:paula] }
rules:
  hello: { scope: user, resource: /hello, limits: 3 per 10s }
  search:
    scope: user
    resource: GET /v1/search
    limits: [100 per 5m sliding, 1000/h burst 2000]
    tiers: { pro: [500 per 5m sliding] }
  tokens: { scope: org, resource: /chat, unit: tokens, limits: 10k/min }
  jobs: { scope: org, resource: /jobs, limits: 2 concurrent for 60s }
  daily: { scope: user, resource: /daily, limits: 3/d fixed }
  paced: { scope: user, resource: /paced, limits: 1/s queue 3 }
  trial: { scope: user, resource: /hello, additive: true, limits: 1/min, shadow: true }
exemptions: [user:healthcheck]
blocks: [{ user: mallory, reason: card testing }]
costs: { /v1/search: 2 }
`

let it_: TestService
const asked = new Set<string>()

beforeAll(async () => {
  it_ = await startService({ rules: RULES })
})
afterAll(async () => {
  await it_.stop()
})

/** Every answer is held against the document. */
async function post(
  path: string,
  body: unknown,
  headers?: Record<string, string>,
): Promise<Answer> {
  const answer = await it_.post(path, body, headers)
  asked.add(`POST ${path}`)
  expect(untruths('POST', path, answer)).toEqual([])
  return answer
}

async function get(path: string, headers?: Record<string, string>): Promise<Answer> {
  const answer = await it_.get(path, headers)
  const route = path.split('?')[0]!
  asked.add(`GET ${route}`)
  expect(untruths('GET', route, answer)).toEqual([])
  return answer
}

let users = 0
const someone = () => `user-${users++}`

describe('POST /v1/check', () => {
  it('allows three and then explains its no', async () => {
    const check = { subject: { user: 'ada' }, resource: '/hello' }
    for (const remaining of [2, 1, 0]) {
      const answer = await post('/v1/check', check)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({ allowed: true, limit: 3, remaining, rule: 'hello' })
      expect(answer.headers).toMatchObject({
        'x-ratelimit-limit': '3',
        'x-ratelimit-remaining': String(remaining),
        'ratelimit-policy': '"hello";q=3;w=10',
      })
    }
    const no = await post('/v1/check', { ...check, include: ['receipt'] })
    expect(no.status).toBe(429)
    expect(no.headers['retry-after']).toBe('4')
    expect(no.headers['ratelimit']).toBe('"hello";r=0;t=4')
    expect(no.headers['x-ratelimit-blocking-rule']).toBe('hello')
    expect(no.body).toMatchObject({
      allowed: false,
      reason: 'limited',
      state: 'throttled',
      receipt: null,
    })
    expect(no.body.error.code).toBe('limited')
    expect(no.body.error.message).toMatch(/^hello allows user ada 3 per 10s; next in 3\.\d s$/)
    expect(no.body.retry_after).toBeGreaterThan(3)
    expect(no.body.retry_after).toBeLessThanOrEqual(3.334)
  })

  it('takes any content type, and scope with identifier', async () => {
    const body = { scope: 'user', identifier: someone(), resource: '/hello' }
    const answer = await post('/v1/check', body, { 'Content-Type': 'text/plain' })
    expect(answer.body).toMatchObject({ allowed: true, remaining: 2 })
  })

  it('reports a shadow limit and never enforces it', async () => {
    const user = someone()
    await post('/v1/check', { subject: { user }, resource: '/hello' })
    const check = { subject: { user }, resource: '/hello', include: ['limits'] }
    const { body } = await post('/v1/check', check)
    expect(body.allowed).toBe(true)
    expect(
      body.limits.map((one: { shadow: boolean; allowed: boolean }) => [one.shadow, one.allowed]),
    ).toEqual([
      [false, true],
      [true, false],
    ])
  })

  it('names what is wrong', async () => {
    const wrong: [unknown, string | undefined, RegExp][] = [
      ['{', undefined, /not JSON/],
      ['[]', undefined, /expected an object/],
      [{ resource: '/x' }, 'subject', /is missing/],
      [{ subject: { usr: 'a' } }, 'subject.usr', /did you mean "user"/],
      [{ subject: { user: '' } }, 'subject.user', /empty/],
      [{ subject: { user: 7 } }, 'subject.user', /expected a text/],
      [{ subject: {}, cost: 0 }, 'cost', /1 to 100000/],
      [{ subject: {}, cost: 1.5 }, 'cost', /whole number/],
      [{ subject: {}, costs: { tokens: 0 } }, 'costs.tokens', /1 to 1000000000/],
      [{ subject: {}, dry_run: 1 }, 'dry_run', /true or false/],
      [{ subject: {}, idempotency_key: '' }, 'idempotency_key', /empty/],
      [{ subject: {}, hold: 'x'.repeat(256) }, 'hold', /longer than 255/],
      [{ subject: {}, resourc: '/x' }, 'resourc', /did you mean "resource"/],
      [{ subject: {}, scope: 'user' }, 'subject', /give one of them/],
      [{ subject: {}, namespace: 'other' }, 'namespace', /not served here/],
      [{ scope: 'user' }, 'identifier', /expected a text/],
      [{ subject: { ip: 'nonsense' } }, 'subject.ip', /IPv4 or IPv6/],
      [{ subject: {}, method: 'G T' }, 'method', /such as GET/],
    ]
    for (const [body, field, message] of wrong) {
      const answer = await post('/v1/check', body)
      expect([body, answer.status, answer.body.error.field]).toEqual([body, 400, field])
      expect(answer.body.error.message).toMatch(message)
    }
  })

  it('refuses bytes that are no text', async () => {
    const bytes = Buffer.from('{"subject":{"user":"\xff"},"resource":"/x"}', 'latin1').toString(
      'latin1',
    )
    const answer = await fetch(`http://${it_.host}:${it_.port}/v1/check`, {
      method: 'POST',
      body: Buffer.from(bytes, 'latin1'),
    })
    const { error } = (await answer.json()) as { error: { message: string } }
    expect([answer.status, error.message]).toEqual([400, 'the body is not UTF-8'])
  })

  it('refuses a blocked subject and lets an exempt one through', async () => {
    const check = { subject: { user: 'mallory' }, resource: '/hello', include: ['limits'] }
    const blocked = await post('/v1/check', check)
    expect(blocked.status).toBe(403)
    expect(blocked.headers['retry-after']).toBeUndefined()
    expect(blocked.body).toMatchObject({ reason: 'blocked', limits: [] })
    expect(blocked.body.error).toEqual({
      code: 'blocked',
      message: 'user mallory is blocked: card testing',
    })
    const exempt = await post('/v1/check', { ...check, subject: { user: 'healthcheck' } })
    expect(exempt.body).toMatchObject({ allowed: true, exempt: true, limit: null, limits: [] })
    expect(exempt.headers['x-ratelimit-limit']).toBeUndefined()
  })

  it('tells a cost that never passes from one that may later', async () => {
    const answer = await post('/v1/check', {
      subject: { user: someone() },
      resource: '/hello',
      cost: 4,
    })
    expect(answer.status).toBe(429)
    expect(answer.body).toMatchObject({ reason: 'too_expensive', retry_after: null })
    expect(answer.headers['retry-after']).toBeUndefined()
  })

  it('says how long a leaky bucket wants a request held', async () => {
    const check = { subject: { user: someone() }, resource: '/paced' }
    await post('/v1/check', check)
    const { body } = await post('/v1/check', check)
    expect(body.delay).toBeGreaterThan(0.5)
  })

  it('counts a request once that comes again under its idempotency key', async () => {
    const check = { subject: { user: someone() }, resource: '/hello' }
    const key = { 'X-Idempotency-Key': 'order-7' }
    const first = await post('/v1/check', check, key)
    const again = await post('/v1/check', { ...check, idempotency_key: 'order-7' })
    expect(again.body).toEqual({ ...first.body, replayed: true })
    const other = await post('/v1/check', { ...check, cost: 2, idempotency_key: 'order-7' })
    expect([other.status, other.body.error.code]).toEqual([409, 'idempotency_conflict'])
    expect(other.body.error.field).toBe('idempotency_key')
    const both = await post('/v1/check', { ...check, idempotency_key: 'order-8' }, key)
    expect(both.status).toBe(400)
  })

  it('is not a body of more than 64 KB', async () => {
    const answer = await post('/v1/check', { subject: { user: 'x'.repeat(70_000) } })
    expect([answer.status, answer.body.error.code]).toEqual([413, 'payload_too_large'])
  })
})

describe('POST /v1/check/batch', () => {
  it('answers in order, each in itself', async () => {
    const [a, b] = [someone(), someone()]
    const checks = [a, b, a, a, a].map((user) => ({ subject: { user }, resource: '/hello' }))
    const { status, body } = await post('/v1/check/batch', { checks })
    expect(status).toBe(200)
    const seen = body.results.map((one: { allowed: boolean; remaining: number }) => [
      one.allowed,
      one.remaining,
    ])
    expect(seen).toEqual([
      [true, 2],
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
    ])
  })

  it('counts nothing where one check is malformed, and names it', async () => {
    const user = someone()
    const good = { subject: { user }, resource: '/hello' }
    for (const bad of [
      { ...good, cost: -1 },
      { ...good, cost: 'é' },
    ]) {
      const answer = await post('/v1/check/batch', { checks: [good, good, bad] })
      expect([answer.status, answer.body.error.field]).toEqual([400, 'checks[2].cost'])
    }
    const checks = [{ ...good, cost: 0 }, good, 5, { ...good, includ: [] }, {}]
    const { error } = (await post('/v1/check/batch', { checks })).body
    expect(error).toEqual({
      code: 'bad_request',
      field: 'checks[0].cost',
      message: 'checks[0].cost is 0; expected a whole number from 1 to 100000',
      faults: [
        { field: 'checks[0].cost', message: 'is 0; expected a whole number from 1 to 100000' },
        { field: 'checks[2]', message: 'is 5; expected an object' },
        { field: 'checks[3].includ', message: 'is unknown' },
        {
          field: 'checks[4].subject',
          message: 'is missing; expected an object such as {"user": "ada"}',
        },
      ],
    })
    const { body } = await post('/v1/quota', good)
    expect(body.remaining).toBe(3)
  })

  it('takes a thousand, and no more', async () => {
    const check = { subject: { user: someone() }, resource: '/nothing' }
    const many = await post('/v1/check/batch', {
      checks: Array.from({ length: 1000 }, () => check),
    })
    expect(many.body.results).toHaveLength(1000)
    const more = await post('/v1/check/batch', {
      checks: Array.from({ length: 1001 }, () => check),
    })
    expect([more.status, more.body.error.field]).toEqual([400, 'checks'])
    expect((await post('/v1/check/batch', { checks: [] })).body).toEqual({ results: [] })
  })

  it('takes no key for all of them', async () => {
    const answer = await post('/v1/check/batch', { checks: [] }, { 'X-Idempotency-Key': 'k' })
    expect([answer.status, answer.body.error.field]).toEqual([400, 'X-Idempotency-Key'])
  })

  it('gives a conflict to the check that has it', async () => {
    const check = { subject: { user: someone() }, resource: '/hello', idempotency_key: 'k' }
    const { status, body } = await post('/v1/check/batch', {
      checks: [check, { ...check, cost: 2 }],
    })
    expect(status).toBe(200)
    expect(body.results[0].allowed).toBe(true)
    expect(body.results[1].error).toMatchObject({
      code: 'idempotency_conflict',
      field: 'checks[1].idempotency_key',
    })
  })
})

describe('looking without taking', () => {
  it('answers a quota with 200 when nothing is left', async () => {
    const check = { subject: { user: someone() }, resource: '/hello' }
    for (let i = 0; i < 3; i++) await post('/v1/check', check)
    for (let i = 0; i < 2; i++) {
      const quota = await post('/v1/quota', check)
      expect([quota.status, quota.body.allowed, quota.body.remaining]).toEqual([200, false, 0])
    }
  })

  it('takes nothing in a dry run', async () => {
    const check = { subject: { user: someone() }, resource: '/hello' }
    for (let i = 0; i < 3; i++) {
      const { body } = await post('/v1/check', { ...check, dry_run: true, include: ['receipt'] })
      expect([body.remaining, body.receipt]).toEqual([3, null])
    }
  })

  it('explains which rules apply and why', async () => {
    const check = {
      subject: { user: 'paula', ip: '203.0.113.42' },
      resource: '/v1/search',
      method: 'GET',
    }
    const { body } = await post('/v1/explain', check)
    expect(body.applied).toEqual([
      expect.objectContaining({ rule: 'search@pro', limits: ['500 per 5m sliding'] }),
    ])
    expect(body).toMatchObject({
      tier: 'pro',
      tiers: { user: 'pro' },
      cost: { requests: 2 },
      revision: 1,
    })
    expect(body.set_aside).toEqual([expect.objectContaining({ rule: 'search', by: 'search@pro' })])
    expect(body.decision.remaining).toBe(500)
  })

  it('explains with the resource that was compared, normalised where that is asked for', async () => {
    const check = { subject: { user: 'paula' }, resource: '//hello?x=1' }
    const written = await post('/v1/explain', check)
    expect(written.body).toMatchObject({ resource: '//hello', normalized: false, applied: [] })
    const { body } = await post('/v1/explain', { ...check, normalize: true })
    expect(body).toMatchObject({ resource: '/hello', normalized: true })
    expect(body.applied[0].rule).toBe('hello')
    const bad = await post('/v1/explain', { ...check, normalize: 'yes' })
    expect([bad.status, bad.body.error.field]).toEqual([400, 'normalize'])
    expect((await post('/v1/check', { ...check, normalize: true })).status).toBe(400)
  })
})

describe('giving back', () => {
  const remainingOf = async (check: object) => (await post('/v1/quota', check)).body.remaining

  it('gives back by receipt, once, and answers the same again', async () => {
    const check = { subject: { user: someone() }, resource: '/daily', cost: 2 }
    const { body } = await post('/v1/check', { ...check, include: ['receipt'] })
    for (let i = 0; i < 2; i++) {
      const refund = await post('/v1/refund', { receipt: body.receipt })
      expect(refund.body).toEqual({ refunded: { requests: 2 }, limits: [] })
    }
    expect(await remainingOf({ ...check, cost: 1 })).toBe(3)
    const other = await post('/v1/refund', { receipt: body.receipt, cost: 1 })
    expect([other.status, other.body.error.code]).toEqual([409, 'idempotency_conflict'])
  })

  it('gives back a part, and says what is left where it is told who asks', async () => {
    const check = { subject: { user: someone() }, resource: '/daily' }
    const { body } = await post('/v1/check', { ...check, cost: 3, include: ['receipt'] })
    const refund = await post('/v1/refund', { ...check, receipt: body.receipt, cost: 1 })
    expect(refund.body.refunded).toEqual({ requests: 1 })
    expect(refund.body.limits[0].remaining).toBe(1)
  })

  it('keeps a receipt good whose amounts were mistaken, and refuses what it would not heed', async () => {
    const { body } = await post('/v1/check', {
      subject: { user: someone() },
      resource: '/daily',
      cost: 2,
      include: ['receipt'],
    })
    const { receipt } = body
    for (const more of [
      { costs: { 'Bad Unit!': 1 } },
      { cost: -1 },
      { dry_run: true },
      { idempotency_key: 'k' },
    ])
      expect((await post('/v1/refund', { receipt, ...more })).status).toBe(400)
    expect((await post('/v1/refund', { receipt, cost: 2 })).body.refunded).toEqual({ requests: 2 })
  })

  it('honours the longest receipt that it gives', async () => {
    const user = 'é'.repeat(1024)
    const { body } = await post('/v1/check', {
      subject: { user, org: user, api_key: user },
      resource: '/daily',
      costs: { requests: 1, tokens: 1 },
      include: ['receipt'],
    })
    expect((await post('/v1/refund', { receipt: body.receipt })).body.refunded.requests).toBe(1)
  })

  it('knows no receipt but its own', async () => {
    const check = { subject: { user: someone() }, resource: '/hello', include: ['receipt'] }
    const { body } = await post('/v1/check', check)
    const forged = body.receipt.replace(',1,', ',3,')
    for (const receipt of [
      forged,
      `${body.receipt}x`,
      'r;1;1;0.AAAAAAAAAAA',
      '',
      'x'.repeat(20_000),
    ]) {
      const refund = await post('/v1/refund', { receipt })
      expect([refund.status, refund.body.error.code]).toEqual([404, 'unknown_receipt'])
    }
    const settle = await post('/v1/settle', { reservation: body.receipt, cost: 0 })
    expect(settle.status).toBe(404)
  })

  it('grants without a receipt', async () => {
    const check = { subject: { user: someone() }, resource: '/hello' }
    await post('/v1/check', { ...check, cost: 3 })
    const { body } = await post('/v1/refund', { ...check, cost: 2 })
    expect([body.refunded, body.limits[0].remaining]).toEqual([{ requests: 2 }, 2])
  })

  it('resets a subject, of all rules or of one', async () => {
    const subject = { user: someone() }
    await post('/v1/check', { subject, resource: '/hello', cost: 3 })
    expect((await post('/v1/reset', { subject, rule: 'search' })).body).toEqual({ reset: 0 })
    expect((await post('/v1/reset', { subject })).body.reset).toBeGreaterThan(0)
    expect(await remainingOf({ subject, resource: '/hello' })).toBe(3)
    const unknown = await post('/v1/reset', { subject, rule: 'nix' })
    expect([unknown.status, unknown.body.error.field]).toEqual([400, 'rule'])
  })

  it('settles an estimate once', async () => {
    const subject = { org: someone() }
    const check = { subject, resource: '/chat', costs: { tokens: 1500 } }
    const { body } = await post('/v1/reserve', { ...check, include: ['receipt'] })
    expect(body.receipt).toBeNull()
    const settle = { reservation: body.reservation, costs: { tokens: 900 } }
    for (let i = 0; i < 2; i++) {
      const { body: settled } = await post('/v1/settle', settle)
      expect(settled).toEqual({ given_back: { tokens: 600 }, taken: {} })
    }
    const more = (await post('/v1/reserve', check)).body.reservation
    const { body: taken } = await post('/v1/settle', { reservation: more, costs: { tokens: 2000 } })
    expect(taken).toEqual({ given_back: {}, taken: { tokens: 500 } })
    const none = await post('/v1/settle', { reservation: more })
    expect([none.status, none.body.error.field]).toEqual([400, 'cost'])
    const zero = (await post('/v1/reserve', check)).body.reservation
    expect(
      (await post('/v1/settle', { reservation: zero, costs: { tokens: 0 } })).body.given_back,
    ).toEqual({
      tokens: 1500,
    })
  })
})

describe('holds', () => {
  it('gives places, renews and releases them', async () => {
    const check = { subject: { org: someone() }, resource: '/jobs' }
    const first = (await post('/v1/check', check)).body
    const second = (await post('/v1/check', check)).body
    expect((await post('/v1/check', check)).status).toBe(429)
    expect(Date.parse(first.hold_expires_at)).toBeGreaterThan(Date.now() + 50_000)
    const renewed = await post('/v1/renew', { hold: first.hold })
    expect(renewed.body.hold).toBe(first.hold)
    expect((await post('/v1/release', { hold: first.hold })).body).toEqual({ released: true })
    expect((await post('/v1/release', { hold: first.hold })).body).toEqual({ released: false })
    const lost = await post('/v1/renew', { hold: first.hold })
    expect([lost.status, lost.body.error.code]).toEqual([404, 'lost'])
    expect((await post('/v1/check', check)).status).toBe(200)
    expect((await post('/v1/release', { hold: second.hold })).body).toEqual({ released: true })
  })

  it("takes a caller's own id, with the request it is for", async () => {
    const check = { subject: { org: someone() }, resource: '/jobs', hold: 'job-7' }
    expect((await post('/v1/check', check)).body.hold).toBe('job-7')
    expect((await post('/v1/renew', check)).status).toBe(200)
    expect((await post('/v1/renew', { hold: 'job-7' })).status).toBe(404)
    expect((await post('/v1/release', check)).body).toEqual({ released: true })
  })
})

describe('GET /v1/auth', () => {
  it('decides by headers and answers by status', async () => {
    const headers = { 'X-Sluice-Scope-User': someone(), 'X-Sluice-Resource': '/hello' }
    for (const left of ['2', '1', '0']) {
      const yes = await get('/v1/auth', headers)
      expect([yes.status, yes.text, yes.headers['x-ratelimit-remaining']]).toEqual([200, '', left])
    }
    const no = await get('/v1/auth', headers)
    expect([no.status, no.text, no.headers['retry-after']]).toEqual([429, '', '4'])
    expect((await get('/v1/auth?deny=403', headers)).status).toBe(403)
    const blocked = await get('/v1/auth', { 'X-Sluice-Scope-User': 'mallory' })
    expect([blocked.status, blocked.text]).toEqual([403, ''])
    expect((await get('/v1/auth', { 'X-Sluice-Scope-Nobody': 'x' })).status).toBe(403)
  })
})

describe('what is not there', () => {
  it('is 404, or 405 with what there is', async () => {
    const missing = await it_.get('/v1/nothing')
    expect([missing.status, missing.body.error.code]).toEqual([404, 'not_found'])
    const method = await it_.get('/v1/check')
    expect([method.status, method.headers['allow']]).toEqual([405, 'POST'])
  })
})

describe('operating it', () => {
  it('is healthy and ready', async () => {
    expect((await get('/healthz')).body).toEqual({ status: 'ok' })
    const { body } = await get('/readyz')
    expect(body).toMatchObject({ ready: true, store: { kind: 'memory' }, rules: { revision: 1 } })
  })

  it('describes itself, and answers every route as described', async () => {
    expect((await get('/v1/openapi.json')).body.openapi).toBe('3.1.0')
    await get('/metrics')
    const described = ROUTE_IDS.map(routeOf)
      .filter(({ kind }) => kind !== 'control')
      .map(({ method, path }) => `${method} ${path}`)
    expect([...asked].sort()).toEqual(described.sort())
  })
})
