/**
 * The fields of one limit of a decision, as it is answered: schema, documentation and printer. The JSON
 * printer, the templates of the fast path, the command line and the API's description are made of this table.
 */
import type { Algorithm, LimitDecision } from '@sluice/limiter'
import { ALGORITHMS } from '@sluice/limiter/transport'
import {
  count,
  flag,
  named,
  newField,
  number,
  object,
  oneOf,
  orNull,
  raw,
  type Static,
  seconds,
  type TProperties,
  type TSchema,
  text,
  time,
} from '../schema.js'
import { type AnswerName, isoTime, secondsOrNull } from './answer-values.js'

/** A number of the answer that changes from one decision to the next under the same rules. */
export type Slot = 'used' | 'remaining' | 'reset_at'

interface LimitField<S extends TSchema> {
  readonly schema: S
  readonly print: (limit: LimitDecision) => Static<S>
  readonly slot?: Slot
  /** Answers of the previous release's shape do not have it. */
  readonly isNew?: boolean
}

function limitField<S extends TSchema>(
  schema: S,
  print: LimitField<S>['print'],
  more: Pick<LimitField<S>, 'slot' | 'isNew'> = {},
): LimitField<S> {
  return { schema, print, ...more }
}

/** By their names in answers. A field of the library's limits that is missing here does not compile. */
export const LIMIT_FIELDS = {
  rule: limitField(text('The rule that the limit is of.'), ({ rule }) => rule),
  scope: limitField(text('What the rule counts by.'), ({ scope }) => scope),
  algorithm: limitField(
    oneOf<Algorithm>(ALGORITHMS, 'How it counts.'),
    ({ algorithm }) => algorithm,
  ),
  amount: limitField(count('What the limit says.'), ({ amount }) => amount),
  limit: limitField(count('What a full counter holds.'), ({ limit }) => limit),
  window_seconds: limitField(
    seconds('Its window; of a calendar window the one that is now.'),
    ({ windowSeconds }) => windowSeconds,
  ),
  allowed: limitField(flag('Whether this limit lets the request pass.'), ({ allowed }) => allowed),
  used: limitField(
    orNull(number('What is counted after this decision; may be more than the limit.')),
    ({ used }) => used,
    { slot: 'used', isNew: true },
  ),
  remaining: limitField(
    orNull(count('Unit requests that would pass now; null if it could not be counted.')),
    ({ remaining }) => remaining,
    { slot: 'remaining' },
  ),
  reset_at: limitField(
    time('When its counter is empty again.'),
    ({ resetAtMs }) => isoTime(resetAtMs),
    { slot: 'reset_at' },
  ),
  retry_after: limitField(
    orNull(seconds('Of a denial: seconds until the request passes; null: never.')),
    ({ retryAfterMs }) => secondsOrNull(retryAfterMs),
  ),
  unit: limitField(text('What is counted.'), ({ unit }) => unit),
  shadow: limitField(flag('Counted and reported, never enforced.'), ({ shadow }) => shadow),
} satisfies Record<AnswerName<keyof LimitDecision>, LimitField<TSchema>>

export type LimitFieldName = keyof typeof LIMIT_FIELDS
export const LIMIT_FIELD_NAMES = Object.keys(LIMIT_FIELDS) as LimitFieldName[]

/** A limit as it is answered. */
export type LimitBody = {
  readonly [F in LimitFieldName]: Static<(typeof LIMIT_FIELDS)[F]['schema']>
}

/** The fields of limits in an answer; `isFull`: of the previous release's shape. */
export function limitFieldsOf(isFull: boolean): LimitFieldName[] {
  return LIMIT_FIELD_NAMES.filter((name) => !isFull || LIMIT_FIELDS[name].isNew !== true)
}

export function printLimitDecision(limit: LimitDecision, isFull = false): LimitBody {
  const names = limitFieldsOf(isFull)
  return Object.fromEntries(
    names.map((name) => [name, LIMIT_FIELDS[name].print(limit)]),
  ) as LimitBody
}

/** The schemas of a limit's fields. */
export const limitSchemas = (names: readonly LimitFieldName[] = LIMIT_FIELD_NAMES): TProperties =>
  Object.fromEntries(names.map((name) => [name, schemaOf(LIMIT_FIELDS[name])]))

/** An older server does not answer what is new. */
export function schemaOf({ schema, isNew }: { schema: TSchema; isNew?: boolean }): TSchema {
  return isNew === true ? newField(schema) : schema
}

export const Limit = named('Limit', raw<LimitBody>(object(limitSchemas())))
