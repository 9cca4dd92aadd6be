/**
 * The fields of a request to be decided, as they are sent. A field of the library's request that has no
 * name here does not compile.
 */
import type { Request } from '@sluice/limiter'
import {
  LONGEST_KEY,
  LONGEST_RESOURCE,
  MOST_COST,
  MOST_SCOPES,
  MOST_UNIT_COST,
  MOST_UNITS,
} from '@sluice/limiter/transport'
import { METHOD_PATTERN, SCOPE_PATTERN, TIER_PATTERN, whole as wholeText } from '../rules/names.js'
import {
  flag,
  list,
  object,
  oneOf,
  PLAIN,
  raw,
  type TSchema,
  table,
  text,
  value,
  whole,
} from '../schema.js'

/** What an answer has besides, where a request asks for it. */
export const INCLUDES = ['limits', 'receipt'] as const
export type Include = (typeof INCLUDES)[number]

/** The checks of a batch. */
export const MOST_CHECKS = 1000

const unitNames = {
  propertyNames: { pattern: wholeText(SCOPE_PATTERN) },
  maxProperties: MOST_UNITS,
}

/** Amounts by unit, 0 included. */
export const amounts = table(
  whole(0, MOST_UNIT_COST, 'An amount.'),
  'Amounts by unit: `{"requests": 1, "tokens": 1500}`.',
  unitNames,
)

/** An id that the caller chooses. */
const ownId = (description: string) =>
  text(description, { minLength: 1, maxLength: LONGEST_KEY, pattern: PLAIN })

export const include = list(
  oneOf(INCLUDES, 'What to add.'),
  'What the answer has besides: all limits that apply, the receipt.',
  { examples: [['limits', 'receipt']] },
)

/** Who asks. */
export const SUBJECT_FIELDS = {
  namespace: text('The tenant; the one that is served unless given.'),
  subject: table(
    value('A value of a scope that the rules know; of `ip` an address.'),
    'Who asks: a value for each scope. May be empty.',
    { maxProperties: MOST_SCOPES, examples: [{ user: 'ada', ip: '203.0.113.42' }] },
  ),
  scope: text('With `identifier` instead of `subject`: one scope.', { examples: ['user'] }),
  identifier: value('The value of `scope`.'),
}

/** Fields of every request; `include` goes with some routes. */
export const REQUEST_FIELDS = {
  ...SUBJECT_FIELDS,
  resource: text('The resource of the request. A query is ignored.', {
    maxLength: LONGEST_RESOURCE,
    // May be empty, unlike what is PLAIN.
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    expected: 'a text without control characters',
    examples: ['/hello'],
  }),
  method: text('The HTTP method, where there is one.', { pattern: wholeText(METHOD_PATTERN) }),
  cost: whole(1, MOST_COST, "Requests to be charged; the rules' costs, else 1, unless given."),
  costs: table(
    whole(1, MOST_UNIT_COST, 'An amount.'),
    'Amounts by unit: `{"requests": 1, "tokens": 1500}`.',
    unitNames,
  ),
  tier: text('Wins over the tier that the rules assign.', { pattern: wholeText(TIER_PATTERN) }),
  dry_run: flag('Decides without taking.'),
  idempotency_key: ownId('The same key and request within 5 minutes is counted once.'),
  hold: ownId('An id of your own for the place that a concurrency limit gives.'),
} satisfies Record<string, TSchema>

export type RequestField = keyof typeof REQUEST_FIELDS

/** The name on the wire of each field of the library's request; null: it is not sent with a check. */
export const WIRE_NAMES = {
  subject: 'subject',
  resource: 'resource',
  // Only explain takes it.
  normalize: null,
  method: 'method',
  cost: 'cost',
  costs: 'costs',
  tier: 'tier',
  dryRun: 'dry_run',
  idempotencyKey: 'idempotency_key',
  holdId: 'hold',
  // The request of one process.
  signal: null,
} as const satisfies { readonly [F in keyof Required<Request>]: RequestField | null }

/** Fields that name the subject or the namespace; the others are fields of the library's request. */
type OfSubject = keyof typeof SUBJECT_FIELDS
type Unread = Exclude<RequestField, OfSubject | (typeof WIRE_NAMES)[keyof typeof WIRE_NAMES]>
/** A field that is mapped to no field of the library's request does not compile. */
export const UNREAD: { readonly [F in Unread]: never } = {}

export const REQUEST_FIELD_NAMES = Object.keys(REQUEST_FIELDS) as RequestField[]

/** A subject in either of its forms. */
export const SUBJECT_FORMS = [{ required: ['subject'] }, { required: ['scope'] }]

/** A check's body; `more` are the route's own fields. */
export const checkBody = (
  more: Record<string, TSchema> = {},
  forms: object = { oneOf: SUBJECT_FORMS },
) => raw<Record<string, unknown>>(object({}, { ...REQUEST_FIELDS, ...more }, { ...forms }))
