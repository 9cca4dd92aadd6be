/** Random rules, overrides and requests over a few names, so that they meet often. */
import * as fc from 'fast-check'
import type { OverrideInput, Request, RuleInput, RulesDocument } from '../../src/index.js'

export const NOW_MS = Date.parse('2026-06-15T12:00:00Z')

const VALUES: Record<string, readonly string[]> = {
  user: ['ada', 'bob', 'constructor'],
  org: ['acme', 'initech'],
  team: ['red'],
  ip: ['10.0.0.1', '10.0.0.2', '10.1.0.1', '192.0.2.7', '2001:db8::1', '2001:db8:0:1::1'],
}
const NETWORKS = ['0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/24', '10.0.0.1/32', '::/0', '2001:db8::/64']
const TIERS = ['free', 'pro', 'max']
const RESOURCES = ['*', '/*', '/a', '/a/*', '/a/b', '/a/:x', '/:y/b', '/:x/:y', 'name', '/a/b/:z']
const METHODS = [['GET'], ['POST'], ['GET', 'POST'], ['HEAD', 'GET', 'POST'], ['get']]

const scopes = fc.constantFrom('user', 'user', 'org', 'ip', 'ip', 'team', 'global')
const sometimes = (weight: number) => fc.nat(weight).map((n) => n === 0)

function valueOf(scope: string): fc.Arbitrary<string> {
  return fc.constantFrom(...VALUES[scope]!, ...(scope === 'ip' ? NETWORKS : []))
}

export interface Draft extends RuleInput {
  readonly name: string
}

/** Absent where it is null. */
function given<K extends string, V>(key: K, value: V | null): { [P in K]?: V } {
  return value === null ? {} : ({ [key]: value } as { [P in K]: V })
}

const drafts: fc.Arbitrary<Draft> = scopes.chain((scope) =>
  fc
    .record({
      value: scope === 'global' ? fc.constant(null) : fc.option(valueOf(scope), { freq: 2 }),
      tier: fc.option(fc.constantFrom(...TIERS), { freq: 3 }),
      tiers: fc.option(fc.subarray(TIERS, { minLength: 1 }), { freq: 3 }),
      resource: fc.option(fc.constantFrom(...RESOURCES), { freq: 5 }),
      methods: fc.option(fc.constantFrom(...METHODS), { freq: 2 }),
      unit: fc.option(fc.constantFrom('tokens', 'bytes'), { freq: 4 }),
      additive: sometimes(3),
      shadow: sometimes(4),
      disabled: sometimes(8),
    })
    .map(({ value, tier, tiers, resource, methods, unit, additive, shadow, disabled }) => ({
      name: '',
      scope,
      limits: '1000000/h' as const,
      additive,
      shadow,
      enabled: !disabled,
      ...given('value', value),
      ...given('resource', resource),
      ...given('methods', methods),
      ...given('unit', unit),
      ...(tier === null && tiers !== null
        ? { tiers: Object.fromEntries(tiers.map((name) => [name, '2000000/h' as const])) }
        : given('tier', tier)),
    })),
)

/** What may not be the same of two rules, one of them not additive. */
function placesOf(rule: Draft): string[] {
  const value = rule.value === '10.0.0.1/32' ? '10.0.0.1' : (rule.value ?? null)
  const resource = (rule.resource ?? '*').replaceAll(/:[a-z]/g, ':')
  const methods = [rule.methods ?? []].flat().map((method) => method.toUpperCase())
  const tiers = rule.tiers === undefined ? [rule.tier ?? null] : [null, ...Object.keys(rule.tiers)]
  return tiers.map((tier) => JSON.stringify([rule.scope, value, tier, resource, methods.sort()]))
}

/** Names the rules, and leaves out what would be the same rule twice. Some become a tier of the one before. */
export function named(drafts: readonly (Draft & { readonly joins: boolean })[]): Draft[] {
  const taken = new Set<string>()
  const rules: Draft[] = []
  for (const { joins, ...draft } of drafts) {
    const kin = rules.at(-1)
    let rule: Draft = { ...draft, name: `r${(rules.length * 7) % 10}${rules.length}` }
    if (joins && kin?.tiers === undefined && kin?.tier === undefined && draft.tier !== undefined) {
      const { scope, unit, shadow, additive } = kin ?? draft
      const name = kin === undefined ? rule.name : `${kin.name}@${draft.tier}`
      const { unit: _unit, value: _value, ...rest } = rule
      rule = {
        ...rest,
        name,
        scope,
        shadow: shadow!,
        additive: additive!,
        ...given('unit', unit ?? null),
      }
    }
    const places = placesOf(rule)
    if (rule.additive !== true && places.some((place) => taken.has(place))) continue
    if (rule.additive !== true) for (const place of places) taken.add(place)
    rules.push(rule)
  }
  return rules
}

const untils = fc.constantFrom(
  '2026-06-15T12:00:00Z',
  '2026-06-15T12:00:00.001Z',
  '2020-01-01',
  new Date('2040-01-01'),
  undefined,
)

function overridesOf(rules: readonly Draft[]): fc.Arbitrary<OverrideInput[]> {
  const some = rules.filter(({ scope }) => scope !== 'global')
  if (some.length === 0) return fc.constant([])
  const override = fc.constantFrom(...some).chain((rule) =>
    fc.record({
      scope: fc.constant(rule.scope),
      value: fc.constantFrom(...VALUES[rule.scope]!),
      rule: fc.constantFrom(
        rule.name,
        rule.name.split('@')[0]!,
        ...Object.keys(rule.tiers ?? {}).map((tier) => `${rule.name}@${tier}`),
      ),
      until: untils,
    }),
  )
  return fc.array(override, { maxLength: 4 }).map((all) =>
    all
      .filter(({ rule }) => rules.some(({ name }) => name === rule.split('@')[0]))
      .map(({ until, ...entry }, i) => ({
        ...entry,
        limits: `${3_000_000 + i}/h` as const,
        ...(until === undefined ? {} : { until }),
      })),
  )
}

const members = fc
  .uniqueArray(
    fc.constantFrom('user:ada', 'user:bob', 'org:acme', 'org:initech', 'ip:10.0.0.1', 'team:red'),
  )
  .chain((names) =>
    fc
      .array(fc.constantFrom(...TIERS), { minLength: 6, maxLength: 6 })
      .map((tiers) => ({ names, tiers })),
  )
  .map(({ names, tiers }) =>
    Object.fromEntries(
      TIERS.map((tier) => [
        tier,
        names.filter((_, i) => tiers[i] === tier) as `${string}:${string}`[],
      ]),
    ),
  )

const defaultRules = fc.record({
  scope: fc.constantFrom('user', 'ip', 'org'),
  limits: fc.constant('5000000/h' as const),
  shadow: sometimes(3),
  enabled: fc.nat(3).map((n) => n > 0),
})

const costs = fc.constantFrom<NonNullable<RulesDocument['costs']>>(
  {},
  { '/a': { tokens: 3 } },
  { 'GET /a/*': { tokens: 3, bytes: 4 }, name: 2 },
)

export const documents: fc.Arbitrary<RulesDocument & { readonly drafts: readonly Draft[] }> = fc
  .array(
    fc.tuple(drafts, sometimes(2)).map(([draft, joins]) => ({ ...draft, joins })),
    { maxLength: 14, size: 'max' },
  )
  .map(named)
  .chain((drafts) =>
    fc
      .record({
        overrides: overridesOf(drafts),
        tiers: members,
        defaultRule: fc.option(defaultRules),
        costs,
      })
      .map(({ overrides, tiers, defaultRule, costs }) => ({
        drafts,
        scopes: ['user', 'org', 'ip', 'team'],
        rules: Object.fromEntries(drafts.map(({ name, ...rule }) => [name, rule])),
        overrides,
        tiers,
        costs,
        ...given('default_rule', defaultRule),
      })),
  )

const spellings = ['::ffff:10.0.0.1', '2001:DB8:0:0:0:0:0:1', '2001:db8::1%eth0', '198.51.100.1']

export const requests: fc.Arbitrary<Request> = fc.record(
  {
    subject: fc.record(
      {
        user: fc.constantFrom(...VALUES.user!, 'zoe'),
        org: fc.constantFrom(...VALUES.org!),
        team: fc.constantFrom('red', 'blue'),
        ip: fc.constantFrom(...VALUES.ip!, ...spellings),
      },
      { requiredKeys: [] },
    ),
    resource: fc.constantFrom(
      '/a',
      '/a/b',
      '/a/c',
      '/c/b',
      '/c/d',
      '/a/b/c',
      '/',
      'name',
      'other',
      '/a/b?q=1',
    ),
    method: fc.constantFrom('GET', 'get', 'POST', 'HEAD', 'PURGE'),
    tier: fc.constantFrom(...TIERS, 'none-such'),
    costs: fc.constantFrom({ tokens: 5 }, { bytes: 1, tokens: 2 }, { requests: 2 }),
  },
  { requiredKeys: ['subject'] },
)
