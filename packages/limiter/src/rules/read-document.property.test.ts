/** Any value at all instead of a document compiles, or is refused with faults, and nothing else. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, printFault, RuleSet, type RulesDocument, SluiceError } from '../index.js'

/** A document with every field that there is. */
const GOOD = {
  version: 1,
  namespace: 'shop',
  timezone: 'Europe/Berlin',
  defaults: { failure_mode: 'open', ipv6_prefix: 56 },
  scopes: ['team'],
  default_rule: { scope: 'ip', limits: '20/s', unit: 'requests', shadow: false },
  tiers: { free: [], pro: ['org:acme', 'ip:10.0.0.1'] },
  rules: {
    a: { scope: 'user', limits: ['10/s', '1000/h burst 2000'], tiers: { pro: ['50/s', '20k/h'] } },
    b: {
      scope: 'user',
      value: 'ada',
      tier: 'pro',
      resource: 'GET /v1/:id',
      limits: '9 per 5m exact',
    },
    c: {
      scope: 'ip',
      value: '10.0.0.0/8',
      methods: ['GET', 'PUT'],
      limits: { capacity: 9, refill_rate: '5/s' },
    },
    d: {
      scope: 'org',
      additive: true,
      unit: 'tokens',
      limits: { amount: 5, calendar: 'day' },
      reach: 'global',
    },
    e: {
      scope: 'global',
      limits: [{ algorithm: 'sliding_window_log', amount: 9, window: '1s' }],
      shards: 8,
      lease: { ahead: '50ms', most: 1000 },
    },
    f: {
      scope: 'team',
      shadow: true,
      limits: { amount: 8, timeout: '60s' },
      description: 'x',
      rollout: 1,
    },
  },
  overrides: [
    { scope: 'user', value: 'bob', rule: 'a', limits: '30/s', until: '2030-01-01', reason: 'x' },
  ],
  costs: { 'POST /v1/export': 2, '/v1/*': { tokens: 5 } },
  exemptions: ['ip:10.9.0.0/16', 'user:health'],
  blocks: [{ ip: '198.51.100.0/24', until: '2030-12-31', reason: 'card testing' }],
}

const WORDS = 'user ip global 10/s /a/:x GET|PUT pro 10.0.0.0/8 * a a@pro tokens 2030-01-01 local'
const words = fc.constantFrom(
  ...WORDS.split(' '),
  ...'ip:::1 UTC 5m month concurrency __proto__ toString'.split(' '),
  '',
  'GET /a',
)
const strange = fc.oneof(
  words,
  fc.integer({ min: -2, max: 200 }),
  fc.jsonValue({ maxDepth: 2 }),
  fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withNullPrototype: true }),
  fc.dictionary(words, words),
  fc.array(words, { maxLength: 3 }),
)

/** The document with one value, wherever it is, replaced, added or taken out. */
function damaged(
  value: unknown,
  path: readonly number[],
  by: { value: unknown } | null,
  key: string,
): unknown {
  if (typeof value !== 'object' || value === null || path.length === 0) return by?.value
  const entries = Object.entries(value)
  const [first = 0, ...rest] = path
  const at = first % (entries.length + 1)
  const changed =
    at === entries.length
      ? [...entries, [key, by?.value]]
      : entries.flatMap(([name, inner], i) => {
          if (i !== at) return [[name, inner]]
          if (by === null && rest.length === 0) return []
          return [[name, damaged(inner, rest, by, key)]]
        })
  return Array.isArray(value) ? changed.map(([, inner]) => inner) : Object.fromEntries(changed)
}

function compile(document: unknown): RuleSet | null {
  try {
    return RuleSet.compile(document as RulesDocument)
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    expect(error.code).toBe('invalid_rules')
    expect(error.faults.length).toBeGreaterThan(0)
    for (const fault of error.faults) expect(printFault(fault)).toMatch(/\S+ \S+/)
    return null
  }
}

describe('a document', () => {
  it('with every field is good', () => {
    expect(compile(GOOD)).toBeInstanceOf(RuleSet)
    expect(compile(JSON.parse(JSON.stringify(GOOD)))).toBeInstanceOf(RuleSet)
  })

  it('of any value compiles, or is refused with faults that have words', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.anything(), strange), (d) => void compile(d)),
      {
        numRuns: 1000,
      },
    )
  })

  it('with anything in the place of anything compiles and decides, or is refused', () => {
    const requests = [
      { subject: { user: 'ada', org: 'acme', ip: '10.0.0.1', team: 'x' }, costs: { tokens: 1 } },
      { subject: { user: 'bob', ip: '198.51.100.7' }, resource: '/v1/export', method: 'POST' },
      { subject: { ip: '2001:db8::1' }, resource: '/v1/7', tier: 'pro', dryRun: true },
      {},
    ]
    let compiled = 0
    const paths = fc.array(fc.nat(20), { minLength: 1, maxLength: 5 })
    const values = fc.option(
      strange.map((value) => ({ value })),
      { freq: 8 },
    )
    fc.assert(
      fc.property(paths, values, words, (path, by, key) => {
        const rules = compile(damaged(GOOD, path, by, key))
        if (rules === null) return
        compiled++
        const limiter = createLimiter({ rules, clock: () => 1_780_000_000_000 })
        for (const request of requests) {
          const { limits } = limiter.checkSync({
            ...request,
            subject: known(rules, request.subject),
          })
          for (const { remaining } of limits) expect(remaining).toBeGreaterThanOrEqual(0)
        }
      }),
      { numRuns: 2500 },
    )
    expect(compiled).toBeGreaterThan(100)
  })
})

/** Without the scopes that the damage has taken from the rules. */
function known(rules: RuleSet, subject: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(subject).filter(([scope]) => rules.scopes.has(scope)))
}
