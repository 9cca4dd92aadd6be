/** Routes that decide, give back and explain. */

import { BATCH_BODY_BYTES, VOUCHER_BODY_BYTES } from '../body-sizes.js'
import { DecisionAnswer, ReservationAnswer } from '../decisions/decision-fields.js'
import { Limit } from '../decisions/limit-fields.js'
import {
  amounts,
  checkBody,
  include,
  REQUEST_FIELDS,
  SUBJECT_FIELDS,
  SUBJECT_FORMS,
} from '../decisions/request-fields.js'
import type { ErrorCode } from '../errors.js'
import { ErrorAnswer } from '../errors-schema.js'
import {
  anyOf,
  count,
  flag,
  list,
  named,
  object,
  orNull,
  PLAIN,
  refusedField,
  table,
  text,
  time,
} from '../schema.js'
import { route } from './route.js'

const REQUEST_ERRORS = [
  'bad_request',
  'unknown_namespace',
  'unauthorized',
  'forbidden',
  'payload_too_large',
  'busy',
] as const satisfies ErrorCode[]
const CHECK_ERRORS = [
  ...REQUEST_ERRORS,
  'idempotency_conflict',
  'idempotency_in_progress',
] as const satisfies ErrorCode[]
const CHANGE_ERRORS = [
  ...REQUEST_ERRORS,
  'outcome_unknown',
  'store_unavailable',
] as const satisfies ErrorCode[]
/** Of receipts and reservations, which are used once. */
const ONCE_ERRORS = [
  ...CHANGE_ERRORS,
  'unknown_receipt',
  'idempotency_conflict',
  'idempotency_in_progress',
  'disk_unwritable',
] as const satisfies ErrorCode[]

const key = { 'X-Idempotency-Key': text('Instead of `idempotency_key`.') }
const includeQuery = { include: text('Instead of `include`, separated by commas.') }

/** Decided by a reader of its own, since it is asked for every request that is limited. */
const hot = { kind: 'decision', bodyCheckedBy: 'handler' } as const

const Check = named('Check', checkBody({ include }))
const Batch = named(
  'Batch',
  object(
    { checks: list(named('BatchedCheck', checkBody()), 'Up to 1000.', { maxItems: 1000 }) },
    { include },
  ),
)
const notOfRefunds = refusedField('does not go with a refund')
const Refund = named(
  'Refund',
  object(
    {},
    {
      ...REQUEST_FIELDS,
      dry_run: notOfRefunds,
      idempotency_key: notOfRefunds,
      hold: notOfRefunds,
      receipt: text('Of the decision to be given back; without one it is a grant.'),
      cost: count('Requests to give back; all that was taken unless given.'),
      costs: amounts,
    },
    { anyOf: [{ required: ['receipt'] }, ...SUBJECT_FORMS] },
  ),
)
const Reset = named(
  'Reset',
  object({}, { ...SUBJECT_FIELDS, rule: text('Only this rule.') }, { oneOf: SUBJECT_FORMS }),
)
const Settle = named(
  'Settle',
  object(
    { reservation: text('What a reserve answered.', { expected: 'what a reserve answered' }) },
    {
      namespace: SUBJECT_FIELDS.namespace,
      cost: count('Requests that were really used.'),
      costs: amounts,
    },
    { anyOf: [{ required: ['cost'] }, { required: ['costs'] }] },
  ),
)
const { hold: _hold, ...requestOfHold } = REQUEST_FIELDS
const Hold = named(
  'Hold',
  object(
    {
      hold: text('What a check answered; or your own id, with its request.', {
        pattern: PLAIN,
        expected: 'what a check answered as hold',
      }),
    },
    requestOfHold,
  ),
)
const Explain = named(
  'Explain',
  object(
    {},
    {
      ...REQUEST_FIELDS,
      normalize: flag(
        'Whether the resource is normalised, as `GET /v1/auth` does; as the rules say of checks unless given.',
      ),
    },
    { oneOf: SUBJECT_FORMS },
  ),
)

const explained = {
  rule: text('The rule.'),
  scope: text('What it counts by.'),
  limits: list(text('As it is written.')),
  why: text('Why it applies, or not.'),
}

const Explanation = named(
  'Explanation',
  object({
    decision: DecisionAnswer,
    resource: text('The resource as it was compared, without its query.'),
    normalized: flag('Whether it was normalised for that.'),
    applied: list(object(explained), 'Rules that apply.'),
    set_aside: list(
      object({ ...explained, by: orNull(text('The rule that applies instead.')) }),
      'Rules that do not.',
    ),
    absent_scopes: list(text('A scope that rules look at and the request does not name.')),
    tier: orNull(text('The tier that the first rule sees.')),
    tiers: table(text('A tier.'), "The tier that each scope's rules see."),
    cost: amounts,
    revision: count('Of the rules.'),
  }),
)

export const decisionRoutes = {
  check: route({
    ...hot,
    method: 'POST',
    path: '/v1/check',
    role: 'client',
    summary: 'Decide a request, and take what it is allowed',
    query: includeQuery,
    headers: key,
    body: Check,
    answer: DecisionAnswer,
    isDecision: true,
    errors: CHECK_ERRORS,
  }),
  checkBatch: route({
    ...hot,
    method: 'POST',
    path: '/v1/check/batch',
    role: 'client',
    summary:
      'Decide up to 1000 requests, each all or nothing; if one is malformed, none is counted',
    query: includeQuery,
    body: Batch,
    longestBody: BATCH_BODY_BYTES,
    answer: named('Results', object({ results: list(anyOf([DecisionAnswer, ErrorAnswer])) })),
    errors: REQUEST_ERRORS,
  }),
  quota: route({
    ...hot,
    method: 'POST',
    path: '/v1/quota',
    role: 'client',
    summary: 'Say what a check would answer now, without taking anything; a denial is 200 too',
    query: includeQuery,
    body: Check,
    answer: DecisionAnswer,
    errors: REQUEST_ERRORS,
  }),
  refund: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/refund',
    role: 'client',
    summary:
      'Give back by receipt, once and at most what was taken; without one it is a grant, which needs the role operator',
    body: Refund,
    longestBody: VOUCHER_BODY_BYTES,
    answer: named('Refunded', object({ refunded: amounts, limits: list(Limit) })),
    errors: ONCE_ERRORS,
  }),
  reset: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/reset',
    role: 'operator',
    summary: 'Give back all that a subject has used',
    body: Reset,
    answer: named('ResetCount', object({ reset: count('Counters that were in use.') })),
    errors: CHANGE_ERRORS,
  }),
  reserve: route({
    ...hot,
    method: 'POST',
    path: '/v1/reserve',
    role: 'client',
    summary: 'Take an estimate, to be settled within an hour',
    query: includeQuery,
    headers: key,
    body: Check,
    answer: ReservationAnswer,
    isDecision: true,
    errors: CHECK_ERRORS,
  }),
  settle: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/settle',
    role: 'client',
    summary: 'Correct an estimate to what was used, once; sent again, it answers the same',
    body: Settle,
    longestBody: VOUCHER_BODY_BYTES,
    answer: named('Settled', object({ given_back: amounts, taken: amounts })),
    errors: ONCE_ERRORS,
  }),
  renew: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/renew',
    role: 'client',
    summary: 'Keep a hold for another time-out',
    body: Hold,
    longestBody: VOUCHER_BODY_BYTES,
    answer: named(
      'Renewed',
      object({ hold: text('As it was sent.'), hold_expires_at: time('Its new end.') }),
    ),
    errors: [...CHANGE_ERRORS, 'lost'],
  }),
  release: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/release',
    role: 'client',
    summary: "Release a hold; releasing twice frees nobody else's",
    body: Hold,
    longestBody: VOUCHER_BODY_BYTES,
    answer: named('Released', object({ released: flag('Whether anything was held.') })),
    errors: CHANGE_ERRORS,
  }),
  explain: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/explain',
    role: 'reader',
    summary: 'Say which rules apply and why, which do not, and what would be decided; take nothing',
    body: Explain,
    answer: Explanation,
    errors: REQUEST_ERRORS,
  }),
}
