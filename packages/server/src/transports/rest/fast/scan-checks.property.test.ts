import { INCLUDES, type Include, propertiesOf, routeOf } from '@sluice/contract'
import { createLimiter, type Request } from '@sluice/limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody } from '../../../http/body.js'
import { readBatch, readCheck, readInclude } from '../../../http/wire-request.js'
import { INCLUDE_BITS } from './answer-kinds.js'
import { CheckScanner, SCANNED_FIELDS } from './scan-checks.js'

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
    include: fc.constantFrom(['limits'], ['other'], 'limits', [1], null) as fc.Arbitrary<never>,
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
const includes = fc.array(fc.constantFrom(...INCLUDES), { maxLength: 3 })
/** With what the answer is to have besides, now and then. */
const plainSingle = fc
  .tuple(plain, fc.option(includes, { nil: undefined }))
  .map(([check, include]) => (include === undefined ? check : { ...check, include }))

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

const bitsOf = (include: readonly Include[]) =>
  include.reduce((bits, name) => bits | INCLUDE_BITS[name], 0)

/** What the ordinary way makes of the bytes. */
function ordinarily(text: string): Request {
  const { include, ...fields } = parseBody(Buffer.from(text))
  expect(scanner.include).toBe(bitsOf(readInclude(include, undefined)))
  const { request, namespace } = readCheck(fields)
  expect(namespace === undefined || namespace === 'shop').toBe(true)
  limiter.validate(request)
  return request
}

describe('the scanner of checks', () => {
  it('reads fields of the contract, and no others', () => {
    const known = (['check', 'checkBatch'] as const).flatMap((id) =>
      Object.keys(propertiesOf(routeOf(id).body!)),
    )
    for (const field of SCANNED_FIELDS) expect(known).toContain(field)
  })

  it('accepts only what the ordinary way accepts, and reads it alike', () => {
    let accepted = 0
    fc.assert(
      fc.property(spelled(fc.oneof(plainSingle, checks)), (text) => {
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
      fc.property(plainSingle, (check) => {
        const text = JSON.stringify(check)
        expect(single(text)).toEqual(ordinarily(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('reads batches alike, and none where one check is not for it', () => {
    let accepted = 0
    const batches = fc.array(
      fc.oneof(
        { weight: 9, arbitrary: plain },
        { weight: 1, arbitrary: checks },
        { weight: 1, arbitrary: plainSingle },
      ),
      {
        maxLength: 5,
      },
    )
    const bodies = fc
      .tuple(batches, fc.option(includes, { nil: undefined }), fc.boolean())
      .map(([list, include, isFirst]) => {
        if (include === undefined) return { checks: list }
        return isFirst ? { include, checks: list } : { checks: list, include }
      })
    fc.assert(
      fc.property(spelled(bodies), (text) => {
        const requests: Request[] = []
        const bytes = Buffer.from(text)
        if (!scanner.batch(bytes, 0, bytes.length, requests, 4)) return
        accepted++
        const body = parseBody(Buffer.from(text))
        expect(scanner.include).toBe(bitsOf(readInclude(body['include'], undefined)))
        const expected = readBatch(body, ({ request }) => request)
        for (const request of expected) limiter.validate(request)
        expect(requests).toEqual(expected)
        expect(requests.length).toBeLessThanOrEqual(4)
      }),
      { numRuns: 10_000 },
    )
    expect(accepted).toBeGreaterThan(1000)
  })
})
