/**
 * The rules file as a JSON Schema, for editors: everything that the reader accepts passes, and whatever
 * is of the wrong kind, misnamed or misspelt does not. `scripts/generate-schema.mjs` writes it into the docs.
 */
import { AMOUNT_PATTERN, DURATION_PATTERN, LIMIT_PATTERN } from './limit-pattern.js'

const NAME = '[A-Za-z0-9][A-Za-z0-9_.-]{0,99}'
const TIER = '[A-Za-z0-9][A-Za-z0-9_.-]{0,63}'
const SCOPE = '[a-z][a-z0-9_]{0,31}'
const METHODS = '[A-Za-z][A-Za-z-]{0,31}'
const DAY = '\\d{4}-\\d\\d-\\d\\d'
const TIME = `^${DAY}(T[0-9:.]+(Z|[+-]\\d\\d:\\d\\d))?$`

const whole = (minimum: number, maximum = 1_000_000_000) => ({ type: 'integer', minimum, maximum })
const text = (pattern: string) => ({ type: 'string', pattern: `^(?:${pattern})$` })
const ref = (name: string) => ({ $ref: `#/$defs/${name}` })
const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})
const oneOrMore = (item: object, most?: number) => ({
  anyOf: [
    item,
    { type: 'array', items: item, minItems: 1, ...(most === undefined ? {} : { maxItems: most }) },
  ],
})
const described = (description: string, schema: object) => ({ description, ...schema })

const onOff = { enum: [true, false, 'on', 'off'] }

const scope = described(
  'What is counted apart: user, api_key, ip, org, global, or a name of your own.',
  {
    anyOf: [{ enum: ['user', 'api_key', 'ip', 'org', 'global'] }, text(SCOPE)],
  },
)
const until = described('The end: a day, or a time with its zone, such as 2026-12-31T12:00:00Z.', {
  type: 'string',
  pattern: TIME,
})
const reason = described('Why, for those who look later.', { type: 'string' })

/** What every rule may have, the default rule too. */
const common = {
  scope,
  limits: ref('limits'),
  unit: described('What the limits count; requests unless given.', text(SCOPE)),
  enabled: described('False: as if it were not there.', { type: 'boolean' }),
  shadow: described('Counted and reported, never enforced.', { type: 'boolean' }),
  failure_mode: ref('failure_mode'),
  description: { type: 'string' },
  rollout: described(
    'Percent of its subjects, chosen by hash, for which it is enforced; in shadow for the others.',
    { type: 'number', minimum: 0, maximum: 100 },
  ),
  reach: described('regional or global. Not in force yet.', {}),
  shards: described(
    'How many counters share the load of one subject over Redis, each with its part of the limits; 1 unless given.',
    whole(1, 1024),
  ),
  lease: described(
    'Whether instances take ahead of time and decide from that; as the instance does unless given.',
    {
      anyOf: [
        { enum: [true, false, 'on', 'off'] },
        object({
          ahead: described("How much time's worth of the local rate: 10ms to 400ms.", {
            ...text('[0-9][0-9_]{0,15}ms'),
          }),
          most: described('The largest lease.', whole(2)),
        }),
      ],
    },
  ),
}

const limitObjects = [
  object(
    {
      algorithm: {
        enum: ['fixed_window', 'sliding_window_log', 'sliding_window_counter'],
      },
      amount: ref('amount'),
      window: ref('duration'),
    },
    { required: ['algorithm', 'amount', 'window'] },
  ),
  object(
    {
      algorithm: { enum: ['token_bucket', 'gcra'] },
      amount: ref('amount'),
      window: ref('duration'),
      burst: ref('amount'),
    },
    { required: ['amount', 'window'] },
  ),
  object(
    {
      algorithm: { const: 'leaky_bucket' },
      amount: ref('amount'),
      window: ref('duration'),
      queue: { anyOf: [whole(0), text(AMOUNT_PATTERN)] },
    },
    {
      required: ['amount', 'window'],
      anyOf: [{ required: ['algorithm'] }, { required: ['queue'] }],
    },
  ),
  object(
    {
      algorithm: { const: 'token_bucket' },
      capacity: ref('amount'),
      refill_rate: described('Such as 500/s.', { type: 'string', pattern: LIMIT_PATTERN }),
    },
    { required: ['capacity', 'refill_rate'] },
  ),
  object(
    {
      algorithm: { const: 'fixed_window' },
      amount: ref('amount'),
      calendar: { enum: ['day', 'week', 'month'] },
      timezone: { type: 'string' },
    },
    { required: ['amount', 'calendar'] },
  ),
  object(
    { algorithm: { const: 'concurrency' }, amount: ref('amount'), timeout: ref('duration') },
    { required: ['amount', 'timeout'] },
  ),
]

/** One scope with its value, and an end and a reason if need be. */
const entryObject = {
  type: 'object',
  properties: { until, reason },
  patternProperties: { [`^(?!(?:until|reason)$)${SCOPE}$`]: { type: 'string', minLength: 1 } },
  additionalProperties: false,
  anyOf: [
    { minProperties: 3, maxProperties: 3, required: ['until', 'reason'] },
    { minProperties: 2, maxProperties: 2, required: ['until'], not: { required: ['reason'] } },
    { minProperties: 2, maxProperties: 2, required: ['reason'], not: { required: ['until'] } },
    {
      minProperties: 1,
      maxProperties: 1,
      not: { anyOf: [{ required: ['until'] }, { required: ['reason'] }] },
    },
  ],
}

export const RULES_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sluice rules',
  description: 'Which requests may pass how often.',
  ...object({
    version: { const: 1 },
    namespace: described('Counters of different namespaces are apart.', text(TIER)),
    timezone: described('Of calendar windows that name none; UTC unless given.', {
      type: 'string',
    }),
    defaults: object({
      failure_mode: ref('failure_mode'),
      ipv6_prefix: described(
        'IPv6 addresses are counted by this prefix; 64 unless given.',
        whole(1, 128),
      ),
    }),
    normalize: described(
      'How resources that begin with / are brought into one spelling before they are compared.',
      object({
        checks: described(
          'For checks too, not only for GET /v1/auth. Off unless given; fold_case: on or a stated trailing_slash turns it on.',
          onOff,
        ),
        trailing_slash: described('Whether /a/ is /a; drop unless given.', {
          enum: ['drop', 'keep'],
        }),
        fold_case: described('Whether /A is /a; off unless given.', onOff),
      }),
    ),
    scopes: described('Scopes that requests may name though no rule does.', {
      type: 'array',
      items: text(SCOPE),
    }),
    default_rule: described('Applies where no rule of a scope other than global does.', {
      ...object(common, { required: ['scope', 'limits'] }),
    }),
    tiers: described('Names of tiers, and who has them.', {
      type: 'object',
      propertyNames: text(TIER),
      additionalProperties: { type: 'array', items: ref('scoped_value') },
    }),
    rules: described('Rules by name.', {
      type: 'object',
      propertyNames: {
        allOf: [text(`${NAME}(?:@${TIER})?`), { not: text(`default(?:@${TIER})?`) }],
      },
      additionalProperties: ref('rule'),
    }),
    overrides: described('Other limits for one subject of one rule.', {
      type: 'array',
      items: ref('override'),
    }),
    costs: described('What a request costs that does not say, by method and resource.', {
      type: 'object',
      additionalProperties: {
        anyOf: [
          whole(1),
          { type: 'object', propertyNames: text(SCOPE), additionalProperties: whole(1) },
        ],
      },
    }),
    exemptions: described('Who passes all rules.', { type: 'array', items: ref('entry') }),
    blocks: described('Who is refused before anything else.', {
      type: 'array',
      items: ref('entry'),
    }),
  }),
  $defs: {
    rule: object(
      {
        ...common,
        value: described('One value of the scope; of ip an address or a CIDR.', {
          type: 'string',
          minLength: 1,
        }),
        tier: described('Only for subjects of this tier.', text(TIER)),
        resource: described(
          'A path (/v1/search, /users/:id, /v1/*), a name or *; a method may stand before it.',
          {
            type: 'string',
            minLength: 1,
          },
        ),
        methods: described('Which methods; all unless given.', oneOrMore(text(METHODS))),
        tiers: described('Other limits for the subjects of a tier, in the same counters.', {
          type: 'object',
          propertyNames: text(TIER),
          additionalProperties: ref('limits'),
        }),
        additive: described(
          'Applies besides the most specific rule, instead of contesting with it.',
          {
            type: 'boolean',
          },
        ),
      },
      { required: ['scope', 'limits'] },
    ),
    limits: described('One limit, or several that must all pass.', oneOrMore(ref('limit'), 16)),
    limit: {
      anyOf: [
        described('Such as 10/s, 1000/h burst 2000, 100 per 5m sliding, 8 concurrent for 60s.', {
          type: 'string',
          pattern: LIMIT_PATTERN,
          maxLength: 200,
        }),
        ...limitObjects,
      ],
    },
    amount: described('A whole number, or a text such as 20k or 5M.', {
      anyOf: [whole(1), text(AMOUNT_PATTERN)],
    }),
    duration: described('With its unit: 30s, 5m, 1h, 7d.', text(DURATION_PATTERN)),
    failure_mode: described(
      'While the store is away: let pass, refuse, or decide in this process.',
      {
        enum: ['open', 'closed', 'local'],
      },
    ),
    scoped_value: { type: 'string', pattern: `^${SCOPE}:[^]+$` },
    entry: { anyOf: [ref('scoped_value'), entryObject] },
    override: object(
      {
        scope,
        value: { type: 'string', minLength: 1 },
        rule: described("A rule's name; name@tier for one tier of it.", { type: 'string' }),
        limits: ref('limits'),
        until,
        reason,
      },
      { required: ['scope', 'value', 'rule', 'limits'] },
    ),
  },
} as const
