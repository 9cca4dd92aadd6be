import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../limiter/test/redis/servers.js'
import { startService, type TestService } from '../service.js'
import { run, shown } from './command.js'

const RULES = `
tiers: { pro: [user:grace] }
rules:
  hello: { scope: user, resource: /hello, limits: 3 per 300d }
  per-user: { scope: user, limits: [10 per 1d fixed, 1000 per 1d fixed], tiers: { pro: 50 per 1d fixed } }
  search: { scope: user, resource: GET /v1/search, limits: 100 per 1d fixed }
  chat: { scope: org, resource: POST /chat, unit: tokens, limits: 1000 per 1d fixed }
  jobs: { scope: org, resource: /jobs, limits: 2 concurrent for 60s }
  slow: { scope: org, resource: /slow, limits: 1 per 10s queue 5 }
costs: { GET /v1/search: 2 }
exemptions: [user:robot]
blocks:
  - { ip: 198.51.100.0/24, reason: card testing }
`
const TOKEN = 'a-token-of-more-than-sixteen-letters'

let service: TestService
let guarded: TestService
beforeAll(async () => {
  service = await startService({ rules: RULES })
  guarded = await startService({ rules: RULES, token: TOKEN })
})
afterAll(async () => {
  await service.stop()
  await guarded.stop()
})

/** Asks the service of these rules. */
const ask = (line: string, options = {}) =>
  run(line, { environment: { SLUICE_SERVER: `localhost:${service.port}` }, ...options })
const steady = (text: string) =>
  text.replace(/\d+(\.\d)? s\b/g, 'N s').replace(/\d\d:\d\d:\d\d/, 'HH:MM:SS')

describe('check', () => {
  it('says what is left, and that nothing is', async () => {
    expect(shown(await ask('check user:42 GET /v1/search'))).toMatchInlineSnapshot(`
      "
      allowed  search  98 of 100 left
      [0]
      "
    `)
    for (let i = 0; i < 3; i++) expect((await ask('check user:ada /hello')).code).toBe(0)
    const denied = await ask('check user:ada /hello')
    expect(shown({ ...denied, out: denied.out.replace(/\d+ d$/m, 'N d') })).toMatchInlineSnapshot(`
      "
      denied  hello  next in N d
      [6]
      "
    `)
  })

  it('has a tab between columns in a pipe', async () => {
    const { out } = await ask('check user:pipe GET /v1/search', { isTerminal: false })
    expect(out).toBe('allowed\tsearch\t98 of 100 left\n')
  })

  it('has words for every outcome', async () => {
    const lines = [
      'check ip:198.51.100.7 /hello',
      'check user:robot /hello',
      'check plan:free /hello',
      'check org:acme /nothing',
      'check user:big /hello --cost 4',
      'check org:acme POST /chat --costs tokens=400',
      'check org:acme POST /chat --costs tokens=4000',
      'check org:acme /jobs',
      'check user:dry GET /v1/search --dry-run',
      'check user:dry GET /v1/search --cost 7 --tier pro',
    ]
    const said: string[] = []
    for (const line of lines) said.push(`$ ${line}${steady(shown(await ask(line)))}`)
    expect(said.join('')).toMatchInlineSnapshot(`
      "$ check ip:198.51.100.7 /hello
      blocked  -  ip 198.51.100.7 is blocked: card testing
      [6]
      $ check user:robot /hello
      allowed  -  exempt
      [0]
      $ check plan:free /hello
      --- words
      subject.plan is not a scope of the rules; expected user, api_key, ip or org (bad_request; see: sluice help bad_request)
      [2]
      $ check org:acme /nothing
      allowed  -  no rule applies
      [0]
      $ check user:big /hello --cost 4
      denied  hello  never: costs more than the 3 it can hold
      [6]
      $ check org:acme POST /chat --costs tokens=400
      allowed  chat  600 of 1000 tokens left
      [0]
      $ check org:acme POST /chat --costs tokens=4000
      denied  chat  never: costs more than the 1000 tokens it can hold
      [6]
      $ check org:acme /jobs
      allowed  jobs  1 of 2 left; its place is held until HH:MM:SS UTC
      [0]
      $ check user:dry GET /v1/search --dry-run
      allowed  search  100 of 100 left
      --- words
      A dry run: nothing was counted.
      [0]
      $ check user:dry GET /v1/search --cost 7 --tier pro
      allowed  search  93 of 100 left
      [0]
      "
    `)
  })

  it('says how long a leaky bucket wants a request held back', async () => {
    await ask('check org:acme /slow')
    expect(steady(shown(await ask('check org:acme /slow')))).toMatchInlineSnapshot(`
      "
      allowed  slow  4 of 6 left; to be held back N s
      [0]
      "
    `)
  })

  it('counts nothing in a dry run', async () => {
    for (let i = 0; i < 5; i++) expect((await ask('check user:dora /hello --dry-run')).code).toBe(0)
    expect((await ask('check user:dora /hello')).out).toContain('2 of 3 left')
  })

  it('gives the answer as it came, as one JSON document', async () => {
    const { out, words, code } = await ask('check user:json /hello --json')
    expect(JSON.parse(out)).toMatchObject({ allowed: true, rule: 'hello', remaining: 2 })
    expect([words, code, out.trim().includes('\n')]).toEqual(['', 0, false])
    await ask('check user:json /hello --cost 2')
    const no = await ask('check user:json /hello --json')
    expect([JSON.parse(no.out).error.code, no.code]).toEqual(['limited', 6])
  })

  it('colours a yes and a no, where somebody looks', async () => {
    const environment = { SLUICE_SERVER: `localhost:${service.port}` }
    const painted = await run('check user:color GET /v1/search', { color: true, environment })
    expect(painted.out).toBe('\u001b[32mallowed\u001b[39m  search  98 of 100 left\n')
    const piped = await run('check user:color GET /v1/search', {
      color: true,
      environment,
      isTerminal: false,
    })
    expect(piped.out).not.toContain('\u001b')
    const dumb = await run('check user:color GET /v1/search', {
      color: true,
      environment: { ...environment, TERM: 'dumb' },
    })
    expect(dumb.out).not.toContain('\u001b')
  })
})

describe('explain', () => {
  it('says which rules apply and why, and counts nothing', async () => {
    const line = 'explain user:grace ip:203.0.113.9 GET /v1/search'
    expect(shown(await ask(line))).toMatchInlineSnapshot(`
      "
      ALLOWED by search, 100 of 100 left; nothing counted
        user  search        100/d fixed               100 left  /v1/search of search beats *
        user  per-user@pro  50/d fixed                -         set aside by search
        user  per-user      10/d fixed, 1000/d fixed  -         set aside by search
        ip    -             -                         -         no rule for ip
      tier pro, cost 2, revision 1
      [0]
      "
    `)
    expect(await ask(line)).toEqual(await ask(line))
  })

  it('says what is denied, blocked and exempt', async () => {
    await ask('check user:erin /hello --cost 3')
    const said: string[] = []
    for (const line of [
      'explain user:erin /hello',
      'explain ip:198.51.100.7 /hello',
      'explain user:robot /hello',
      'explain org:acme /nothing',
      'explain org:acme user:1 POST /chat --costs tokens=3',
    ])
      said.push(`$ ${line}${shown(await ask(line)).replace(/\d+ d;/, 'N d;')}`)
    expect(said.join('')).toMatchInlineSnapshot(`
      "$ explain user:erin /hello
      DENIED by hello, next in N d; nothing counted
        user  hello         3 per 300d                0 left  /hello of hello beats *
        user  per-user@pro  50/d fixed                -       is for tier pro, and the request's is none
        user  per-user      10/d fixed, 1000/d fixed  -       set aside by hello
      no tier, cost 1, revision 1
      [6]
      $ explain ip:198.51.100.7 /hello
      BLOCKED, ip 198.51.100.7 is blocked: card testing; nothing counted
      no tier, cost 1, revision 1
      [6]
      $ explain user:robot /hello
      ALLOWED, exempt; nothing counted
      no tier, cost 1, revision 1
      [0]
      $ explain org:acme /nothing
      ALLOWED, no rule applies; nothing counted
        org   -  -  -  no rule for org
        user  -  -  -  the request names no user
      no tier, cost 1, revision 1
      [0]
      $ explain org:acme user:1 POST /chat --costs tokens=3
      ALLOWED by chat, 600 of 1000 tokens left; nothing counted
        org   chat          1000/d fixed              600 left       the only rule of scope org
        user  per-user      10/d fixed, 1000/d fixed  10, 1000 left  the only rule of scope user
        user  per-user@pro  50/d fixed                -              is for tier pro, and the request's is none
      no tier, cost 1 + 3 tokens, revision 1
      [0]
      "
    `)
  })

  it('says to what a resource is normalised', async () => {
    const { out } = await ask('explain user:7 GET //v1/./search --normalize')
    expect(out).toContain('ALLOWED by search')
    expect(out).toContain('normalised to /v1/search, no tier, cost 2, revision 1')
  })

  it('has a tab between columns in a pipe, and no indent', async () => {
    const { out } = await ask('explain user:7 GET /v1/search', { isTerminal: false })
    expect(out.split('\n')[1]).toBe(
      'user\tsearch\t100/d fixed\t100 left\t/v1/search of search beats *',
    )
  })

  it('gives the answer as it came, as one JSON document', async () => {
    const { out, code } = await ask('explain user:7 GET /v1/search --json')
    expect(JSON.parse(out)).toMatchObject({ applied: [{ rule: 'search' }], revision: 1 })
    expect(code).toBe(0)
  })
})

describe('an answer', () => {
  const LEAN = {
    allowed: true,
    limit: 10,
    remaining: 4,
    reset_at: '2030-01-01T00:00:00.000Z',
    retry_after: null,
    state: 'normal',
    rule: 'a',
    scope: 'user',
  }
  const LIMIT = {
    rule: 'a',
    scope: 'user',
    unit: 'tokens',
    algorithm: 'fixed_window',
    amount: 10,
    limit: 10,
    window_seconds: 1,
    allowed: true,
    remaining: 4,
    reset_at: LEAN.reset_at,
    retry_after: null,
    shadow: false,
  }
  /** As servers answered that said everything every time. */
  const FULL = {
    reason: null,
    degraded: false,
    degraded_reason: null,
    delay: 0,
    limits: [],
    receipt: null,
  }
  const EXPLAINED = {
    resource: '/x',
    normalized: false,
    applied: [{ rule: 'a', scope: 'user', limits: ['10/s'], why: 'because' }],
    set_aside: [],
    absent_scopes: [],
    tier: null,
    tiers: {},
    cost: { requests: 1 },
    revision: 1,
  }

  /** What the command says to such an answer, and what it asked for. */
  async function answered(line: string, answer: object, status = 200) {
    let asked = ''
    let url = ''
    const other = createServer((request, response) => {
      url = request.url!
      request.on('data', (chunk) => (asked += chunk))
      request.on('end', () => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify(answer))
      })
    }).listen(0)
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const ran = await run(`${line} --server localhost:${port}`)
    other.close()
    return { ...ran, url, asked: JSON.parse(asked) }
  }

  it('is said in the same words whether it has every field or only those that say something', async () => {
    const said: string[] = []
    for (const [more, status] of [
      [{}, 200],
      [{ limits: [LIMIT] }, 200],
      [{ delay: 2 }, 200],
      [{ exempt: true, rule: null }, 200],
      [{ degraded: true, degraded_reason: 'timeout' }, 200],
      [{ allowed: false, retry_after: 3, reason: 'limited' }, 429],
      [{ allowed: false, reason: 'too_expensive', limits: [LIMIT] }, 429],
      [{ allowed: false, rule: null, reason: 'blocked', error: { code: 'x', message: 'no' } }, 403],
      [{ allowed: false, remaining: null, degraded: true, reason: 'store_down' }, 503],
    ] as const) {
      const lean = await answered('check user:1', { ...LEAN, ...more }, status)
      const full = await answered('check user:1', { ...LEAN, ...FULL, ...more }, status)
      expect(full).toEqual(lean)
      const explained = { ...EXPLAINED, decision: { ...LEAN, ...more } }
      const fully = { ...EXPLAINED, decision: { ...LEAN, ...FULL, ...more } }
      expect(await answered('explain user:1', fully)).toEqual(
        await answered('explain user:1', explained),
      )
      said.push(`${lean.out}${lean.words}`)
    }
    expect(`\n${said.join('')}`).toMatchInlineSnapshot(`
      "
      allowed  a  4 of 10 left
      allowed  a  4 of 10 tokens left
      allowed  a  4 of 10 left; to be held back 2 s
      allowed  -  exempt
      allowed  a  4 of 10 left; counted here alone: the store is away (timeout)
      denied  a  next in 3 s
      denied  a  never: costs more than the 10 tokens it can hold
      blocked  -  no
      refused  a  cannot be counted: the store is away
      "
    `)
  })

  it('has what the command needs, by being asked for it', async () => {
    const { asked, url } = await answered('check user:1 /x', LEAN)
    expect(asked).toEqual({ subject: { user: '1' }, resource: '/x' })
    // Not in the body, where servers of the previous release refuse it.
    expect(url).toBe('/v1/check?include=limits')
    const json = await answered('check user:1 --json', LEAN)
    expect(json.url).toBe('/v1/check?include=limits%2Creceipt')
    expect(JSON.parse(json.out)).toEqual(LEAN)
    const named = await answered('check user:1 --namespace shop', LEAN)
    expect(named.asked.namespace).toBe('shop')
  })
})

describe('arguments', () => {
  it('that are wrong are named, with exit code 2', async () => {
    const said: string[] = []
    for (const line of [
      'check',
      'check 42',
      'check user:1 user:2',
      'check user:1 GET POST',
      'check user:1 /a /b',
      'check user:1 --cost many',
      'check user:1 --cost 0',
      'check user:1 --costs tokens',
      'check user:1 --costs tokens=x',
      'check user:1 --namespace other',
      'check user:1 --server ftp://x',
      'check user:1 --dry-rum',
      'explain user:1 --rulse x',
    ]) {
      const ran = await ask(line)
      expect([line, ran.code, ran.out]).toEqual([line, 2, ''])
      said.push(`$ ${line}\n${ran.words}`)
    }
    expect(`\n${said.join('')}`).toMatchInlineSnapshot(`
      "
      $ check
      Missing required argument 'scope:value'.
      $ check 42
      "42" is neither scope:value (user:42) nor a method (GET) nor a path (/v1/search)
      $ check user:1 user:2
      user is named twice
      $ check user:1 GET POST
      "POST" is a second method; expected one
      $ check user:1 /a /b
      "/b" is a second resource; expected one
      $ check user:1 --cost many
      --cost is "many"; expected a whole number
      $ check user:1 --cost 0
      cost is 0; expected a whole number from 1 to 100000 (bad_request; see: sluice help bad_request)
      $ check user:1 --costs tokens
      --costs has "tokens"; expected unit=number, such as tokens=1500
      $ check user:1 --costs tokens=x
      --costs tokens is "x"; expected a whole number
      $ check user:1 --namespace other
      namespace is "other", which is not served here (unknown_namespace; see: sluice help unknown_namespace)
      $ check user:1 --server ftp://x
      --server cannot be read; expected an address such as http://localhost:4290
      $ check user:1 --dry-rum
      Unknown option '--dry-rum'. Did you mean --dry-run?
      $ explain user:1 --rulse x
      Unknown option '--rulse'. Did you mean --rules?
      "
    `)
  })

  it('take IPv6 addresses, methods in small letters, and both in one word', async () => {
    const { out } = await ask('check ip:2001:db8::1 /x --json')
    expect(JSON.parse(out).allowed).toBe(true)
    expect((await ask('explain user:1 get /v1/search')).out).toContain('search')
  })
})

describe('a server', () => {
  it('that is out of reach is exit code 5', async () => {
    const port = await freePort()
    expect(await run(`check user:1 --server http://localhost:${port}`)).toEqual({
      code: 5,
      out: '',
      words: `Nothing answers at http://localhost:${port} (ECONNREFUSED). Start it: sluice serve\n`,
    })
  })

  it('that wants a token is exit code 4, and the token is never said', async () => {
    const server = `--server http://localhost:${guarded.port}`
    const none = await run(`check user:1 ${server}`)
    expect(none).toEqual({
      code: 4,
      out: '',
      words: `http://localhost:${guarded.port} wants a token. Give it: SLUICE_TOKEN=… (see: sluice help unauthorized)\n`,
    })
    const wrong = await run(`explain user:1 ${server} --token not-the-one-that-is-right`)
    expect(wrong).toEqual({
      code: 4,
      out: '',
      words: `http://localhost:${guarded.port} does not know this token (see: sluice help unauthorized)\n`,
    })
    const byVariable = await run(`check user:1 ${server}`, { environment: { SLUICE_TOKEN: TOKEN } })
    const byFlag = await run(`check user:1 ${server} --token ${TOKEN}`)
    expect([byVariable.code, byFlag.code]).toEqual([0, 0])
    const odd = await run(`check user:1 ${server}`, { environment: { SLUICE_TOKEN: 'secrèt\n' } })
    expect([odd.code, odd.words.includes('secr')]).toEqual([2, false])
    const inUrl = await run(`check user:1 --server http://user:hunter2@localhost:${guarded.port}`)
    expect(inUrl.words).not.toContain('hunter2')
  })

  it('that is not Sluice is said to be none', async () => {
    const said: string[] = []
    for (const [type, body] of [
      ['text/html', '<h1>It works</h1>'],
      ['application/json', '{"hello":"world"}'],
      ['application/json', '[1]'],
      ['application/json', '{"allowed":tru'],
    ] as const) {
      const other = createServer((_, answer) => {
        answer.writeHead(200, { 'content-type': type })
        answer.end(body)
      }).listen(0)
      await once(other, 'listening')
      const { port } = other.address() as { port: number }
      const ran = await run(`check user:1 --server localhost:${port}`)
      expect([ran.code, ran.out]).toEqual([5, ''])
      said.push(ran.words.replace(String(port), 'PORT'))
      other.close()
    }
    const silent = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n')).listen(0)
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    said.push(
      (await run(`explain user:1 --server localhost:${port}`)).words.replace(String(port), 'PORT'),
    )
    silent.close()
    expect(`\n${said.join('')}`).toMatchInlineSnapshot(`
      "
      http://localhost:PORT answers, but not as Sluice does (HTTP 200, text/html). Is --server right?
      What answered is not Sluice, or of another version: there is no decision in its answer. Is --server right?
      http://localhost:PORT answers, but not as Sluice does (HTTP 200, application/json). Is --server right?
      http://localhost:PORT answers, but not as Sluice does (HTTP 200, application/json). Is --server right?
      http://localhost:PORT answers, but not as Sluice does (HPE_INVALID_CONSTANT). Is --server right?
      "
    `)
  })

  it('that is not trusted is not said to be away', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1'
    const made = `${request} -subj /CN=localhost -keyout ${key} -out ${cert}`
    spawnSync('openssl', made.split(' '))
    const secure = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }).listen(0)
    await once(secure, 'listening')
    const { port } = secure.address() as { port: number }
    expect(await run(`check user:1 --server https://localhost:${port}`)).toEqual({
      code: 5,
      out: '',
      words: `https://localhost:${port} shows a certificate that is not trusted here (DEPTH_ZERO_SELF_SIGNED_CERT). Trust its authority: NODE_EXTRA_CA_CERTS=FILE\n`,
    })
    secure.close()
  })

  it('cannot make a terminal do anything', async () => {
    const evil = createServer((_, answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' })
      const rule = 'a\u001b]0;owned\u0007\u202e'
      const decision = { allowed: true, rule, limit: 1, remaining: 1, limits: [], delay: 0 }
      const others = { reset_at: null, retry_after: null, state: 'normal', scope: 'user' }
      answer.end(JSON.stringify({ ...decision, ...others }))
    }).listen(0)
    await once(evil, 'listening')
    const { port } = evil.address() as { port: number }
    const { out } = await run(`check user:1 --server localhost:${port}`)
    expect(out).toBe('allowed  a\\u001b]0;owned\\u0007\\u202e  1 of 1 left\n')
    evil.close()
  })

  it('without its Redis says how it decided', async () => {
    const port = await freePort()
    const degraded = await startService({
      rules: `rules:
  few: { scope: user, limits: 10 per 1d fixed }
  shut: { scope: org, failure_mode: closed, limits: 10 per 1d fixed }
  through: { scope: ip, failure_mode: open, limits: 10 per 1d fixed }
`,
      flags: { redis: `redis://127.0.0.1:${port}` },
    })
    const said: string[] = []
    for (const subject of ['user:1', 'org:1', 'ip:1.2.3.4']) {
      const ran = await run(`check ${subject} --server localhost:${degraded.port}`)
      said.push(shown(ran).replace(/\((\w+)\)/g, '(WHY)'))
    }
    await degraded.stop()
    expect(said.join('')).toMatchInlineSnapshot(`
      "
      allowed  few  9 of 10 left; counted here alone: the store is away (WHY)
      [0]

      refused  shut  cannot be counted: the store is away (WHY)
      [6]

      allowed  through  not counted: the store is away (WHY)
      [0]
      "
    `)
  })
})
