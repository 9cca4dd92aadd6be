/** The shapes of the wire as JSON Schema (2020-12, as OpenAPI 3.1 has it). A test holds every answer against them. */

import {
  count,
  listOf,
  object,
  orNull,
  PLAIN,
  ref,
  type Schema,
  seconds,
  text,
  time,
  value,
} from '../../http/schema.js'

const UNITS: Schema = {
  type: 'object',
  description: 'Amounts by unit: `{"requests": 1, "tokens": 1500}`.',
  propertyNames: { pattern: '^[a-z][a-z0-9_]{0,31}$' },
  additionalProperties: { type: 'integer', minimum: 0, maximum: 1_000_000_000 },
  maxProperties: 16,
}

const SUBJECT_FIELDS: Record<string, Schema> = {
  namespace: text('The tenant; the one that is served unless given.'),
  subject: {
    type: 'object',
    description: 'Who asks: a value for each scope. May be empty.',
    additionalProperties: value('A value of a scope that the rules know; of `ip` an address.'),
    maxProperties: 32,
    examples: [{ user: 'ada', ip: '203.0.113.42' }],
  },
  scope: text('With `identifier` instead of `subject`: one scope.', { examples: ['user'] }),
  identifier: value('The value of `scope`.'),
}

const CHECK_FIELDS: Record<string, Schema> = {
  ...SUBJECT_FIELDS,
  resource: text('The resource of the request. A query is ignored.', {
    maxLength: 2048,
    examples: ['/hello'],
  }),
  method: text('The HTTP method, where there is one.', { pattern: '^[A-Za-z][A-Za-z-]{0,31}$' }),
  cost: {
    type: 'integer',
    minimum: 1,
    maximum: 100_000,
    description: "Requests to be charged; the rules' costs, else 1, unless given.",
  },
  costs: {
    ...UNITS,
    additionalProperties: { type: 'integer', minimum: 1, maximum: 1_000_000_000 },
  },
  tier: text('Wins over the tier that the rules assign.', {
    pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$',
  }),
  dry_run: { type: 'boolean', description: 'Decides without taking.' },
  idempotency_key: text('The same key and request within 5 minutes is counted once.', {
    minLength: 1,
    maxLength: 255,
    pattern: PLAIN,
  }),
  hold: text('An id of your own for the place that a concurrency limit gives.', {
    minLength: 1,
    maxLength: 255,
    pattern: PLAIN,
  }),
}

/** A subject in either of its forms. */
const NAMED: Schema = {
  oneOf: [{ required: ['subject'] }, { required: ['scope'] }],
}

const LIMIT = object({
  rule: text('The rule that the limit is of.'),
  scope: text('What the rule counts by.'),
  algorithm: {
    type: 'string',
    enum: [
      'token_bucket',
      'gcra',
      'leaky_bucket',
      'fixed_window',
      'sliding_window_log',
      'sliding_window_counter',
      'concurrency',
    ],
  },
  amount: count('What the limit says.'),
  limit: count('What a full counter holds.'),
  window_seconds: seconds('Its window; of a calendar window the one that is now.'),
  allowed: { type: 'boolean' },
  remaining: orNull(count('Unit requests that would pass now; null if it could not be counted.')),
  reset_at: time('When it is as if nothing had been used.'),
  retry_after: orNull(seconds('Of a no: when to come back; null: never.')),
  unit: text('What is counted.'),
  shadow: { type: 'boolean', description: 'Counted and reported, never enforced.' },
})

const ERROR = object(
  {
    code: text('One of the published table.'),
    message: text('What is wrong, and what was expected.'),
    field: text('The part of the request that is meant.'),
    faults: listOf({ type: 'object' }),
  },
  ['code', 'message'],
)

const DECISION_FIELDS: Record<string, Schema> = {
  allowed: { type: 'boolean' },
  limit: orNull(count('Of the limit that blocks, or is most restrictive; null if none applies.')),
  remaining: orNull(count('The same.')),
  reset_at: orNull(time('The same.')),
  retry_after: orNull(seconds('Seconds, exact; null: allowed, or never.')),
  delay: seconds('How long a leaky bucket wants the request held.'),
  state: { type: 'string', enum: ['normal', 'warning', 'throttled'] },
  reason: {
    type: ['string', 'null'],
    enum: ['limited', 'blocked', 'too_expensive', 'store_down', null],
  },
  rule: orNull(text('The rule that decided.')),
  scope: orNull(text('What it counts by.')),
  degraded: { type: 'boolean', description: 'Decided without the store.' },
  degraded_reason: orNull(text('Why.')),
  receipt: orNull(text('For giving back what was taken, within an hour; null if nothing was.')),
  limits: listOf(ref('Limit')),
}

const DECISION_EXTRAS: Record<string, Schema> = {
  exempt: { const: true, description: 'An exemption let it through all rules.' },
  replayed: { const: true, description: 'An earlier answer again, for the same idempotency key.' },
  hold: text('The place that a concurrency limit gave: to renew and release it.'),
  hold_expires_at: time('When it is freed unless it is renewed.'),
  error: ref('ErrorDetail'),
}

const decision = (more: Record<string, Schema> = {}, required: readonly string[] = []): Schema =>
  object({ ...DECISION_FIELDS, ...DECISION_EXTRAS, ...more }, [
    ...Object.keys(DECISION_FIELDS),
    ...required,
  ])

const check = (more: Record<string, Schema> = {}, rest: Schema = NAMED): Schema =>
  object({ ...CHECK_FIELDS, ...more }, [], rest)

export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Check: check(),
  Batch: object({ checks: listOf(ref('Check'), { maxItems: 1000 }) }),
  Refund: check(
    {
      receipt: text('Of the decision to be given back; without one it is a grant.'),
      cost: count('Requests to give back; all that was taken unless given.'),
      costs: UNITS,
    },
    { anyOf: [{ required: ['receipt'] }, ...(NAMED['oneOf'] as Schema[])] },
  ),
  Reset: object({ ...SUBJECT_FIELDS, rule: text('Only this rule.') }, [], NAMED),
  Settle: object(
    {
      namespace: SUBJECT_FIELDS['namespace']!,
      reservation: text('What a reserve answered.'),
      cost: count('Requests that were really used.'),
      costs: UNITS,
    },
    ['reservation'],
    { anyOf: [{ required: ['cost'] }, { required: ['costs'] }] },
  ),
  Explain: check({
    normalize: {
      type: 'boolean',
      description:
        'Whether the resource is normalised, as `GET /v1/auth` does; as the rules say of checks unless given.',
    },
  }),
  Hold: object(
    { ...CHECK_FIELDS, hold: text('What a check answered; or your own id, with its request.') },
    ['hold'],
  ),
  Limit: LIMIT,
  ErrorDetail: ERROR,
  Error: object({ error: ref('ErrorDetail') }),
  Decision: decision(),
  Reservation: decision(
    { reservation: orNull(text('To settle with, on any instance, within an hour.')) },
    ['reservation'],
  ),
  Results: object({
    results: listOf({ anyOf: [ref('Decision'), ref('Error')] }),
  }),
  Refunded: object({ refunded: UNITS, limits: listOf(ref('Limit')) }),
  ResetCount: object({ reset: count('Counters that were in use.') }),
  Settled: object({ given_back: UNITS, taken: UNITS }),
  Renewed: object({ hold: text('As it was sent.'), hold_expires_at: time('Its new end.') }),
  Released: object({ released: { type: 'boolean', description: 'Whether anything was held.' } }),
  Explanation: object({
    decision: ref('Decision'),
    resource: text('The resource as it was compared, without its query.'),
    normalized: { type: 'boolean', description: 'Whether it was normalised for that.' },
    applied: listOf(
      object({
        rule: text('A rule that applies.'),
        scope: text('What it counts by.'),
        limits: listOf(text('As it is written.')),
        why: text('Why it applies.'),
      }),
    ),
    set_aside: listOf(
      object({
        rule: text('A rule that does not.'),
        scope: text('What it counts by.'),
        limits: listOf(text('As it is written.')),
        by: orNull(text('The rule that applies instead.')),
        why: text('Why.'),
      }),
    ),
    absent_scopes: listOf(text('A scope that rules look at and the request does not name.')),
    tier: orNull(text('The tier that the first rule sees.')),
    tiers: {
      type: 'object',
      description: "The tier that each scope's rules see.",
      additionalProperties: { type: 'string' },
    },
    cost: UNITS,
    revision: count('Of the rules.'),
  }),
  Health: object({ status: { const: 'ok' } }),
  Readiness: object(
    {
      ready: { type: 'boolean' },
      reason: text('Why not.'),
      rules: object({ revision: count('Counts changes.'), count: count('How many.') }),
      store: object(
        { kind: { type: 'string', enum: ['memory', 'redis'] }, breaker: text('Of Redis.') },
        ['kind'],
      ),
      feed: object({
        revision: count('In force here.', Number.MAX_SAFE_INTEGER),
        head: count('The newest that is known of.', Number.MAX_SAFE_INTEGER),
        lag_seconds: seconds('For how long there has been a newer one.'),
        away: { type: 'boolean', description: 'Its source cannot be asked.' },
      }),
      database: object({
        kind: { type: 'string', enum: ['postgres', 'embedded'] },
        away: { type: 'boolean', description: 'It cannot be asked.' },
      }),
      planes: listOf(
        object({
          instance: text('One process.'),
          host: text('The machine it runs on.'),
          revision: count('In force there.', Number.MAX_SAFE_INTEGER),
          lag_seconds: seconds('For how long it has known of a newer one.'),
          seen_seconds: seconds('How long ago it said so.'),
        }),
        { description: 'Every instance that follows the same feed; for those who may look.' },
      ),
    },
    ['ready'],
  ),
}
