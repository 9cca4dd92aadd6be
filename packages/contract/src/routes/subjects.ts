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
    value: text("The subject's value."),
    tier: orNull(text('The tier it is in.')),
    exempt: flag('Whether an exemption lets it through all rules.'),
    blocked: flag('Whether a block refuses it before any rule.'),
    limits: list(SubjectLimit),
    set_aside: list(
      object({
        rule: text('The rule that does not apply.'),
        by: orNull(text('The rule that applies instead.')),
        why: text('Why, in words.'),
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
      resource: text('Limits of requests for this resource.'),
      method: text('Limits of requests with this method.'),
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
          ...orNull(
            text('The tier; a new name is a new tier. Null takes the subject out of its tier.'),
          ),
          expected: "a tier's name, or null for none",
        },
      }),
    ),
    answer: named(
      'Tier',
      object({
        scope,
        value: text("The subject's value."),
        tier: orNull(text('The tier; null for none.')),
      }),
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
        {
          until: orNull(text('When it ends by itself.')),
          reason: orNull(text('The reason, for people to read.')),
        },
      ),
    ),
    answer: named(
      'Override',
      object({
        scope,
        value: text("The subject's value."),
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
