/** Routes that decide, give back and explain. */

import { BATCH_BODY_BYTES, VOUCHER_BODY_BYTES } from '../body-sizes.js'
import { DecisionAnswer, ReservationAnswer } from '../decisions/decision-fields.js'
import { Limit } from '../decisions/limit-fields.js'
import {
  amounts,
  checkBody,
  include,
  MOST_CHECKS,
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
/** Errors of routes that take a receipt or a reservation, which can be used once. */
const ONCE_ERRORS = [
  ...CHANGE_ERRORS,
  'unknown_receipt',
  'idempotency_conflict',
  'idempotency_in_progress',
  'disk_unwritable',
] as const satisfies ErrorCode[]

const key = { 'X-Idempotency-Key': text('The same as `idempotency_key` in the body.') }
const includeQuery = { include: text('The same as `include` in the body, separated by commas.') }

/** The handler checks these bodies, because that is faster: these routes are called for every request that is limited. */
const hot = { kind: 'decision', bodyCheckedBy: 'handler' } as const

const Check = named('Check', checkBody({ include }))
const Batch = named(
  'Batch',
  object(
    {
      checks: list(named('BatchedCheck', checkBody()), `Up to ${MOST_CHECKS}.`, {
        maxItems: MOST_CHECKS,
      }),
    },
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
      receipt: text('The receipt of the decision to give back. A refund without one is a grant.'),
      cost: count('Requests to give back; all that was taken unless given.'),
      costs: amounts,
    },
    { anyOf: [{ required: ['receipt'] }, ...SUBJECT_FORMS] },
  ),
)
const Reset = named(
  'Reset',
  object(
    {},
    { ...SUBJECT_FIELDS, rule: text('Reset only the counters of this rule.') },
    { oneOf: SUBJECT_FORMS },
  ),
)
const Settle = named(
  'Settle',
  object(
    {
      reservation: text('The reservation that `POST /v1/reserve` answered.', {
        expected: 'the reservation that POST /v1/reserve answered',
      }),
    },
    {
      namespace: SUBJECT_FIELDS.namespace,
      cost: count('Requests that were really used; 0 is allowed.'),
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
      hold: text(
        'The hold that a check answered; or your own id, together with the request it was for.',
        {
          pattern: PLAIN,
          expected: 'the hold that a check answered',
        },
      ),
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
        'Whether to normalise the resource, as `GET /v1/auth` does. Unless given: as the rules say for checks.',
      ),
    },
    { oneOf: SUBJECT_FORMS },
  ),
)

const explained = {
  rule: text('The rule.'),
  scope: text('The scope that it counts by.'),
  limits: list(text('A limit, as the rule states it.')),
  why: text('Why it applies, or does not.'),
}

const Explanation = named(
  'Explanation',
  object({
    decision: DecisionAnswer,
    resource: text('The resource as it was compared with the rules, without its query.'),
    normalized: flag('Whether the resource was normalised.'),
    applied: list(object(explained), 'Rules that apply.'),
    set_aside: list(
      object({ ...explained, by: orNull(text('The rule that applies instead.')) }),
      'Rules that do not.',
    ),
    absent_scopes: list(text('A scope that rules count by and the request does not name.')),
    tier: orNull(text('The tier of the subject, by the scope of the first rule that applies.')),
    tiers: table(text('A tier.'), "The subject's tier for each scope."),
    cost: amounts,
    revision: count('The revision of the rules.'),
  }),
)

export const decisionRoutes = {
  check: route({
    ...hot,
    method: 'POST',
    path: '/v1/check',
    role: 'client',
    summary: 'Decide a request, and take its cost if it is allowed',
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
    summary: `Decide up to ${MOST_CHECKS} requests, each all or nothing; if one is malformed, none is counted`,
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
    answer: named('ResetCount', object({ reset: count('How many counters were in use.') })),
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
    summary: 'Correct an estimate to what was really used, once; sent again, it answers the same',
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
      object({
        hold: text('The hold, as it was sent.'),
        hold_expires_at: time('When it now expires.'),
      }),
    ),
    errors: [...CHANGE_ERRORS, 'lost'],
  }),
  release: route({
    kind: 'decision',
    method: 'POST',
    path: '/v1/release',
    role: 'client',
    summary: 'Release a hold; releasing it again changes nothing',
    body: Hold,
    longestBody: VOUCHER_BODY_BYTES,
    answer: named('Released', object({ released: flag('Whether it was still held.') })),
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
