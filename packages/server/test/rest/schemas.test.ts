import { createLimiter } from '@sluice/limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readCheck } from '../../src/http/wire-request.js'
import { isAllowedBody } from './true-to-openapi.js'

const limiter = createLimiter({ rules: { a: { scope: 'user', limits: '10/s' } } })

const texts = fc.oneof(
  fc.constantFrom('ada', '', 'a\u0000', 'ü', 'x'.repeat(256), 'x'.repeat(1025)),
  fc.string({ maxLength: 5 }),
)
const odd = fc.constantFrom(null, true, 1, [], {}, 'x') as fc.Arbitrary<unknown>
const mostly = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd })
const fields = {
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
  other: fc.constant(1),
}
type Field = keyof typeof fields

/** A few of the fields at a time, so that some bodies are good. */
const bodies = fc
  .tuple(fc.record(fields), fc.subarray(Object.keys(fields) as Field[], { maxLength: 3 }))
  .map(([all, kept]) => Object.fromEntries(kept.map((field) => [field, all[field]])))

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

  it('allows nothing else, but for what depends on the rules or on two fields together', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (!isAllowedBody('/v1/check', JSON.parse(JSON.stringify(body)))) return
        try {
          limiter.validate(readCheck(body).request)
        } catch (error) {
          expect(String(error)).toMatch(
            /identifier|surrogate|give one of them|IPv4 or IPv6|costs.requests|not a scope of the rules/,
          )
        }
      }),
      { numRuns: 20_000 },
    )
  })
})
