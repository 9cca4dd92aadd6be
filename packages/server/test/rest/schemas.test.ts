import {
  REQUEST_FIELD_NAMES,
  type RequestField,
  ROUTE_IDS,
  type RouteId,
  routeOf,
} from '@sluice/contract'
import { createLimiter } from '@sluice/limiter'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCheck } from '../../src/http/wire-request.js'
import { startService, type TestService } from '../service.js'
import { isAllowedBody } from './true-to-openapi.js'

const limiter = createLimiter({ rules: { a: { scope: 'user', limits: '10/s' } } })

const texts = fc.oneof(
  fc.constantFrom('ada', '', 'a\u0000', 'ü', 'x'.repeat(256), 'x'.repeat(1025)),
  fc.string({ maxLength: 5 }),
)
const odd = fc.constantFrom(null, true, 1, [], {}, 'x') as fc.Arbitrary<unknown>
const mostly = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd })
/** A field of requests that has no values here does not compile. */
const requestFields = {
  namespace: mostly(fc.constant('default')),
  subject: mostly(fc.record({ user: texts, ip: fc.constant('10.0.0.1') }, { requiredKeys: [] })),
  scope: mostly(fc.constant('user')),
  identifier: mostly(texts),
  resource: mostly(fc.constantFrom('/x', 'x'.repeat(2048), 'x'.repeat(2049))),
  method: mostly(fc.constantFrom('GET', 'get', 'G T', '')),
  cost: mostly(fc.constantFrom(0, 1, 1.5, 100_000, 100_001)),
  costs: mostly(
    fc.constantFrom({}, { tokens: 1 }, { tokens: 0 }, { Tokens: 1 }, { tokens: 1e9 + 1 }),
  ),
  tier: mostly(fc.constantFrom('pro', '', '-x', 'x'.repeat(65))),
  dry_run: mostly(fc.boolean()),
  idempotency_key: mostly(texts),
  hold: mostly(texts),
} satisfies { readonly [F in RequestField]: fc.Arbitrary<unknown> }
const fields = { ...requestFields, other: fc.constant(1) }

/** A few of the fields at a time, so that some bodies are good. */
function bodiesOf(fields: Record<string, fc.Arbitrary<unknown>>) {
  return fc
    .tuple(fc.record(fields), fc.subarray(Object.keys(fields), { maxLength: 3 }))
    .map(([all, kept]) => Object.fromEntries(kept.map((field) => [field, all[field]])))
}
const bodies = bodiesOf(fields)

/** What depends on the rules, or on two fields together, is not in the schema. */
const OF_RULES_OR_TWO =
  /identifier|surrogate|give one of them|IPv4 or IPv6|costs.requests|not a scope of the rules/

describe('the schema of a check', () => {
  it('allows whatever the reader accepts', () => {
    let accepted = 0
    fc.assert(
      fc.property(bodies, (body) => {
        try {
          limiter.validate(readCheck(body).request)
        } catch {
          return
        }
        accepted++
        expect(isAllowedBody('/v1/check', JSON.parse(JSON.stringify(body)))).toBe(true)
      }),
      { numRuns: 20_000 },
    )
    expect(accepted).toBeGreaterThan(200)
  })

  /** Of every type, and of many lengths and sizes. */
  const lengths = [0, 1, 2, 63, 64, 65, 100, 101, 255, 256, 500, 1024, 1025, 2048, 2049, 5000]
  const texts = ['A b', 'a\n', '\u0000', '-', '/x?q', '10.0.0.1', 'GET', 'user']
  const numbers = [-1, 0, 0.5, 1, 100_000, 100_001, 1e9, 1e9 + 1]
  const tables = [{}, { a: 'b' }, { a: 1 }, { a: 0 }, { user: 'ada' }, { a: { b: 1 } }]
  const others = [true, false, null, [], ['a'], [{}]]
  const anyValue = [
    ...lengths.map((length) => 'a'.repeat(length)),
    ...texts,
    ...numbers,
    ...tables,
    ...others,
    Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`unit_${i}`, 1])),
    Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`scope_${i}`, 'x'])),
  ]
  const scopes = Array.from({ length: 33 }, (_, i) => `scope_${i}`)
  const knowing = createLimiter({ rules: { a: { scope: 'user', limits: '10/s' } }, scopes })

  it.each(REQUEST_FIELD_NAMES)('agrees with the reader on every value of %s', (name) => {
    const bases = [{ subject: {} }, { scope: 'user', identifier: 'ada' }, {}]
    let refused = 0
    for (const base of bases) {
      for (const value of anyValue) {
        const body = { ...base, [name]: value }
        try {
          knowing.validate(readCheck(body).request)
        } catch (error) {
          refused++
          if (isAllowedBody('/v1/check', body)) expect(String(error)).toMatch(OF_RULES_OR_TWO)
          continue
        }
        expect([body, isAllowedBody('/v1/check', body)]).toEqual([body, true])
      }
    }
    expect(refused).toBeGreaterThan(20)
  })

  it('allows nothing else, but for what depends on the rules or on two fields together', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (!isAllowedBody('/v1/check', JSON.parse(JSON.stringify(body)))) return
        try {
          limiter.validate(readCheck(body).request)
        } catch (error) {
          expect(String(error)).toMatch(OF_RULES_OR_TWO)
        }
      }),
      { numRuns: 20_000 },
    )
  })
})

/** What is decided, or given back: a handler says whether fields go together. */
const handled = ROUTE_IDS.filter((id) => {
  const { kind, body } = routeOf(id)
  return kind === 'decision' && body !== null && id !== 'check'
})

describe('the schema of a body that is decided on', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ rules: 'rules: { a: { scope: user, limits: 10/s } }\n' })
  })
  afterAll(() => service.stop())

  const included = fc.constantFrom([], ['limits'], ['receipt', 'limits'], ['limit'], 'limits')
  /** Fields that a route has besides those of a check. */
  type Fields = Record<string, fc.Arbitrary<unknown>>
  const more: Partial<Record<RouteId, Fields>> = {
    quota: { include: mostly(included) },
    reserve: { include: mostly(included) },
    refund: { receipt: mostly(texts) },
    reset: { rule: mostly(fc.constantFrom('a', 'b')) },
    explain: { normalize: mostly(fc.boolean()) },
  }
  /** Fields of routes that have none of a check's. */
  const others: Partial<Record<RouteId, Fields>> = {
    checkBatch: {
      checks: mostly(fc.array(fc.oneof({ weight: 9, arbitrary: bodies }, odd), { maxLength: 2 })),
      include: mostly(included),
      other: odd,
    },
    settle: {
      reservation: mostly(texts),
      namespace: mostly(fc.constant('default')),
      cost: fields.cost,
      costs: fields.costs,
      other: odd,
    },
  }
  /** Of what is allowed: it depends on the rules, or on two fields together. */
  const TOGETHER =
    /identifier|surrogate|give one of them|IPv4 or IPv6|costs.requests|not a scope of the rules|(scope|subject) is missing|the name of a rule|what was really used|hold is longer|from 1 to|not served/

  it.each(handled)('agrees with what %s takes', async (id) => {
    const { path } = routeOf(id)
    const all = others[id] ?? { ...fields, ...more[id] }
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(bodiesOf(all), async (body) => {
        const isAllowed = isAllowedBody(path, JSON.parse(JSON.stringify(body)))
        const { status, body: answer } = await service.post(path, body)
        expect(status).toBeLessThan(500)
        const said = [body, answer.error?.message]
        if (status !== 400) {
          accepted++
          expect([...said, isAllowed]).toEqual([...said, true])
        } else if (isAllowed) expect(said[1]).toMatch(TOGETHER)
      }),
      { numRuns: 1500 },
    )
    expect(accepted).toBeGreaterThan(10)
  })
})
