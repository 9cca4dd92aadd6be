import { createLimiter, type Request } from '@sluice/limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody } from '../../../http/body.js'
import { readBatch, readCheck } from '../../../http/wire-request.js'
import { CheckScanner } from './scan-checks.js'

const limiter = createLimiter({
  namespace: 'shop',
  rules: {
    a: { scope: 'user', limits: '10/s' },
    b: { scope: 'ip', limits: '10/s' },
    c: { scope: 'constructor', limits: '10/s' },
    d: { scope: 'org', value: 'acme', tier: 'pro', resource: 'GET /x', limits: '10/s' },
  },
})
const scanner = new CheckScanner(limiter)

const texts = fc.oneof(
  fc.constantFrom(
    'ada',
    '42',
    '',
    ' ',
    'a"b',
    'a\\b',
    'ü',
    '\u0000',
    '127.0.0.1',
    '::1',
    '01.2.3.4',
    'x'.repeat(1025),
  ),
  fc.string({ maxLength: 12 }),
)
const subjects = fc.dictionary(
  fc.constantFrom(
    'user',
    'ip',
    'org',
    'constructor',
    'global',
    'nobody',
    'api_key',
    '__proto__',
    'toString',
  ),
  fc.oneof(texts, fc.constant(null as never)),
  { maxKeys: 4 },
)
const checks = fc.record(
  {
    subject: fc.oneof(subjects, fc.constantFrom(null, [], 'ada') as fc.Arbitrary<never>),
    resource: fc.oneof(texts, fc.constantFrom('/v1/search', '/x?y=1', '/a/:b', 7 as never)),
    method: fc.constantFrom('GET', 'get', 'POST', 'PROPFIND', '', 'G T', 7 as never),
    cost: fc.oneof(fc.integer({ min: -2, max: 100_002 }), fc.constantFrom(1.5, 1e21, '3' as never)),
    tier: fc.constantFrom('pro', 'no tier', '', '-x', 'a.b'),
    namespace: fc.constantFrom('shop', 'default', ''),
    dry_run: fc.boolean(),
    idempotency_key: texts,
    scope: fc.constantFrom('user'),
    identifier: texts,
    hold: texts,
    other: fc.constant(1),
  },
  { requiredKeys: ['subject'] },
)
/** Mostly what the scanner is for, so that it is tried on more than refusals. */
const plain = fc.record(
  {
    subject: fc.record(
      {
        user: fc.constantFrom('ada', '42'),
        org: fc.constantFrom('acme', 'a b'),
        ip: fc.constantFrom('10.0.0.1', '2001:db8::1'),
      },
      { requiredKeys: [] },
    ),
    resource: fc.constantFrom('/v1/search', 'api.search', '/x?y=1'),
    method: fc.constantFrom('GET', 'POST', 'DELETE'),
    cost: fc.integer({ min: 1, max: 100_000 }),
    tier: fc.constantFrom('pro', 'a.b'),
    namespace: fc.constant('shop'),
  },
  { requiredKeys: ['subject'] },
)

/** JSON with spaces and a byte changed here and there. */
const spelled = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(
      value,
      fc.constantFrom('', ' ', '  '),
      fc.option(fc.tuple(fc.nat(300), fc.string({ maxLength: 2 })), { freq: 4 }),
    )
    .map(([one, space, change]) => {
      const text = JSON.stringify(one).replaceAll(/(?<=[{:,[])|(?=[}\]])/g, () => space)
      if (change === null) return text
      const at = change[0] % (text.length + 1)
      return text.slice(0, at) + change[1] + text.slice(at + change[1].length)
    })

/** In the middle of other bytes, as bodies come. */
function single(text: string): Request | null {
  const bytes = Buffer.from(`}${text}"`)
  return scanner.single(bytes, 1, bytes.length - 1)
}

/** What the ordinary way makes of the bytes. */
function ordinarily(text: string): Request {
  const { request, namespace } = readCheck(parseBody(Buffer.from(text)))
  expect(namespace === undefined || namespace === 'shop').toBe(true)
  limiter.validate(request)
  return request
}

describe('the scanner of checks', () => {
  it('accepts only what the ordinary way accepts, and reads it alike', () => {
    let accepted = 0
    fc.assert(
      fc.property(spelled(fc.oneof(plain, checks)), (text) => {
        const request = single(text)
        if (request === null) return
        accepted++
        expect(request).toEqual(ordinarily(text))
      }),
      { numRuns: 20_000 },
    )
    expect(accepted).toBeGreaterThan(2000)
  })

  it('reads every plain check itself', () => {
    fc.assert(
      fc.property(plain, (check) => {
        const text = JSON.stringify(check)
        expect(single(text)).toEqual(ordinarily(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('reads batches alike, and none where one check is not for it', () => {
    let accepted = 0
    const batches = fc
      .array(fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: checks }), {
        maxLength: 5,
      })
      .map((list) => ({ checks: list }))
    fc.assert(
      fc.property(spelled(batches), (text) => {
        const requests: Request[] = []
        const bytes = Buffer.from(text)
        if (!scanner.batch(bytes, 0, bytes.length, requests, 4)) return
        accepted++
        const expected = readBatch(parseBody(Buffer.from(text))).map(({ request }) => request)
        for (const request of expected) limiter.validate(request)
        expect(requests).toEqual(expected)
        expect(requests.length).toBeLessThanOrEqual(4)
      }),
      { numRuns: 10_000 },
    )
    expect(accepted).toBeGreaterThan(1000)
  })
})
