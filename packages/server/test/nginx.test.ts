/** The documented nginx configuration, attacked as an end client would: by the bytes that it can send. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort, RedisServer } from '../../limiter/test/redis/servers.js'
import { type ClientAnswer, DocumentedNginx } from './documented-nginx.js'
import { startService, type TestService } from './service.js'

const RULES = `
rules:
  login: { scope: ip, resource: /api/login, limits: 3/d fixed }
  things: { scope: ip, resource: /api/things/*, limits: 3/d fixed }
  export: { scope: ip, resource: /api/export, limits: 10/d fixed, tiers: { pro: 1000/d fixed } }
  posts: { scope: ip, resource: POST /api/posts, limits: 3/d fixed }
  users: { scope: user, resource: /api/profile, limits: 3/d fixed }
tiers: { pro: [user:paula] }
costs: { /api/export: 5 }
exemptions: [org:internal, ip:192.0.2.1]
blocks: [user:mallory, user:zoë]
`

/** Clients have addresses of their own, all of this machine. */
let clients = 0
const newClient = () => `127.7.${Math.floor(clients / 250)}.${(clients++ % 250) + 1}`

/** What a test has started is stopped after it, also where it fails. */
const started: { stop(): Promise<void> }[] = []
async function begun<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const one = await starting
  started.push(one)
  return one
}
afterEach(async () => {
  for (const one of started.splice(0).toReversed()) await one.stop()
})

describe('the documented nginx configuration', () => {
  let service: TestService
  let nginx: DocumentedNginx
  beforeAll(async () => {
    service = await startService({ rules: RULES })
    nginx = await DocumentedNginx.start({ sluicePort: service.port })
  })
  afterAll(async () => {
    await nginx.stop()
    await service.stop()
  })

  /** The statuses of so many requests of one client. */
  const statusesOf = async (
    count: number,
    ask: (from: string, i: number) => Promise<ClientAnswer>,
  ) => {
    const from = newClient()
    const statuses: number[] = []
    for (let i = 0; i < count; i++) statuses.push((await ask(from, i)).status)
    return statuses
  }
  const THREE = [200, 200, 200, 429, 429]

  it('lets through what is allowed, and refuses the rest with when to come back', async () => {
    const from = newClient()
    for (const remaining of ['2', '1', '0']) {
      const answer = await nginx.get('/api/things/7?page=2', [], from)
      expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('from the API')])
      expect(answer.head).toContain(`X-RateLimit-Remaining: ${remaining}`)
    }
    const passed = nginx.passed.length
    const no = await nginx.get('/api/things/7?page=2', [], from)
    expect([no.status, no.body]).toEqual([429, 'too many requests\n'])
    expect(no.head).toContain('X-RateLimit-Limit: 3')
    expect(Number(/Retry-After: (\d+)/.exec(no.head)?.[1])).toBeGreaterThan(0)
    expect(nginx.passed).toHaveLength(passed)
  })

  it('answers 403 for a block, also of a name that is not ASCII', async () => {
    expect((await nginx.get('/api/profile', ['X-User: mallory'])).status).toBe(403)
    const zoe = Buffer.from('zoë').toString('latin1')
    expect((await nginx.get('/api/profile', [`X-User: ${zoe}`])).status).toBe(403)
    expect((await nginx.get('/api/profile', ['X-User: zo%C3%AB'])).status).toBe(200)
  })

  it.each([
    ['an idempotency key', ['X-Idempotency-Key: same']],
    ['a subject', ['X-Sluice-Subject: org=internal']],
    ['an exempt scope', ['X-Sluice-Scope-Org: internal']],
    ['another address', ['X-Sluice-Scope-Ip: 192.0.2.1']],
    ['another address twice', ['X-Sluice-Scope-Ip: 192.0.2.1', 'X-Sluice-Scope-Ip: 192.0.2.1']],
    ['names with underscores', ['X_Sluice_Scope_Org: internal', 'X_User: paula']],
    ['another resource', ['X-Sluice-Resource: /free']],
    ['another method', ['X-Sluice-Method: PURGE', 'X-HTTP-Method-Override: PURGE']],
    ['a cost', ['X-Sluice-Cost: 0', 'X-Sluice-Cost: x']],
    ['a namespace', ['X-Sluice-Namespace: other']],
    ['a foreign origin', ['Origin: https://evil.example']],
    ['a token', ['Authorization: Bearer wrong']],
    ['a forwarded address', ['X-Forwarded-For: 192.0.2.1', 'X-Real-IP: 192.0.2.1']],
    ['another URL', ['X-Original-URL: /free', 'X-Rewrite-URL: /free', 'X-Forwarded-Uri: /free']],
    ['headers that it calls hop-by-hop', ['Connection: X-Sluice-Scope-Ip, X-Sluice-Resource']],
    ['an upgrade', ['Upgrade: websocket', 'Connection: upgrade']],
    ['an expectation', ['Expect: 100-continue']],
    ['a trace', ['traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']],
    ['a user that names a scope', ['X-User: ada, org=internal']],
    ['a user that ends a header', ['X-User: ada%0d%0aX-Sluice-Scope-Org: internal']],
    ['two users', ['X-User: ada', 'X-User: org=internal']],
  ])('counts the same for a client that sends %s', async (_, lines) => {
    const ask = (from: string) => nginx.get('/api/login', lines, from)
    expect(await statusesOf(5, ask)).toEqual(THREE)
  })

  it('charges what the rules say, whatever cost or tier a client sends', async () => {
    const lines = ['X-Sluice-Cost: 1', 'X-Sluice-Tier: pro', 'X-Sluice-Costs: requests=1']
    const ask = (from: string) => nginx.get('/api/export', lines, from)
    expect(await statusesOf(4, ask)).toEqual([200, 200, 429, 429])
  })

  it.each([
    '/api/%6cogin',
    '/api/%6Cogin',
    '/api//login',
    '/api/./login',
    '/api/%2e/login',
    '/x/../api/login',
    '/x/%2e%2E/api/login',
    '/api/x/../login',
    '/api/login/',
    '/api/login//',
    '/api/login/.',
    '/api/login/x/..',
    '/api/login?a=b',
    '/api/login?',
    '/api/login?a#b',
  ])('counts %s as /api/login', async (path) => {
    const ask = (from: string, i: number) => nginx.get(i % 2 === 0 ? path : '/api/login', [], from)
    expect(await statusesOf(5, ask)).toEqual(THREE)
  })

  it.each([
    ['a path', 'GET //api/api/login HTTP/1.1'],
    ['an absolute target', 'GET http://api.example//api/api/login HTTP/1.1'],
  ])(
    'refuses two slashes at the beginning, which name a host to some servers: %s',
    async (_, line) => {
      const before = nginx.passed.length
      const { status } = await nginx.send(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect([status, nginx.passed.length - before]).toEqual([400, 0])
    },
  )

  it('counts all spellings that get through together', async () => {
    const spellings = Array.from({ length: 30 }, (_, i) => {
      const letters = 'things'.split('')
      const encoded = letters.map((c, at) =>
        (i >> at) & 1 ? `%${c.charCodeAt(0).toString(16)}` : c,
      )
      return `/api/${encoded.join('')}/7`
    })
    const statuses = await statusesOf(30, (from, i) => nginx.get(spellings[i]!, [], from))
    expect(statuses.filter((status) => status === 200)).toHaveLength(3)
  })

  it.each<[string, (path: string) => string]>([
    ['HTTP/1.0', (path) => `GET ${path} HTTP/1.0\r\n\r\n`],
    ['HTTP/1.0 with a host', (path) => `GET ${path} HTTP/1.0\r\nHost: x\r\n\r\n`],
    [
      'an absolute target',
      (path) => `GET http://api.example${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    ],
    [
      'an absolute target with another scheme and user',
      (path) =>
        `GET HTTPS://api.example:99${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    ],
    ['a HEAD', (path) => `HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
    [
      'a body',
      (path) =>
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello`,
    ],
    [
      'a chunked body',
      (path) =>
        `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    ],
    [
      'a body that holds a request',
      (path) => {
        const inner = 'GET /v1/auth HTTP/1.1\r\nHost: localhost\r\n\r\n'
        return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\nConnection: close\r\n\r\n${inner}`
      },
    ],
    [
      'another host',
      (path) => `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    ],
  ])('limits %s as any other request', async (_, bytes) => {
    const ask = (from: string) => nginx.send(bytes('/api/login'), from)
    expect(await statusesOf(5, ask)).toEqual(THREE)
  })

  it('limits each of the requests that come at once on one connection', async () => {
    const from = newClient()
    const one = 'GET /api/login HTTP/1.1\r\nHost: x\r\n\r\n'
    const last = 'GET /api/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const { head, body } = await nginx.send(one.repeat(9) + last, from)
    const statuses = [...`${head}${body}`.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).toHaveLength(10)
    expect(statuses.filter((status) => status === '200')).toHaveLength(3)
  })

  it('limits many that come at the same time', async () => {
    const from = newClient()
    const all = await Promise.all(
      Array.from({ length: 40 }, () => nginx.get('/api/login', ['X-Idempotency-Key: k'], from)),
    )
    expect(all.filter(({ status }) => status === 200)).toHaveLength(3)
  })

  it('counts a method by what the client really sends', async () => {
    const ask = (from: string) =>
      nginx.send(
        'POST /api/posts HTTP/1.1\r\nHost: x\r\nX-Sluice-Method: GET\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
        from,
      )
    expect(await statusesOf(5, ask)).toEqual(THREE)
  })

  it.each<[string, string, readonly string[]]>([
    ['a path of 3,000 characters', `/api/${'x'.repeat(3000)}`, []],
    ['a path of 3,000 encoded characters', `/api/${'%78'.repeat(1000)}`, []],
    ['a path with .. after repeated slashes', '/api/login//..', []],
    ['a path with a backslash', '/api/x\\..\\login', []],
    ['a path with a #', '/api/things#/7', []],
    ['a user that is not UTF-8', '/api/profile', ['X-User: zo\xeb']],
    ['a user with a tab', '/api/profile', ['X-User: a\tb']],
    ['a user with a control character', '/api/profile', ['X-User: a\x01b']],
    ['a user of 2,000 characters', '/api/profile', [`X-User: ${'x'.repeat(2000)}`]],
    ['more than Sluice reads', `/api/${'x'.repeat(7900)}`, [`X-User: ${'x'.repeat(8100)}`]],
  ])('answers 400 to %s', async (_, path, lines) => {
    const passed = nginx.passed.length
    const answer = await nginx.get(path, lines)
    expect([answer.status, answer.body]).toEqual([400, 'bad request\n'])
    expect(nginx.passed).toHaveLength(passed)
  })

  it('does not mind a long query, which nobody compares', async () => {
    expect((await nginx.get(`/api/free?${'x'.repeat(5000)}`)).status).toBe(200)
  })

  it('does not let clients ask Sluice themselves', async () => {
    expect((await nginx.get('/sluice')).status).toBe(404)
    expect((await nginx.get('/%73luice')).status).toBe(404)
    expect((await nginx.get('/api/../sluice')).status).toBe(404)
  })
})

/** What a client can send that Sluice refuses: none may pass for an outage. */
const REFUSED: readonly [string, string, readonly string[], number][] = [
  ['a path of 3,000 characters', `/api/${'x'.repeat(3000)}`, [], 400],
  ['a control character', '/api/profile', ['X-User: a\x01b'], 400],
  ['bytes that are no UTF-8', '/api/profile', ['X-User: \xff'], 400],
  ['a head of 17,000 bytes', '/api/profile', [`X-User: ${'x'.repeat(17_000)}`], 400],
  ['a head of 60,000 bytes', '/api/profile', [`X-User: ${'x'.repeat(60_000)}`], 400],
  ['a head of 250,000 bytes', '/api/profile', [`X-User: ${'x'.repeat(250_000)}`], 400],
  ['an idempotency key', '/api/profile', ['X-Idempotency-Key: k', 'X-Sluice-Cost: x'], 200],
  ['a blocked user', '/api/profile', ['X-User: mallory'], 403],
]
const LARGE_HEADERS = 'large_client_header_buffers 4 512k;'

describe('the configuration that lets requests through when Sluice is away', () => {
  it.each(REFUSED)('does not take %s for that', async (_, path, lines, status) => {
    const service = await begun(startService({ rules: RULES }))
    const nginx = await begun(
      DocumentedNginx.start({
        sluicePort: service.port,
        failsOpen: true,
        more: LARGE_HEADERS,
      }),
    )
    // The second one comes on a connection that was used before.
    for (const expected of [status, status]) {
      const passed = nginx.passed.length
      expect((await nginx.get(path, lines)).status).toBe(expected)
      expect(nginx.passed).toHaveLength(passed + (expected === 200 ? 1 : 0))
    }
  })

  it('still denies', async () => {
    const service = await begun(startService({ rules: RULES }))
    const nginx = await begun(DocumentedNginx.start({ sluicePort: service.port, failsOpen: true }))
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) statuses.push((await nginx.get('/api/login')).status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('lets requests through to an unreachable Sluice, and only with its lines', async () => {
    const sluicePort = await freePort()
    const open = await begun(DocumentedNginx.start({ sluicePort, failsOpen: true }))
    const answer = await open.get('/api/login')
    expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('from the API')])
    expect(open.passed).toHaveLength(1)
    const closed = await begun(DocumentedNginx.start({ sluicePort }))
    expect((await closed.get('/api/login')).status).toBe(500)
    expect(closed.passed).toHaveLength(0)
  })

  it('does not open a closed rule whose store is away', async () => {
    const redis = await RedisServer.start()
    const rules = `rules:
  login: { scope: ip, resource: /api/login, limits: 3/d fixed, failure_mode: closed }
  free: { scope: ip, resource: /api/free, limits: 3/d fixed, failure_mode: open }
`
    const service = await begun(startService({ rules, flags: { redis: redis.url } }))
    const nginx = await begun(DocumentedNginx.start({ sluicePort: service.port, failsOpen: true }))
    expect((await nginx.get('/api/login')).status).toBe(200)
    await redis.stop()
    const direct = await service.get('/v1/auth?deny=403', {
      'X-Sluice-Scope-Ip': '127.0.0.1',
      'X-Sluice-Resource': '/api/login',
    })
    expect([direct.status, direct.headers['x-sluice-reason']]).toEqual([503, 'store_down'])
    expect((await nginx.get('/api/login')).status).toBe(503)
    expect((await nginx.get('/api/free')).status).toBe(200)
    expect(nginx.passed).toHaveLength(2)
  })
})

describe('the configuration with a token', () => {
  const token = 't'.repeat(32)

  it('passes with the right one, whatever the client shows', async () => {
    const service = await begun(startService({ rules: RULES, token }))
    const nginx = await begun(DocumentedNginx.start({ sluicePort: service.port, token }))
    const lines = ['Authorization: Bearer wrong']
    expect((await nginx.get('/api/login', lines)).status).toBe(200)
    expect(nginx.passed[0]!.headers.authorization).toBe('Bearer wrong')
  })

  it.each([true, false])(
    'with a wrong one lets nobody through; fails open: %s',
    async (failsOpen) => {
      const service = await begun(startService({ rules: RULES, token }))
      const wrong = 'w'.repeat(32)
      const nginx = await begun(
        DocumentedNginx.start({
          sluicePort: service.port,
          token: wrong,
          failsOpen,
        }),
      )
      const answer = await nginx.get('/api/login')
      expect(answer.status).toBe(500)
      expect(nginx.passed).toHaveLength(0)
    },
  )
})
