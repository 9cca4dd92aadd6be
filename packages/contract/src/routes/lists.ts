/** Routes of exemptions, blocks and costs. */
import { RULE_FIELD_CONTRACTS } from '../rules/rule-fields.js'
import {
  checkedElsewhere,
  count,
  list,
  named,
  object,
  orNull,
  raw,
  text,
  value,
  whole,
} from '../schema.js'
import { route } from './route.js'
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
} from './route-parts.js'

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
        expected: 'a value of the scope, or a CIDR for ip',
      },
    },
    {
      namespace,
      until: orNull(text('When it ends by itself.')),
      reason: orNull(text('The reason, for people to read.')),
    },
  ),
)

const methods = orNull(list(text('A method.'), 'Null for all methods.'))
const resource = text(RULE_FIELD_CONTRACTS.resource.description)
const Cost = named(
  'Cost',
  object({
    id,
    namespace,
    resource,
    methods,
    unit: text('The unit that is charged.'),
    cost: count('How much of it a request is charged.'),
  }),
)

/** Exemptions and blocks are lists of the same shape. */
const subjectListRoutes = <P extends string>(
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

const exemptions = subjectListRoutes(
  '/v1/exemptions',
  'admin',
  'an exemption',
  'let through all rules',
)
const blocks = subjectListRoutes('/v1/blocks', 'operator', 'a block', 'refused before any rule')

export const listRoutes = {
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
    summary: 'List what requests cost that state no cost',
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
            whole(1, 1_000_000_000, 'How much a request is charged.', {
              expected: 'a whole number',
            }),
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
