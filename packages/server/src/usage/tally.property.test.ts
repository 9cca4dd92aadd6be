import type { RulesDocument } from '@sluice/limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  byRule,
  Deciding,
  PlainCount,
  START,
  sumsOf,
  violationsOf,
} from '../../test/usage/deciding.js'
import { Tally } from './tally.js'

const RULES: RulesDocument = {
  rules: {
    'per-user': { scope: 'user', limits: ['5 per 10s', '20/min fixed'] },
    'per-org': { scope: 'org', unit: 'tokens', limits: '500/s', additive: true },
    'per-ip': { scope: 'ip', limits: '9/s' },
    silent: { scope: 'user', limits: '1/h', shadow: true, additive: true },
    all: { scope: 'global', limits: '200/s' },
  },
  blocks: ['user:7'],
  exemptions: ['user:3'],
}

const asked = fc.record(
  {
    user: fc.nat(12).map(String),
    org: fc.constantFrom('acme', 'ajax'),
    ip: fc.nat(3).map((n) => `203.0.113.${n}`),
    resource: fc.constantFrom('/a', '/b'),
    cost: fc.integer({ min: 1, max: 7 }),
    tokens: fc.integer({ min: 1, max: 300 }),
    dryRun: fc.boolean(),
    idempotencyKey: fc.constantFrom('one', 'two'),
    passes: fc.nat(900),
  },
  { requiredKeys: ['user', 'resource', 'passes'] },
)

type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never

function requestOf({ user, org, ip, resource, cost, tokens, dryRun, idempotencyKey }: Asked) {
  return {
    subject: { user, org, ip },
    resource,
    ...(cost === undefined ? {} : { cost }),
    ...(tokens === undefined ? {} : { costs: { tokens } }),
    ...(dryRun === undefined ? {} : { dryRun }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey} ${user}` }),
  }
}

describe('a tally', () => {
  it('says what a plain count says while there are places for all', () => {
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 200 }), (all) => {
        const deciding = new Deciding(RULES)
        const tally = new Tally(START)
        const plain = new PlainCount()
        for (const one of all) {
          deciding.now += one.passes
          try {
            const request = requestOf(one)
            const decision = deciding.ask(request, tally)
            plain.decided(decision, request, 'default')
          } catch (error) {
            expect(String(error)).toContain('idempotencyKey')
          }
        }
        const counts = tally.take(deciding.now)
        expect(counts.error).toBe(0)
        expect(counts.decisions).toBe(plain.decisions)
        expect(sumsOf([counts])).toEqual(plain.sums)
        expect(violationsOf(counts.violations)).toEqual(plain.violations)
      }),
      { numRuns: 200 },
    )
  })

  it('is exact by rule, and by subject within the error it states, when places are few', () => {
    const rules: RulesDocument = {
      rules: {
        one: { scope: 'user', limits: '40/d fixed' },
        all: { scope: 'global', limits: '1000/s' },
      },
    }
    const skewed = fc.tuple(fc.nat(300), fc.nat(300)).map(([a, b]) => String(Math.min(a, b)))
    fc.assert(
      fc.property(
        fc.array(skewed, { minLength: 50, maxLength: 1500 }),
        fc.integer({ min: 1, max: 40 }),
        (users, places) => {
          const deciding = new Deciding(rules)
          const tally = new Tally(START, { places })
          const plain = new PlainCount()
          for (const user of users) {
            const request = { subject: { user } }
            plain.decided(deciding.ask(request, tally), request, 'default')
          }
          const counts = tally.take(deciding.now)
          const named = sumsOf([counts])
          expect(byRule(named)).toEqual(byRule(plain.sums))
          for (const [name, [allowed, denied, cost]] of Object.entries(plain.sums)) {
            const [a, d, c] = named[name] ?? [0, 0, 0]
            expect(a).toBeLessThanOrEqual(allowed)
            expect(d).toBeLessThanOrEqual(denied)
            expect(c).toBeLessThanOrEqual(cost)
            expect(allowed + denied - a - d).toBeLessThanOrEqual(counts.error)
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})
