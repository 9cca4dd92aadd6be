/** `GET /v1/auth`: what is read of a gateway's headers, and what is not. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { type TestService } from '../service.js'
import { AUTH_RULES, authServices, errorOf, rawErrorOf, request, sent } from './auth-caller.js'

const { service: sharedService, another } = authServices()
let service: TestService
beforeAll(() => {
  service = sharedService()
})

let count = 0
const someone = () => `user-${count++}`
const get = (headers: Record<string, string>, path = '/v1/auth') => service.get(path, headers)
const login = (user: string, more = {}) =>
  get({ 'X-Sluice-Scope-User': user, 'X-Sluice-Resource': '/login', ...more })

describe('the subject', () => {
  it('has a header for each scope, whose hyphens stand for underscores and whose case does not matter', async () => {
    const names = ['X-Sluice-Scope-Api-Key', 'x-sluice-scope-api_key', 'X-SLUICE-SCOPE-API-KEY']
    const resource = { 'X-Sluice-Resource': '/keys' }
    const key = someone()
    const statuses: number[] = []
    for (const name of names) statuses.push((await get({ [name]: key, ...resource })).status)
    expect(statuses).toEqual([200, 429, 429])
    expect((await get({ 'X-Sluice-Scope-Team': key, 'X-Sluice-Resource': '/teams' })).status).toBe(
      200,
    )
  })

  it('is the whole value, with commas and equals signs', async () => {
    const user = `${someone()}, org=internal; a="b"`
    for (const left of ['2', '1', '0'])
      expect((await login(user)).headers['x-ratelimit-remaining']).toBe(left)
    const { body } = await service.post('/v1/quota', { subject: { user }, resource: '/login' })
    expect([body.remaining, body.scope]).toEqual([0, 'user'])
  })

  it('is read as UTF-8, so that a block of such a name holds', async () => {
    const zoe = Buffer.from('zoë').toString('latin1')
    const answer = await login(zoe)
    expect([answer.status, answer.headers['x-sluice-reason']]).toEqual([403, 'blocked'])
    const long = '日本'.repeat(100)
    const user = Buffer.from(long).toString('latin1')
    expect((await login(user)).status).toBe(200)
    const quota = await service.post('/v1/quota', { subject: { user: long }, resource: '/login' })
    expect(quota.body.remaining).toBe(2)
  })

  it('has no scope whose value is empty, and may have none at all', async () => {
    const headers = { 'X-Sluice-Scope-User': '', 'X-Sluice-Scope-Nobody': '' }
    const statuses: number[] = []
    for (let i = 0; i < 2; i++)
      statuses.push((await get({ ...headers, 'X-Sluice-Resource': '/all' })).status)
    expect(statuses).toEqual([200, 429])
    for (let i = 0; i < 5; i++) expect((await login('')).status).toBe(200)
  })
})

describe('what a client could send through a gateway', () => {
  it('does not replay an admission by an idempotency key', async () => {
    const user = someone()
    const statuses: number[] = []
    for (let i = 0; i < 5; i++)
      statuses.push((await login(user, { 'X-Idempotency-Key': 'same' })).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
  })

  it('sets neither cost nor tier, whatever is sent', async () => {
    const user = someone()
    const more = { 'X-Sluice-Cost': 'nonsense', 'X-Sluice-Tier': '!', 'X-Sluice-Dry-Run': 'true' }
    expect((await login(user, more)).headers['x-ratelimit-remaining']).toBe('2')
    const dear = { 'X-Sluice-Scope-User': user, 'X-Sluice-Resource': '/dear', 'X-Sluice-Cost': '1' }
    expect((await get(dear)).headers['x-ratelimit-remaining']).toBe('1')
    const team = { 'X-Sluice-Scope-Team': user, 'X-Sluice-Resource': '/teams' }
    const statuses: number[] = []
    for (let i = 0; i < 3; i++)
      statuses.push((await get({ ...team, 'X-Sluice-Tier': 'pro' })).status)
    expect(statuses).toEqual([200, 429, 429])
  })

  it('is not refused for an Origin, nor for headers that are there twice and are not read', async () => {
    expect((await login(someone(), { Origin: 'https://evil.example' })).status).toBe(200)
    const lines = [`X-Sluice-Scope-User: ${someone()}`, 'X-Sluice-Resource: /login']
    const twice = ['X-Sluice-Cost: 1', 'X-Sluice-Cost: 2', 'X-Idempotency-Key: a', 'Accept: a']
    const answer = await sent(
      request([...lines, ...twice, 'X-Idempotency-Key: b', 'Accept: b']),
      service,
    )
    expect(answer?.status).toBe(200)
  })

  it('does not push out what the gateway says at the end, however many headers it has', async () => {
    const user = someone()
    const many = Array.from({ length: 2500 }, () => 'a:')
    const own = [`X-Sluice-Scope-User: ${user}`, 'X-Sluice-Resource: /login']
    const statuses: (number | undefined)[] = []
    for (let i = 0; i < 4; i++)
      statuses.push((await sent(request([...many, ...own]), service))?.status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it.each(['/%6cogin', '//login', '/./login', '/x/../login', '/login/', '/login?x'])(
    'is limited however the path is spelled: %s',
    async (resource) => {
      const user = someone()
      for (let i = 0; i < 3; i++) await login(user)
      expect((await login(user, { 'X-Sluice-Resource': resource })).status).toBe(429)
    },
  )
})

describe('a rules file', () => {
  it('that changes only how paths are normalised is in force when it is saved', async () => {
    const one = await another({})
    const asked = { 'X-Sluice-Scope-User': 'ada', 'X-Sluice-Resource': '/LOGIN/' }
    const limitOf = async () => (await one.get('/v1/auth', asked)).headers['x-ratelimit-limit']
    expect(await limitOf()).toBeUndefined()
    writeFileSync(join(one.folder, 'sluice.yaml'), `normalize: { fold_case: on }\n${AUTH_RULES}`)
    await until('it is in force', async () => (await limitOf()) === '3')
    const check = { subject: { user: 'bob' }, resource: '/LOGIN/' }
    expect((await one.post('/v1/check', check)).body.rule).toBe('login')
  })
})

describe('--auth-headers', () => {
  it('allows cost, tier and idempotency key, each by itself', async () => {
    const one = await another({ flags: { 'auth-headers': 'cost,tier,idempotency-key' } })
    const asked = { 'X-Sluice-Scope-Team': 'red', 'X-Sluice-Resource': '/teams' }
    const more = { 'X-Sluice-Tier': 'pro', 'X-Sluice-Cost': '2', 'X-Idempotency-Key': 'k' }
    for (let i = 0; i < 2; i++) {
      const answer = await one.get('/v1/auth', { ...asked, ...more })
      expect([answer.status, answer.headers['x-ratelimit-remaining']]).toEqual([200, '3'])
    }
    const conflict = await one.get('/v1/auth', { ...asked, ...more, 'X-Sluice-Cost': '3' })
    expect(errorOf(conflict)).toEqual([403, 'idempotency_conflict'])
    const only = await another({ flags: { 'auth-headers': 'cost' } })
    const dear = await only.get('/v1/auth', { ...asked, 'X-Sluice-Cost': '2' })
    expect([dear.status, dear.headers['x-sluice-reason']]).toEqual([429, 'too_expensive'])
    const tier = await only.get('/v1/auth', { ...asked, 'X-Sluice-Tier': 'pro' })
    expect(tier.headers['x-ratelimit-limit']).toBe('1')
  })

  it.each([
    ['X-Sluice-Cost', 'x'],
    ['X-Sluice-Cost', '0x10'],
    ['X-Sluice-Cost', '0'],
    ['X-Sluice-Tier', '!'],
    ['X-Idempotency-Key', 'x'.repeat(256)],
  ])('refuses a bad %s: %s', async (name, value) => {
    const one = await another({ flags: { 'auth-headers': 'cost,tier,idempotency-key' } })
    const answer = await one.get('/v1/auth', { 'X-Sluice-Scope-User': 'ada', [name]: value })
    expect([...errorOf(answer), answer.body.error.field]).toEqual([403, 'bad_request', name])
  })
})

describe('a no', () => {
  it('says whether it is a denial or a block', async () => {
    const user = someone()
    for (let i = 0; i < 3; i++) await login(user)
    const denied = await login(user)
    expect([denied.status, denied.headers['x-sluice-reason']]).toEqual([429, 'limited'])
    expect([denied.text, denied.headers['x-sluice-error']]).toEqual(['', undefined])
    const asked = { 'X-Sluice-Scope-User': user, 'X-Sluice-Resource': '/login' }
    const as403 = await get(asked, '/v1/auth?deny=403')
    expect([as403.status, as403.headers['x-sluice-reason']]).toEqual([403, 'limited'])
    const blocked = await login('mallory')
    expect([blocked.status, blocked.headers['x-sluice-reason']]).toEqual([403, 'blocked'])
    expect((await login(someone())).headers['x-sluice-reason']).toBeUndefined()
  })
})

describe('X-Sluice-Subject', () => {
  it('still names one scope, with a warning in the log once and in every answer', async () => {
    const one = await another({})
    const ask = (subject: string, more = {}) =>
      one.get('/v1/auth', { 'X-Sluice-Subject': subject, 'X-Sluice-Resource': '/login', ...more })
    for (const left of ['2', '1', '0']) {
      const answer = await ask('user=a=b')
      expect([answer.status, answer.headers['x-ratelimit-remaining']]).toEqual([200, left])
      expect(answer.headers['deprecation']).toMatch(/^@\d{10}$/)
    }
    const denied = await ask('user=a=b')
    expect([denied.status, denied.headers['deprecation'] !== undefined]).toEqual([429, true])
    expect((await ask('user=')).status).toBe(200)
    const warned = one.log.filter(({ code }) => code === 'deprecated_header')
    expect(warned.map(({ level }) => level)).toEqual(['warn'])
    const plain = await one.get('/v1/auth', { 'X-Sluice-Scope-User': 'ada' })
    expect(plain.headers['deprecation']).toBeUndefined()
  })

  it.each([
    ['a second scope', 'user=mallory, org=internal'],
    ['a comma in a value', 'user=a,b'],
    ['a comma at the end', 'user=ada,'],
    ['no scope', 'ada'],
    ['an empty scope', '=ada'],
    ['a dangerous name', '__proto__=ada'],
  ])('is refused with %s: %s', async (_, subject) => {
    expect(errorOf(await get({ 'X-Sluice-Subject': subject }))).toEqual([403, 'bad_request'])
  })

  it('is warned about also where it is refused, as older gateways send it', async () => {
    const one = await another({})
    await one.get('/v1/auth', { 'X-Sluice-Scope-Usr': 'x' })
    await one.get('/v1/auth', { 'X-Sluice-Subject': 'ip=192.0.2.7, user=ada' })
    const warned = one.log.filter(({ level }) => level === 'warn')
    expect(warned.map(({ code }) => code)).toEqual(['bad_request', 'deprecated_header'])
  })

  it('is refused twice, and beside a header for a scope', async () => {
    const lines = ['X-Sluice-Subject: user=ada', 'X-Sluice-Subject: org=acme']
    expect(rawErrorOf(await sent(request(lines), service))).toEqual([403, 'bad_request'])
    const both = { 'X-Sluice-Subject': 'org=internal', 'X-Sluice-Scope-User': 'ada' }
    const answer = await get(both)
    expect([...errorOf(answer), answer.body.error.message]).toEqual([
      403,
      'bad_request',
      expect.stringContaining('X-Sluice-Scope-User'),
    ])
  })
})

describe('the head of an answer', () => {
  it('fits into what nginx has for it, however many limits apply', async () => {
    const name = (i: number) => `${'long-'.repeat(18)}${i}`
    const rules = Array.from(
      { length: 12 },
      (_, i) => `  ${name(i)}: { scope: user, additive: true, limits: [${i + 5}/s, ${i + 50}/h] }`,
    )
    const many = await another({ rules: `rules:\n${rules.join('\n')}\n` })
    const lines = ['X-Sluice-Scope-User: ada', 'X-Sluice-Resource: /a']
    const statuses: number[] = []
    for (let i = 0; i < 7; i++) {
      const { status, head } = (await sent(request(lines), many))!
      expect(Buffer.byteLength(head)).toBeLessThan(4096)
      expect(head).toMatch(/x-ratelimit-remaining/i)
      statuses.push(status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
  })
})
