/**
 * Random requests through the documented nginx, with its lines for when Sluice is away: none reaches a
 * limited resource under another spelling, and none makes nginx believe that Sluice is away.
 */
import { posix } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DocumentedNginx } from './documented-nginx.js'
import { startService, type TestService } from './service.js'

const RULES = `
rules:
  login: { scope: ip, resource: /api/login, limits: 1/d fixed }
exemptions: [org:internal]
`
const MORE =
  'large_client_header_buffers 8 64k; underscores_in_headers on; ignore_invalid_headers off;'

const INSERTED =
  '/ // /./ /../ /x/../ . .. %2e ; ;a # ? %00 % %25 \\ \t é \xff %6c LOGIN + %20 ~ * : @'.split(' ')
const BEFORE = [
  '/x/..',
  '/.',
  '/',
  '/a/b/../..',
  '/api/..',
  '/%2e%2e',
  'http://host',
  '/x/%2E.',
  '//api',
]

/** One change of a spelling: at a place, something is put in, encoded, or set before all. */
const change = fc.record({
  kind: fc.constantFrom('insert', 'encode', 'before'),
  at: fc.nat(40),
  piece: fc.nat(100),
})
const spelling = fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) =>
  changes.reduce((path, { kind, at, piece }) => {
    const i = 1 + (at % path.length)
    if (kind === 'before') return BEFORE[piece % BEFORE.length]! + path
    if (kind === 'insert')
      return path.slice(0, i) + INSERTED[piece % INSERTED.length]! + path.slice(i)
    const code = path.charCodeAt(i)
    return code > 96 && code < 123
      ? `${path.slice(0, i)}%${code.toString(16)}${path.slice(i + 1)}`
      : path
  }, '/api/login'),
)
const bytes = fc
  .array(fc.integer({ min: 1, max: 255 }), { maxLength: 8 })
  .map((codes) => String.fromCharCode(...codes).replaceAll(/[\r\n]/g, ''))
const header = fc.oneof(
  bytes.map((value) => `X-User: ${value}`),
  fc.nat(60_000).map((length) => `X-User: ${'x'.repeat(length)}`),
  fc.tuple(bytes, bytes).map(([name, value]) => `X-Sluice-${name}: ${value}`),
  fc.constantFrom(
    'X_Sluice_Scope_Org: internal',
    'X-Sluice-Scope-Org: internal',
    'X-Sluice-Subject: org=internal',
    'Expect: x',
    'Connection: X-Sluice-Resource',
    'X-User : ada',
    'TE: trailers',
  ),
  bytes,
)
const request = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'HEAD', 'FOO', 'A_B'),
  path: spelling,
  version: fc.constantFrom('1.1', '1.1', '1.0'),
  lines: fc.array(header, { maxLength: 2 }),
})

/** What servers may take a path for that decode it once, or read it as a URL. */
function readings(url: string): string[] {
  const raw = url.split('?')[0]!
  const attempts = [
    // To Go's net/http and to h11 a # is a character as any other.
    () => posix.normalize(decodeURIComponent(raw)),
    () => posix.normalize(decodeURIComponent(raw.split('#')[0]!)),
    () => posix.normalize(decodeURI(new URL(`http://host${raw}`).pathname)),
    // What follows two slashes is a host then.
    () => posix.normalize(decodeURI(new URL(raw, 'http://host').pathname)),
  ]
  return attempts.flatMap((attempt) => {
    try {
      return [attempt().replace(/\/$/, '')]
    } catch {
      return []
    }
  })
}

describe('any request of a client whose limit is used up', () => {
  let service: TestService
  let nginx: DocumentedNginx
  beforeAll(async () => {
    service = await startService({ rules: RULES })
    nginx = await DocumentedNginx.start({ sluicePort: service.port, failsOpen: true, more: MORE })
    expect((await nginx.get('/api/login')).status).toBe(200)
  })
  afterAll(async () => {
    await nginx.stop()
    await service.stop()
  })

  it('does not reach what is limited, nor looks like an outage', async () => {
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, version, lines }) => {
        const before = nginx.passed.length
        const head = [`${method} ${path} HTTP/${version}`, 'Host: api.example', ...lines]
        const { status } = await nginx.send(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`)
        expect(status).not.toBe(500)
        const reached = nginx.passed.slice(before).flatMap(({ url }) => readings(url!))
        expect(reached).not.toContain('/api/login')
      }),
      { numRuns: 1500 },
    )
  })
})
