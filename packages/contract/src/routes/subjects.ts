/** Routes of single subjects: effective limits, tiers and overrides. */
import { LIMIT_FIELD_NAMES, type LimitBody, limitSchemas } from '../decisions/limit-fields.js'
import { limitLines, limitsInput } from '../rules/limit-schema.js'
import {
  checkedElsewhere,
  count,
  flag,
  list,
  named,
  object,
  orNull,
  raw,
  type Static,
  type TObject,
  text,
} from '../schema.js'
import { route } from './route.js'
import { namespaceQuery, READ_ERRORS, reason, scope, until, WRITE_ERRORS } from './route-parts.js'

const SUBJECT = '/v1/subjects/{scope}/{value}'

const ofSubject = {
  limit: text('The limit in one line.'),
  limit_total: count('What a full counter holds.'),
  why: text('Why it applies.'),
  override: orNull(named('OverrideEnd', object({ until, reason }))),
}

const SubjectLimit = named(
  'SubjectLimit',
  raw<Omit<LimitBody, 'allowed' | 'limit'> & Static<TObject<typeof ofSubject>>>(
    object({
      ...limitSchemas(LIMIT_FIELD_NAMES.filter((name) => name !== 'allowed')),
      ...ofSubject,
    }),
  ),
)

const SubjectLimits = named(
  'SubjectLimits',
  object({
    scope,
    value: text('Who.'),
    tier: orNull(text('The tier it is in.')),
    exempt: flag('All rules let it through.'),
    blocked: flag('It is refused before any rule.'),
    limits: list(SubjectLimit),
    set_aside: list(
      object({
        rule: text('Which does not apply.'),
        by: orNull(text('Which applies instead.')),
        why: text('In words.'),
      }),
    ),
  }),
)

const ruleName = text("The rule's name.", { expected: "a rule's name" })
export const subjectRoutes = {
  subjectLimits: route({
    method: 'GET',
    path: `${SUBJECT}/limits`,
    role: 'reader',
    summary: 'Get the limits of a subject now: each with why it applies and what is left',
    query: {
      resource: text('Of requests for this.'),
      method: text('With this method.'),
      namespace: namespaceQuery,
    },
    answer: SubjectLimits,
    errors: READ_ERRORS,
  }),
  setTier: route({
    method: 'PUT',
    path: `${SUBJECT}/tier`,
    role: 'operator',
    summary: 'Put a subject into a tier; null takes it out',
    query: { namespace: namespaceQuery },
    body: named(
      'TierInput',
      object({
        tier: {
          ...orNull(text('A tier exists by being named; null takes it away.')),
          expected: "a tier's name, or null for none",
        },
      }),
    ),
    answer: named(
      'Tier',
      object({ scope, value: text('Who.'), tier: orNull(text('Null: none.')) }),
    ),
    errors: WRITE_ERRORS,
  }),
  setOverride: route({
    method: 'POST',
    path: `${SUBJECT}/override`,
    role: 'operator',
    summary: 'Give a subject other limits of one rule, until a time; replaces what was there',
    query: { namespace: namespaceQuery },
    body: named(
      'OverrideInput',
      object(
        { rule: ruleName, limits: checkedElsewhere(limitsInput) },
        { until: orNull(text('When it ends by itself.')), reason: orNull(text('Why.')) },
      ),
    ),
    answer: named(
      'Override',
      object({
        scope,
        value: text('Whose limits.'),
        rule: ruleName,
        limits: limitLines,
        until,
        reason,
      }),
    ),
    status: 201,
    answerHeaders: ['Location'],
    errors: [...WRITE_ERRORS, 'invalid_rules'],
  }),
  deleteOverride: route({
    method: 'DELETE',
    path: `${SUBJECT}/override`,
    role: 'operator',
    summary: "Give a subject the rule's own limits again",
    query: { rule: ruleName, namespace: namespaceQuery },
    requiredQuery: ['rule'],
    status: 204,
    errors: [...WRITE_ERRORS, 'not_found'],
  }),
}
