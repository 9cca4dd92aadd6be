/** Rules in a document: twins, tiers, the default rule, methods. */
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../errors.js'
import { printFault } from '../faults.js'
import type { RulesDocument } from '../index.js'
import { RuleSet } from './rule-set.js'

function compile(document: unknown): RuleSet | string[] {
  try {
    return RuleSet.compile(document as RulesDocument)
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_rules')
      return error.faults.map(printFault)
    throw error
  }
}

const faultsOf = (document: unknown) => {
  const compiled = compile(document)
  return compiled instanceof RuleSet ? [] : compiled
}
const rule = (more: object = {}) => ({ scope: 'user', limits: '10/s', ...more })
const TWIN = 'put the limits into one rule, or make one additive'

describe('two rules', () => {
  it.each<[what: string, a: object, b: object]>([
    ['of one scope', {}, {}],
    [
      'of one pattern, however its parameters are named',
      { resource: '/a/:x' },
      { resource: '/a/:y' },
    ],
    ['of the same methods', { methods: ['GET', 'post'] }, { resource: 'POST|GET *' }],
    ['of one tier', { tier: 'pro' }, { tier: 'pro' }],
    [
      'of one address',
      { scope: 'ip', value: '::ffff:1.2.3.4' },
      { scope: 'ip', value: '1.2.3.4/32' },
    ],
    ['of one network', { scope: 'ip', value: '10.0.0.0/8' }, { scope: 'ip', value: '10.0.0.0/8' }],
  ])('%s are refused', (_what, a, b) => {
    const message = `rules.b: governs the same requests as a; ${TWIN}`
    expect(faultsOf({ rules: { a: rule(a), b: rule(b) } })).toEqual([message])
    expect(faultsOf({ rules: { a: rule(a), b: rule({ ...b, additive: true }) } })).toEqual([])
  })

  it('of different scopes, values, tiers, resources or methods are two', () => {
    const fields = [
      {},
      { scope: 'org' },
      { value: 'ada' },
      { tier: 'pro' },
      { resource: '/a' },
      { resource: '/a/:x' },
      { resource: '/:x/a' },
      { methods: 'GET' },
      { methods: ['GET', 'POST'] },
    ]
    const rules = Object.fromEntries(fields.map((more, i) => [`r${i}`, rule(more)]))
    expect(faultsOf({ rules })).toEqual([])
  })
})

describe('a rule that is faulty', () => {
  it('is not taken for the twin of another', () => {
    expect(faultsOf({ rules: { a: { limits: '1/s' }, b: { limits: '1/s' } } })).toHaveLength(2)
    const [a, b] = [rule({ resource: '/*/a' }), rule({ resource: '/*/b' })]
    expect(faultsOf({ rules: { a, b } })).toHaveLength(2)
  })
})

describe('a tier', () => {
  it('makes a rule of its own, with the same counters', () => {
    const rules = compile({ rules: { a: rule({ tiers: { pro: ['50/s', '1k/h'], max: '99/s' } }) } })
    if (!(rules instanceof RuleSet)) throw new Error(rules.join())
    expect(rules.rules.map(({ name, rule }) => [name, rule.tier, rule.limits.length])).toEqual([
      ['a', null, 1],
      ['a@pro', 'pro', 2],
      ['a@max', 'max', 1],
    ])
    expect(new Set(rules.rules.map(({ family }) => family)).size).toBe(1)
  })

  it('is refused where it cannot be meant', () => {
    expect(faultsOf({ rules: { a: rule({ tier: 'pro', tiers: { max: '1/s' } }) } })).toEqual([
      'rules.a.tiers: a rule of one tier has no others',
    ])
    expect(faultsOf({ rules: { 'a@pro': rule() } })).toEqual([
      'rules.a@pro.tier: a rule named "a@pro" is of tier "pro", not null',
    ])
    expect(
      faultsOf({
        rules: {
          'a@pro': rule({ tier: 'pro', resource: '/x' }),
          a: rule({ tiers: { pro: '1/s' } }),
        },
      }),
    ).toEqual(['rules.a@pro: this name is taken by a tier of another rule'])
    expect(faultsOf({ rules: { a: rule({ tiers: { pro: '1/x', 'a b': '1/s' } }) } })).toEqual([
      expect.stringMatching(/^rules\.a\.tiers\.pro: unknown unit "x"/),
      'rules.a.tiers: "a b" is not a tier\'s name',
    ])
  })

  it('counts what its rule counts', () => {
    for (const other of [
      { scope: 'org' },
      { unit: 'tokens' },
      { shadow: true },
      { additive: true },
    ]) {
      expect(faultsOf({ rules: { a: rule(), 'a@pro': rule({ ...other, tier: 'pro' }) } })).toEqual([
        'rules.a@pro: shares its counters with a, so scope, additive, unit, shadow and shards must be the same',
      ])
    }
  })

  it('is one for each subject, and not for networks', () => {
    const tiers = {
      free: ['user:ada', 'user:ada'],
      pro: ['user:ada', 'ip:10.0.0.0/8', 'ip:10.0.0.1'],
    }
    expect(faultsOf({ tiers })).toEqual([
      'tiers.pro[0]: "user:ada" is in tier free already',
      'tiers.pro[1]: a tier is given to single addresses, not to networks',
    ])
    expect(faultsOf({ tiers: { a: ['ip:::1'], b: ['ip:0:0:0:0:0:0:0:1'] } })).toHaveLength(1)
  })
})

describe('the default rule', () => {
  it('has no place of its own, and its name is taken', () => {
    const fields = {
      value: 'a',
      tier: 'b',
      tiers: {},
      resource: '/',
      methods: 'GET',
      additive: true,
    }
    expect(faultsOf({ default_rule: rule(fields) })).toEqual(
      ['value', 'tier', 'resource', 'methods', 'tiers', 'additive']
        .map((field) => `default_rule.${field}: does not go with the default rule`)
        .concat('default_rule.tiers: a rule of one tier has no others'),
    )
    expect(faultsOf({ default_rule: rule({ scope: 'global' }) })).toEqual([
      'default_rule.scope: the default rule cannot be global',
    ])
    for (const [name, more] of [
      ['default', {}],
      ['default@pro', { tier: 'pro' }],
    ] as const)
      expect(faultsOf({ rules: { [name]: rule(more) } })).toEqual([
        `rules.${name}: the name "${name}" belongs to default_rule`,
      ])
  })
})

describe('methods', () => {
  it('stand before the resource or beside it, in any case', () => {
    const written = [
      { resource: 'GET|HEAD /x' },
      { resource: '/x', methods: ['head', 'GET', 'get'] },
    ]
    for (const more of written) {
      const rules = compile({ rules: { a: rule(more) } }) as RuleSet
      expect(rules.rules[0]!.rule).toMatchObject({ resource: '/x', methods: ['GET', 'HEAD'] })
    }
  })

  it.each<[more: object, faults: string[]]>([
    [
      { resource: 'GET /x', methods: 'GET' },
      ['rules.a.methods: the resource names methods already; write them in one place'],
    ],
    [{ methods: ['G T'] }, ['rules.a.methods: "G T" is not a method']],
    [{ resource: 'GET| /x' }, ['rules.a.resource: "" is not a method']],
    [{ methods: [true] }, ['rules.a.methods: true is not a method']],
    [
      { methods: [null, ['GET']] },
      ['rules.a.methods: null is not a method', 'rules.a.methods: ["GET"] is not a method'],
    ],
    [{ methods: [{ toString: 0 }] }, ['rules.a.methods: {"toString":0} is not a method']],
  ])('of %j are refused', (more, faults) => {
    expect(faultsOf({ rules: { a: rule(more) } })).toEqual(faults)
  })
})
