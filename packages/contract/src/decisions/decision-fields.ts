/**
 * The fields of a decision, as it is answered: schema, documentation, when an answer has the field, and how
 * it is printed. The JSON printer, the templates of the fast path, the command line and the API's
 * description are made of this table.
 */
import type { Decision, DecisionField } from '@sluice/limiter'
import {
  DEGRADED_REASONS,
  type DecisionRecord,
  denialMessage,
  REASONS,
  STATES,
} from '@sluice/limiter/transport'
import {
  count,
  flag,
  list,
  literal,
  named,
  number,
  object,
  oneOf,
  orNull,
  raw,
  type Static,
  seconds,
  type TProperties,
  type TSchema,
  type TUnsafe,
  text,
  time,
} from '../schema.js'
import { type AnswerName, secondsOrNull, timeOrNull } from './answer-values.js'
import {
  Limit,
  limitFieldsOf,
  limitSchemas,
  printLimitDecision,
  type Slot,
  schemaOf,
} from './limit-fields.js'
import type { Include } from './request-fields.js'

/** Makes the sealed texts of an answer, which callers send back later. A text is made only if the answer contains it. */
export interface Vouchers {
  receiptOf(decision: DecisionRecord): string | null
  reservationOf(decision: DecisionRecord): string | null
  holdOf(hold: NonNullable<Decision['hold']>): string
}

/** What kind of answer it is. */
export interface AnswerKind {
  readonly include: readonly Include[]
  /** The shape of the previous release. */
  readonly isFull: boolean
  /** An estimate was taken: it is settled, not given back by receipt. */
  readonly isReservation?: boolean
  /** The hold has an id of the caller's own. */
  readonly hasOwnHold?: boolean
}

interface PrintContext extends AnswerKind {
  readonly vouchers: Vouchers
}

/** When an answer has a field. `stated`: only if its value is not the empty one. An include: if it was asked for. */
type When = 'always' | 'stated' | 'reservation' | Include

/** The value of a field that says nothing. */
type EmptyValue = null | false | 0

interface AnswerField<W extends When, S extends TSchema> {
  readonly when: W
  readonly schema: S
  print(decision: DecisionRecord, context: PrintContext): Static<S> | EmptyValue
  readonly emptyValue: EmptyValue
  /** Answers of the previous release's shape have it also if its value is the empty one. */
  readonly isInFull: boolean
  /** Answers of the previous release's shape do not have it. */
  readonly isNew: boolean
  readonly slot?: Slot
}

type MoreOfField = Partial<
  Pick<AnswerField<When, TSchema>, 'emptyValue' | 'isInFull' | 'isNew' | 'slot'>
>

const field = <W extends When, S extends TSchema>(
  when: W,
  schema: S,
  print: AnswerField<W, S>['print'],
  more: MoreOfField = {},
): AnswerField<W, S> => ({
  when,
  schema,
  print,
  emptyValue: null,
  isInFull: false,
  isNew: false,
  ...more,
})

const errorFields = {
  code: text('A code of the table of errors.'),
  message: text('What is wrong, and what was expected.'),
}

/** By their names in answers. A field of the library's decision that is missing here does not compile. */
export const DECISION_FIELDS = {
  allowed: field('always', flag('Whether the request may pass.'), ({ allowed }) => allowed),
  limit: field(
    'always',
    orNull(count('Of the limit that blocks, or is most restrictive; null if none applies.')),
    ({ limit }) => limit,
  ),
  used: field(
    'always',
    orNull(
      number("What is counted after this decision, in the rule's unit; may be more than `limit`."),
    ),
    ({ used }) => used,
    { slot: 'used', isNew: true },
  ),
  remaining: field(
    'always',
    orNull(count('Unit requests that would pass now under that limit.')),
    ({ remaining }) => remaining,
    { slot: 'remaining' },
  ),
  reset_at: field(
    'always',
    orNull(time('When the counter of that limit is empty again.')),
    ({ resetAtMs }) => timeOrNull(resetAtMs),
    { slot: 'reset_at' },
  ),
  retry_after: field(
    'always',
    orNull(seconds('Seconds, exact; null: allowed, or never.')),
    ({ retryAfterMs }) => secondsOrNull(retryAfterMs),
  ),
  state: field(
    'always',
    oneOf(STATES, '`warning` from 80 % used until below 70 %.'),
    ({ state }) => state,
  ),
  rule: field('always', orNull(text('The rule of that limit.')), ({ rule }) => rule),
  scope: field('always', orNull(text('What the rule counts by.')), ({ scope }) => scope),
  reason: field('stated', oneOf(REASONS, 'Why it is denied.'), ({ reason }) => reason, {
    isInFull: true,
  }),
  degraded: field('stated', flag('Decided without the store.'), ({ degraded }) => degraded, {
    isInFull: true,
    emptyValue: false,
  }),
  degraded_reason: field(
    'stated',
    oneOf(DEGRADED_REASONS, 'Why.'),
    ({ degradedReason }) => degradedReason,
    { isInFull: true },
  ),
  delay: field(
    'stated',
    seconds('Seconds for which a leaky bucket wants the request held.'),
    ({ delayMs }) => delayMs / 1000,
    { isInFull: true, emptyValue: 0 },
  ),
  hold: field(
    'stated',
    text('The place that a concurrency limit gave: to renew and release it.'),
    ({ hold }, { vouchers, hasOwnHold }) =>
      hold === null ? null : hasOwnHold === true ? hold.id : vouchers.holdOf(hold),
  ),
  hold_expires_at: field('stated', time('When it is freed unless it is renewed.'), ({ hold }) =>
    timeOrNull(hold?.expiresAtMs ?? null),
  ),
  reservation: field(
    'reservation',
    orNull(text('To settle with, on any instance, within an hour; null if nothing was taken.')),
    (decision, { vouchers }) => vouchers.reservationOf(decision),
  ),
  exempt: field(
    'stated',
    literal(true, 'An exemption let it through all rules.'),
    ({ exempt }) => exempt,
    { emptyValue: false },
  ),
  replayed: field(
    'stated',
    literal(true, 'An earlier answer again, for the same idempotency key.'),
    ({ replayed }) => replayed,
    { emptyValue: false },
  ),
  limits: field(
    'limits',
    list(Limit, 'Every limit that applies.'),
    ({ limits }, { isFull }) => limits.map((limit) => printLimitDecision(limit, isFull)),
    { isInFull: true },
  ),
  receipt: field(
    'receipt',
    orNull(text('For giving back what was taken, within an hour; null if nothing was.')),
    (decision, { vouchers, isReservation }) =>
      isReservation === true ? null : vouchers.receiptOf(decision),
    { isInFull: true },
  ),
  /** Last, since people read it. */
  error: field('stated', named('DenialError', object(errorFields)), (decision) =>
    decision.allowed
      ? null
      : { code: decision.reason ?? 'limited', message: denialMessage(decision) },
  ),
} satisfies Record<
  AnswerName<DecisionField> | 'hold_expires_at' | 'reservation' | 'error',
  AnswerField<When, TSchema>
>

export type DecisionFieldName = keyof typeof DECISION_FIELDS
export const DECISION_FIELD_NAMES = Object.keys(DECISION_FIELDS) as DecisionFieldName[]

type Always = {
  [F in DecisionFieldName]: (typeof DECISION_FIELDS)[F]['when'] extends 'always' ? F : never
}[DecisionFieldName]

type ValueOf<F extends DecisionFieldName> = Static<(typeof DECISION_FIELDS)[F]['schema']>

/** A decision as it is answered. */
export type DecisionBody = { readonly [F in Always]: ValueOf<F> } & {
  readonly [F in Exclude<DecisionFieldName, Always>]?: ValueOf<F>
}

const fieldOf = (name: DecisionFieldName): AnswerField<When, TSchema> => DECISION_FIELDS[name]

/** Whether answers of this kind may have the field. */
function belongs({ when, isInFull, isNew }: AnswerField<When, TSchema>, kind: AnswerKind): boolean {
  if (kind.isFull && isNew) return false
  if (when === 'always' || when === 'stated') return true
  if (when === 'reservation') return kind.isReservation === true
  return kind.include.includes(when) || (kind.isFull && isInFull)
}

/** Whether such an answer has the field also if its value is the empty one. */
function isKept(field: AnswerField<When, TSchema>, { isFull }: AnswerKind): boolean {
  return field.when !== 'stated' || (isFull && field.isInFull)
}

/** The fields that a plain allowed decision has in answers of this kind, in their order. */
export function plainFields(kind: AnswerKind): DecisionFieldName[] {
  return DECISION_FIELD_NAMES.filter((name) => {
    const one = fieldOf(name)
    return belongs(one, kind) && isKept(one, kind)
  })
}

/** The field of a decision, for an answer of this kind. */
export function printDecisionField(
  name: DecisionFieldName,
  decision: DecisionRecord,
  context: PrintContext,
): unknown {
  return fieldOf(name).print(decision, context)
}

export function printDecision(decision: DecisionRecord, context: PrintContext): DecisionBody {
  const body: Record<string, unknown> = {}
  for (const name of DECISION_FIELD_NAMES) {
    const one = fieldOf(name)
    if (!belongs(one, context)) continue
    const value = one.print(decision, context)
    if (isKept(one, context) || value !== one.emptyValue) body[name] = value
  }
  return body as unknown as DecisionBody
}

/** The schema of a decision; `isFull`: of the previous release's shape. */
function decisionSchema(
  name: string,
  isFull: boolean,
  isReservation: boolean,
): TUnsafe<DecisionBody> {
  const kind = { include: ['limits', 'receipt'] as const, isFull, isReservation }
  const required: TProperties = {}
  const optional: TProperties = {}
  for (const each of DECISION_FIELD_NAMES) {
    const one = fieldOf(each)
    if (!belongs(one, kind)) continue
    const isThere = one.when === 'always' || one.when === 'reservation' || (isFull && one.isInFull)
    const canBeNull = isThere && one.when === 'stated' && one.emptyValue === null
    const schema = canBeNull ? orNull(one.schema) : schemaOf(one)
    if (isThere) required[each] = schema
    else optional[each] = schema
  }
  return named(name, raw<DecisionBody>(object(required, optional)))
}

export const DecisionAnswer = decisionSchema('Decision', false, false)
export const ReservationAnswer = decisionSchema('Reservation', false, true)
/** The same in the previous release's shape. */
export const FULL_ANSWERS = {
  Decision: decisionSchema('Decision', true, false),
  Reservation: decisionSchema('Reservation', true, true),
  Limit: named('Limit', object(limitSchemas(limitFieldsOf(true)))),
}
