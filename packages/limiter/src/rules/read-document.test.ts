/** Rules documents: every fault at once with its place, what is refused, and what is only warned about. */
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../errors.js'
import { type Fault, printFault } from '../faults.js'
import { createLimiter, type RulesDocument } from '../index.js'
import { readDocument } from './read-document.js'
import { RuleSet } from './rule-set.js'

function faultsOf(document: unknown): string[] {
  try {
    RuleSet.compile(document as RulesDocument)
    return []
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_rules')
      return error.faults.map(printFault)
    throw error
  }
}

const LIMITS = { limits: '10/s' } as const

describe('a document', () => {
  it('says of a field that it does not know which one, and of a text which part is wrong', () => {
    const rules = { keys: { scope: 'user', tires: {}, limits: ['10/s', '1000/mon'] } }
    const [field, unit] = readDocument({ rules }) as Fault[]
    expect(field).toMatchObject({ path: 'rules.keys', key: 'tires' })
    expect(unit).toMatchObject({
      path: 'rules.keys.limits[1]',
      message: 'unknown unit "mon"',
      expected: 's, min, h, d or w',
      offset: 5,
      length: 3,
    })
  })

  it('may have a rule in shadow and a disabled one beside the one in their place', () => {
    const rule = { scope: 'user', ...LIMITS } as const
    const rules = {
      one: rule,
      watched: { ...rule, shadow: true },
      old: { ...rule, enabled: false },
    }
    expect(faultsOf({ rules })).toEqual([])
    expect(faultsOf({ rules: { ...rules, two: rule } })).toHaveLength(1)
    expect(faultsOf({ rules: { ...rules, also: { ...rule, shadow: true } } })).toHaveLength(1)
  })

  it('is refused with everything that is wrong, each fault at its place', () => {
    const document = {
      version: 2,
      namespace: '-',
      timezone: 'Europe/Berln',
      defaults: { failure_mode: 'locl', ipv6_prefix: 129 },
      scopes: ['User', 5],
      tiers: { pro: ['user:42', 'acme'], '!': [] },
      rules: {
        keys: { scope: 'api_key', tires: {}, limits: ['10/s', '1000/mon'] },
        'bad name': { scope: 'user', ...LIMITS },
        empty: {},
        odd: { scope: 'Us-er', value: '', resource: '/*/x', methods: [], limits: [], unit: 'T' },
        flags: { scope: 'user', ...LIMITS, shadow: 1, additive: 'no', enabled: null, tier: '?' },
        text: 'per user 10/s',
      },
      costs: { '/x': 0, 'GET /*/y': 1, '/z': { Tokens: 1 } },
      exemptions: ['10.0.0.0/8', { user: 'a', org: 'b' }],
      blocks: [{ ip: '10.0.0.1/8' }, { user: 'x', until: 'tomorrow', reason: 5 }, 'global:x'],
      overrides: [{ scope: 'user', value: 'a', rule: 'flag', limits: '10/s', untli: 1 }, 5],
      rulez: {},
    }
    const list = 'letters, digits, _ . - (and @tier), at most 100'
    const small = 'is not a small letter, then small letters, digits or _'
    expect(faultsOf(document).sort()).toEqual(
      [
        'unknown field "rulez"; did you mean "rules"?',
        'version: 2 is not a version known here; expected 1',
        'namespace: "-" is not a namespace\'s name',
        'timezone: unknown time zone "Europe/Berln"; did you mean "Europe/Berlin"?',
        'defaults.failure_mode: unknown failure_mode "locl"; expected open, closed or local; did you mean "local"?',
        'defaults.ipv6_prefix: 129 is not a whole number from 1 to 128',
        'scopes[0]: "User" is not a scope\'s name',
        "scopes[1]: 5 is not a scope's name",
        'tiers.pro[1]: "acme" is not a scope:value',
        'tiers.!: "!" is not a tier\'s name',
        'rules.keys: unknown field "tires" in rule keys; did you mean "tiers"?',
        'rules.keys.limits[1]: unknown unit "mon"; expected s, min, h, d or w (a month has no fixed length: "1000 per calendar month" or "1000 per 30d")',
        `rules.bad name: the name "bad name" is not ${list}`,
        'rules.empty.scope: is missing; expected user, api_key, ip, org, global or a name of your own',
        'rules.empty.limits: is missing; expected one or more, such as 10/s',
        `rules.odd.scope: "Us-er" ${small}, at most 32`,
        'rules.odd.value: is empty',
        'rules.odd.resource: "/*/x" has a * before its end; only the last segment may be *',
        'rules.odd.methods: is empty; leave it out for all methods',
        'rules.odd.limits: is empty; expected one or more limits, such as 10/s',
        `rules.odd.unit: "T" ${small}`,
        'rules.flags.shadow: 1 is not true or false',
        'rules.flags.additive: "no" is not true or false',
        'rules.flags.enabled: null is not true or false',
        'rules.flags.tier: "?" is not a tier\'s name',
        'rules.text: "per user 10/s" is not a rule',
        'costs./x: 0 is not a whole number from 1 to 1_000_000_000',
        'costs.GET /*/y: "/*/y" has a * before its end; only the last segment may be *',
        'costs./z: "Tokens" is not a unit\'s name',
        'exemptions[0]: "10.0.0.0/8" is not a scope:value',
        'exemptions[1]: expected one scope with its value, and until and reason if need be',
        'blocks[0]: "10.0.0.1/8" is not a network; 10.0.0.0/8 is the network of that address',
        'blocks[1].until: "tomorrow" is not a time such as 2026-12-31 or 2026-12-31T12:00:00Z',
        'blocks[1].reason: 5 is not a text',
        'blocks[2]: the scope global has no values',
        'overrides[0]: unknown field "untli" in an override; did you mean "until"?',
        'overrides[0].rule: "flag" is not the name of a rule; did you mean "flags"?',
        'overrides[1]: 5 is not an override',
      ].sort(),
    )
  })

  it('of another kind than an object is refused', () => {
    for (const document of [null, 5, 'rules', [], undefined])
      expect(faultsOf(document)).toEqual([expect.stringContaining('is not a rules document')])
    const kinds = { rules: [], tiers: 5, costs: 'x', overrides: {}, blocks: 'ip:::1', scopes: {} }
    expect(faultsOf(kinds)).toHaveLength(6)
    expect(faultsOf({ rules: { a: null, b: [] } })).toHaveLength(2)
  })

  it('says how many faults it has, and shows the first of them', () => {
    const rules = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`r${i}`, { scope: `s${i}`, units: 'x' }]),
    )
    expect(() => RuleSet.compile({ rules } as never)).toThrow(
      /^60 faults in the rules:\n {2}rules\.r0: unknown field "units" in rule r0; did you mean "unit"\?\n[^]*and 40 more$/,
    )
    expect(() =>
      RuleSet.compile({ rules: { a: { scope: 'user', limits: '1/x' } } } as never),
    ).toThrow('the rules:\n  rules.a.limits: unknown unit "x"')
  })

  it('with no rules at all is a document', () => {
    expect(faultsOf({})).toEqual([])
    expect(faultsOf({ version: 1, rules: {}, tiers: {}, costs: {}, blocks: [] })).toEqual([])
  })

  it('warns of what is accepted and not in force yet', () => {
    const limiter = createLimiter({
      rules: {
        a: { scope: 'user', ...LIMITS, shards: 8, lease: true, tiers: { pro: '20/s' } },
        b: { scope: 'org', ...LIMITS, reach: 'global', lease: true },
      },
      default_rule: { scope: 'ip', ...LIMITS, reach: 'regional' },
    })
    expect(limiter.rules.warnings).toEqual([
      'rules.b.reach is not in force yet',
      'default_rule.reach is not in force yet',
    ])
    expect(createLimiter('10/s').rules.warnings).toEqual([])
  })
})

describe('an option', () => {
  it('that is unknown is refused with the nearest, like one that goes with other rules', () => {
    const create = (options: object) => () => createLimiter(options as never)
    expect(create({ rules: {}, blokcs: [] })).toThrow(
      'unknown option "blokcs"; did you mean "blocks"?',
    )
    expect(create({ rules: RuleSet.compile({}), blocks: [] })).toThrow(
      'blocks is part of the compiled rules',
    )
    expect(create({ rules: {}, clock: 5 })).toThrow('clock is 5; expected a function')
    expect(create({ rules: {}, store: {} })).toThrow(
      'store is {}; expected one such as memoryStore()',
    )
    for (const what of [undefined, null, 5, true])
      expect(() => createLimiter(what as never)).toThrow(
        'expected a limit such as "10/s" or { rules }',
      )
  })
})

it('keeps a bounded number of the faults of a document that is wrong everywhere', () => {
  const faults = readDocument({ scopes: Array.from({ length: 150_000 }, () => []) })
  expect(faults).toHaveLength(100_000)
})

it('reads no further than that many faults', () => {
  const last = {
    get user(): string {
      throw new Error('it is read')
    },
  }
  const faults = readDocument({ blocks: [...Array.from({ length: 100_001 }, () => 0), last] })
  expect(faults).toHaveLength(100_000)
})
