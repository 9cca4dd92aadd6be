/** The shapes of the admin routes: what they take and what they answer. */
import {
  count,
  listOf,
  object,
  orNull,
  ref,
  type Schema,
  seconds,
  text,
  time,
  value,
} from '../http/schema.js'
import { ROLES } from '../security/caller.js'

const id = text('What it is known by.')
const flag = (description: string): Schema => ({ type: 'boolean', description })
const reason = orNull(text('Why, for people.', { maxLength: 1000 }))
const until = orNull(time('When it ends by itself; null: never.'))
const version = count('Counts the changes of this one.', Number.MAX_SAFE_INTEGER)
const revision = count('Counts the changes of everything.', Number.MAX_SAFE_INTEGER)
const scope = text(
  'What is limited: `user`, `api_key`, `ip`, `org`, `global` or a name of your own.',
)
const namespace = text('The tenant it belongs to; `default` unless given.')
const optional = (schema: Schema, or: Schema = { type: 'null' }): Schema => ({
  anyOf: [schema, or],
})
const page = (item: string): Schema =>
  object({
    items: listOf(ref(item)),
    next: orNull(text('The cursor of the next page; null on the last one.')),
  })

const methods = orNull(listOf({ type: 'string' }, { description: 'Null: all of them.' }))
const limits = listOf(
  { type: 'string' },
  { description: 'One line each: `10/s`, `1000 per 5m sliding`.' },
)
/** Either form: `10/s`, or an object of its parts; one, or a list. */
const limitsInput: Schema = {
  anyOf: [
    { type: 'string' },
    { type: 'object' },
    { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'object' }] } },
  ],
  description: 'One or more, as a line (`10/s`) or an object.',
}

const leaseSizes = object(
  {
    ahead: orNull(text("How much time's worth of the local rate: `10ms` to `400ms`.")),
    most: orNull({ type: 'integer', minimum: 2, description: 'The largest lease.' }),
  },
  [],
)

const settings = {
  additive: flag('Applies besides the most specific rule.'),
  unit: text('What the limits count.'),
  enabled: flag('A disabled rule does nothing and contests with nobody.'),
  shadow: flag('Counted and reported, never enforced.'),
  rollout: {
    type: 'number',
    minimum: 0,
    maximum: 100,
    description: 'For how many in a hundred of its subjects it is enforced.',
  },
  failure_mode: text('What holds while the store is away.', { enum: ['open', 'closed', 'local'] }),
  reach: text('Where it counts.', { enum: ['regional', 'global'] }),
  shards: {
    type: 'integer',
    minimum: 1,
    maximum: 1024,
    description: 'How many counters share the load of one subject.',
  },
  lease: {
    anyOf: [{ type: ['boolean', 'null'] }, leaseSizes],
    description: 'Taking ahead of time; null: as the instance does.',
  },
  description: orNull(text('For people.', { maxLength: 1000 })),
}

const rule = {
  scope,
  value: orNull(text('One value of the scope; for `ip` an address or a CIDR.')),
  tier: orNull(text('Only for the subjects of this tier.')),
  resource: text('`/v1/search`, `/users/:id`, `/v1/*`, a name, or `*`.'),
  methods,
  limits,
  ...settings,
}

/** Null where an answer would have it, so that an answer can be sent back. */
const ruleInput = Object.fromEntries(
  Object.entries({
    ...rule,
    methods: { type: ['array', 'string'], items: { type: 'string' } },
    lease: { anyOf: [{ type: 'boolean' }, { enum: ['on', 'off'] }, leaseSizes] },
  }).map(([field, schema]) => [field, optional(schema as Schema)]),
)
const fixed = {
  id,
  namespace,
  version,
  created_at: orNull(time('When it was made.')),
  updated_at: orNull(time('When it was changed.')),
}

const listed = {
  id,
  namespace,
  scope,
  value: text('Exact, or a CIDR for `ip`.'),
  until,
  reason,
  created_at: time('When it was made.'),
}
const token = {
  id,
  name: text('What it is called in the audit.'),
  role: text('What its holder may do.', { enum: [...ROLES] }),
  namespaces: orNull(listOf({ type: 'string' }, { description: 'Null: all of them.' })),
  created_at: time('When it was made.'),
  expires_at: orNull(time('When it ends; null: never.')),
}
const override = {
  scope,
  value: text('Whose limits.'),
  rule: text("The rule's name."),
  limits,
  until,
  reason,
}

const ruleAnswer = {
  id,
  name: text('Unique in its namespace.'),
  namespace,
  ...rule,
  version,
  created_at: fixed.created_at,
  updated_at: fixed.updated_at,
}

const warnings = listOf(
  object({
    code: text('Which.'),
    field: text('The field that is meant.'),
    message: text('What is in doubt.'),
  }),
)

export const ADMIN_SCHEMAS: Readonly<Record<string, Schema>> = {
  Rule: object({ ...ruleAnswer, warnings }, Object.keys(ruleAnswer)),
  RuleInput: object(
    {
      name: text('Unique in its namespace.'),
      ...ruleInput,
      scope,
      limits: limitsInput,
      ...fixed,
      warnings,
    },
    ['name', 'scope', 'limits'],
  ),
  RulePatch: object(
    { name: text('Another name.'), ...ruleInput, scope, limits: limitsInput, ...fixed, warnings },
    [],
  ),
  Rules: page('Rule'),
  RuleVersion: object({
    version,
    at: time('When.'),
    actor: text('Who.'),
    revision,
    deleted: flag('It was taken away; `rule` is what it was.'),
    rule: ref('Rule'),
  }),
  RuleVersions: page('RuleVersion'),
  Rollback: object({
    version: { type: 'integer', minimum: 1, description: 'One of its history.' },
  }),
  SubjectLimits: object({
    scope,
    value: text('Who.'),
    tier: orNull(text('The tier it is in.')),
    exempt: flag('All rules let it through.'),
    blocked: flag('It is refused before any rule.'),
    limits: listOf(ref('SubjectLimit')),
    set_aside: listOf(
      object({
        rule: text('Which does not apply.'),
        by: orNull(text('Which applies instead.')),
        why: text('In words.'),
      }),
    ),
  }),
  SubjectLimit: object({
    rule: text('Whose limit it is.'),
    scope,
    limit: text('In one line.'),
    algorithm: text('How it counts.'),
    amount: count('What may pass in a window.'),
    limit_total: count('What a full counter holds.'),
    window_seconds: seconds('The window.'),
    remaining: orNull({
      type: 'integer',
      description: 'What is left; null where that is not known.',
    }),
    reset_at: orNull(time('When it is unused again.')),
    retry_after: orNull(seconds('When one more would pass; null: now, or never.')),
    unit: settings.unit,
    shadow: settings.shadow,
    why: text('Why it applies.'),
    override: { anyOf: [object({ until, reason }), { type: 'null' }] },
  }),
  TierInput: object({ tier: orNull(text('A tier exists by being named; null takes it away.')) }),
  Tier: object({ scope, value: text('Who.'), tier: orNull(text('Null: none.')) }),
  OverrideInput: object({ rule: override.rule, limits: limitsInput, until, reason }, [
    'rule',
    'limits',
  ]),
  Override: object(override),
  ListedInput: object(
    { namespace, scope, value: value('Exact, or a CIDR for `ip`.'), until, reason },
    ['scope', 'value'],
  ),
  Listed: object(listed),
  ListedPage: page('Listed'),
  CostInput: object(
    {
      namespace,
      resource: rule.resource,
      methods: { type: ['array', 'string', 'null'], items: { type: 'string' } },
      unit: orNull(text('`requests` unless given.')),
      cost: { type: 'integer', minimum: 1, maximum: 1_000_000_000 },
    },
    ['resource', 'cost'],
  ),
  Cost: object({
    id,
    namespace,
    resource: rule.resource,
    methods,
    unit: settings.unit,
    cost: count('How much.'),
  }),
  Costs: page('Cost'),
  Namespace: object({ name: namespace, revision }),
  Namespaces: page('Namespace'),
  Document: {
    type: 'object',
    description: 'A rules document, as a rules file has it: see rules.schema.json.',
  },
  Plan: object(
    {
      revision,
      warnings,
      changes: listOf(
        object({
          what: text('What kind.', {
            enum: ['rule', 'tier', 'override', 'exemption', 'block', 'cost', 'settings'],
          }),
          name: text('Which.'),
          change: text('What becomes of it.', { enum: ['added', 'removed', 'changed'] }),
          before: orNull(text('What it is.')),
          after: orNull(text('What it is to be.')),
          counters: {
            enum: ['carry over', 'start anew', null],
            description: 'What becomes of what subjects have used.',
          },
        }),
      ),
    },
    ['revision', 'changes'],
  ),
  TokenInput: object(
    {
      name: token.name,
      role: token.role,
      namespaces: token.namespaces,
      expires_at: token.expires_at,
    },
    ['name', 'role', 'namespaces'],
  ),
  Token: object(token),
  NewToken: object({ ...token, token: text('Shown this once.') }),
  Tokens: page('Token'),
  AuditEntry: object({
    at: time('When.'),
    revision,
    namespace: text('Empty: of none.'),
    actor: text('Who.'),
    action: text('What was done: `rule.create`.'),
    target: text('To what.'),
    before: { description: 'What it was; null where there was nothing.' },
    after: { description: 'What it became; null where nothing is left.' },
  }),
  AuditEntries: page('AuditEntry'),
}
