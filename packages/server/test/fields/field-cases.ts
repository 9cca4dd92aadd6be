/**
 * For every field of the rules document a change of that field alone. A field of the schema without a
 * case here fails `reload.test.ts`; add it as `field: [document before, document after]`.
 */
import { rulesFileSchema } from '@sluice/contract'
import type { RuleInput, RulesDocument } from '@sluice/limiter'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** Every field that the schema names: `defaults.ipv6_prefix`, `rule.lease.most`, `limit.burst`. */
export function schemaFields(): Set<string> {
  const { $defs, ...document } = rulesFileSchema() as Schema
  const fields = new Set(fieldsOf(document, ''))
  for (const [name, schema] of Object.entries($defs!))
    for (const field of fieldsOf(schema, `${name}.`)) fields.add(field)
  return fields
}

function* fieldsOf(schema: Schema, prefix: string): Generator<string> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield prefix + name
    yield* fieldsOf(field, `${prefix}${name}.`)
  }
  for (const one of schema.anyOf ?? []) yield* fieldsOf(one, prefix)
  if (schema.items !== undefined) yield* fieldsOf(schema.items, prefix)
  if (typeof schema.additionalProperties === 'object')
    yield* fieldsOf(schema.additionalProperties, prefix)
}

/** Fields that a running server cannot apply, and why. */
export const CANNOT_CHANGE = new Map([
  ['version', 'only version 1 exists, and leaving it out means the same'],
  ['namespace', 'a running server refuses another namespace; a test of its own shows it'],
])

type Change = readonly [before: RulesDocument, after: RulesDocument]

const PLAIN = { scope: 'user', resource: '/a', limits: '10/s' } as const
const rule = (fields: object): RulesDocument => ({ rules: { a: { ...PLAIN, ...fields } } })
const otherwise = (fields: object): RulesDocument => ({
  default_rule: { scope: 'ip', limits: '20/s', ...fields },
})
const override = (fields: object): RulesDocument => ({
  rules: { a: PLAIN, b: { ...PLAIN, resource: '/b' }, c: { ...PLAIN, scope: 'org' } },
  overrides: [{ scope: 'user', value: '1', rule: 'a', limits: '11/s', ...fields }],
})
const limit = (limits: RuleInput['limits']) => rule({ limits })
const block = (fields: object): RulesDocument => ({ blocks: [{ user: '1', ...fields }] })

/** What a rule and the default rule have in common. */
const common = (of: (fields: Partial<RuleInput>) => RulesDocument): Record<string, Change> => ({
  scope: [of({}), of({ scope: 'org' })],
  limits: [of({}), of({ limits: '12/s' })],
  unit: [of({}), of({ unit: 'tokens' })],
  enabled: [of({}), of({ enabled: false })],
  shadow: [of({}), of({ shadow: true })],
  failure_mode: [of({}), of({ failure_mode: 'closed' })],
  description: [of({}), of({ description: 'why' })],
  rollout: [of({}), of({ rollout: 50 })],
  reach: [of({}), of({ reach: 'global' })],
  message: [of({}), of({ message: 'come back later' })],
  labels: [of({ labels: { team: 'search' } }), of({ labels: { team: 'pay' } })],
  adaptive: [of({}), of({ adaptive: 'api' })],
  priority: [of({}), of({ priority: 'bulk' })],
  shards: [of({}), of({ shards: 2 })],
  lease: [of({}), of({ lease: 'on' })],
  'lease.ahead': [of({ lease: { ahead: '20ms' } }), of({ lease: { ahead: '30ms' } })],
  'lease.most': [of({ lease: { most: 5 } }), of({ lease: { most: 6 } })],
})

const prefixed = (prefix: string, cases: Record<string, Change>): [string, Change][] =>
  Object.entries(cases).map(([name, change]) => [`${prefix}.${name}`, change])

export const FIELD_CASES = new Map<string, Change>([
  ...Object.entries<Change>({
    timezone: [
      limit('5 per calendar day'),
      { ...limit('5 per calendar day'), timezone: 'Asia/Tokyo' },
    ],
    defaults: [rule({}), { ...rule({}), defaults: { failure_mode: 'closed' } }],
    'defaults.failure_mode': [
      { ...rule({}), defaults: { failure_mode: 'closed' } },
      { ...rule({}), defaults: { failure_mode: 'open' } },
    ],
    'defaults.ipv6_prefix': [
      { ...rule({}), defaults: { ipv6_prefix: 64 } },
      { ...rule({}), defaults: { ipv6_prefix: 48 } },
    ],
    normalize: [rule({}), { ...rule({}), normalize: { checks: 'on' } }],
    'normalize.checks': [
      { ...rule({}), normalize: { checks: 'on' } },
      { ...rule({}), normalize: { checks: 'off' } },
    ],
    'normalize.trailing_slash': [
      { ...rule({}), normalize: { trailing_slash: 'drop' } },
      { ...rule({}), normalize: { trailing_slash: 'keep' } },
    ],
    'normalize.fold_case': [
      { ...rule({}), normalize: { fold_case: 'on' } },
      { ...rule({}), normalize: { fold_case: 'off' } },
    ],
    scopes: [
      { ...rule({}), scopes: ['team'] },
      { ...rule({}), scopes: ['region'] },
    ],
    default_rule: [rule({}), { ...rule({}), ...otherwise({}) }],
    tiers: [{ tiers: { pro: ['user:1'] } }, { tiers: { max: ['user:1'] } }],
    rules: [rule({}), { rules: { ...rule({}).rules, b: { ...PLAIN, resource: '/b' } } }],
    'rules, their order': [
      { rules: { a: PLAIN, b: { ...PLAIN, resource: '/b' } } },
      { rules: { b: { ...PLAIN, resource: '/b' }, a: PLAIN } },
    ],
    overrides: [rule({}), { ...override({}), ...rule({}) }],
    'overrides, their order': [twoOverrides('11/s', '12/s'), twoOverrides('12/s', '11/s')],
    costs: [{ costs: { '/a': 2 } }, { costs: { '/a': 3 } }],
    exemptions: [{ exemptions: ['user:1'] }, { exemptions: ['user:2'] }],
    blocks: [{ blocks: ['user:1'] }, { blocks: ['user:2'] }],
  }),
  ...prefixed('rule', {
    ...common(rule),
    value: [rule({}), rule({ value: '1' })],
    tier: [rule({}), rule({ tier: 'pro' })],
    resource: [rule({}), rule({ resource: '/b' })],
    methods: [rule({}), rule({ methods: ['GET'] })],
    tiers: [rule({}), rule({ tiers: { pro: '12/s' } })],
    additive: [rule({}), rule({ additive: true })],
  }),
  ...prefixed('default_rule', common(otherwise)),
  ...prefixed('limit', {
    algorithm: [
      limit({ algorithm: 'sliding_window_log', amount: 5, window: '5s' }),
      limit({ algorithm: 'sliding_window_counter', amount: 5, window: '5s' }),
    ],
    amount: [limit({ amount: 5, window: '5s' }), limit({ amount: 6, window: '5s' })],
    window: [limit({ amount: 5, window: '5s' }), limit({ amount: 5, window: '6s' })],
    burst: [limit({ amount: 5, window: '5s' }), limit({ amount: 5, window: '5s', burst: 6 })],
    queue: [
      limit({ amount: 5, window: '5s', queue: 5 }),
      limit({ amount: 5, window: '5s', queue: 6 }),
    ],
    capacity: [
      limit({ algorithm: 'token_bucket', capacity: 5, refill_rate: '1/s' }),
      limit({ algorithm: 'token_bucket', capacity: 6, refill_rate: '1/s' }),
    ],
    refill_rate: [
      limit({ algorithm: 'token_bucket', capacity: 5, refill_rate: '1/s' }),
      limit({ algorithm: 'token_bucket', capacity: 5, refill_rate: '2/s' }),
    ],
    calendar: [limit({ amount: 5, calendar: 'day' }), limit({ amount: 5, calendar: 'week' })],
    timezone: [
      limit({ amount: 5, calendar: 'day' }),
      limit({ amount: 5, calendar: 'day', timezone: 'Asia/Tokyo' }),
    ],
    timeout: [
      limit({ algorithm: 'concurrency', amount: 5, timeout: '5s' }),
      limit({ algorithm: 'concurrency', amount: 5, timeout: '6s' }),
    ],
  }),
  ...prefixed('override', {
    scope: [override({}), override({ scope: 'org', rule: 'c' })],
    value: [override({}), override({ value: '2' })],
    rule: [override({}), override({ rule: 'b' })],
    limits: [override({}), override({ limits: '12/s' })],
    until: [override({}), override({ until: '2100-01-01' })],
    reason: [override({}), override({ reason: 'why' })],
  }),
  ...prefixed('entry', {
    until: [block({}), block({ until: '2100-01-01' })],
    reason: [block({}), block({ reason: 'why' })],
  }),
])

/** Two overrides of one subject and rule: the later one holds. */
function twoOverrides(first: '11/s' | '12/s', second: '11/s' | '12/s'): RulesDocument {
  const one = { scope: 'user', value: '1', rule: 'a' }
  return {
    ...rule({}),
    overrides: [
      { ...one, limits: first },
      { ...one, limits: second },
    ],
  }
}
