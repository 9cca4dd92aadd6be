/** Routes of single subjects: effective limits, tiers, overrides, exemptions and blocks; and of costs. */
import { LIMIT_FIELD_NAMES, type LimitBody, limitSchemas } from '../decisions/decision-fields.js'
import { limitLines, limitsInput } from '../rules/limit-schema.js'
import { RULE_FIELD_CONTRACTS } from '../rules/rule-fields.js'
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
  value,
  whole,
} from '../schema.js'
import {
  createdAt,
  id,
  namespace,
  namespaceQuery,
  page,
  pageQuery,
  READ_ERRORS,
  RULE_ERRORS,
  reason,
  scope,
  until,
  WRITE_ERRORS,
} from './common.js'
import { route } from './route.js'

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
const Listed = named(
  'Listed',
  object({
    id,
    namespace,
    scope,
    value: text('Exact, or a CIDR for `ip`.'),
    until,
    reason,
    created_at: createdAt,
  }),
)
const ListedInput = named(
  'ListedInput',
  object(
    {
      scope: { ...scope, expected: 'a scope, such as user' },
      value: {
        ...value('Exact, or a CIDR for `ip`.'),
        expected: 'a value of it, or a CIDR for ip',
      },
    },
    { namespace, until: orNull(text('When it ends by itself.')), reason: orNull(text('Why.')) },
  ),
)

const methods = orNull(list(text('A method.'), 'Null: all of them.'))
const resource = text(RULE_FIELD_CONTRACTS.resource.description)
const Cost = named(
  'Cost',
  object({
    id,
    namespace,
    resource,
    methods,
    unit: text('What is charged.'),
    cost: count('How much.'),
  }),
)

/** Exemptions and blocks are lists of the same shape. */
const listRoutes = <P extends string>(
  path: P,
  writer: 'admin' | 'operator',
  one: string,
  is: string,
) => ({
  list: route({
    method: 'GET',
    path,
    role: 'reader',
    summary: `List who is ${is}`,
    query: { namespace: namespaceQuery, ...pageQuery },
    answer: page('ListedPage', Listed),
    errors: READ_ERRORS,
  }),
  create: route({
    method: 'POST',
    path,
    role: writer,
    summary: `Create ${one}`,
    query: { namespace: namespaceQuery },
    body: ListedInput,
    answer: Listed,
    status: 201,
    answerHeaders: ['Location'],
    errors: WRITE_ERRORS,
  }),
  remove: route({
    method: 'DELETE',
    path: `${path}/{id}`,
    role: writer,
    summary: `Delete ${one}`,
    status: 204,
    errors: [...WRITE_ERRORS, 'not_found'],
  }),
})

const exemptions = listRoutes('/v1/exemptions', 'admin', 'an exemption', 'let through all rules')
const blocks = listRoutes('/v1/blocks', 'operator', 'a block', 'refused before any rule')

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
  listExemptions: exemptions.list,
  createExemption: exemptions.create,
  deleteExemption: exemptions.remove,
  listBlocks: blocks.list,
  createBlock: blocks.create,
  deleteBlock: blocks.remove,
  listCosts: route({
    method: 'GET',
    path: '/v1/costs',
    role: 'reader',
    summary: 'List what requests cost that do not say',
    query: { namespace: namespaceQuery, ...pageQuery },
    answer: page('Costs', Cost),
    errors: READ_ERRORS,
  }),
  setCost: route({
    method: 'PUT',
    path: '/v1/costs',
    role: 'admin',
    summary: 'Set what a request to a resource costs; replaces what was there',
    query: { namespace: namespaceQuery },
    body: named(
      'CostInput',
      object(
        {
          resource: { ...resource, expected: 'a resource, such as /v1/search' },
          cost: checkedElsewhere(
            whole(1, 1_000_000_000, 'How much.', { expected: 'a whole number' }),
          ),
        },
        {
          namespace,
          methods: raw<string | string[] | null>({
            type: ['array', 'string', 'null'],
            items: { type: 'string' },
            expected: 'methods such as ["GET"]',
          }),
          unit: orNull(text('`requests` unless given.')),
        },
      ),
    ),
    answer: Cost,
    errors: [...RULE_ERRORS, 'rules_from_file'],
  }),
  deleteCost: route({
    method: 'DELETE',
    path: '/v1/costs/{id}',
    role: 'admin',
    summary: 'Delete a cost',
    status: 204,
    errors: [...RULE_ERRORS, 'rules_from_file', 'not_found'],
  }),
}
