/** What can be asked about usage, and its shapes: for the OpenAPI document. */
import type { ApiPart, Operation } from '../http/openapi.js'
import { count, listOf, object, orNull, ref, type Schema, text, time } from '../http/schema.js'

const parameter = (name: string, schema: Schema): Schema => {
  const { description, ...rest } = schema
  return { name, in: 'query', description, schema: rest }
}

const FILTERS: readonly Schema[] = [
  parameter('namespace', text("The tenant; the token's only one, else `default`, unless given.")),
  parameter('scope', text('Of this scope only.', { examples: ['user'] })),
  parameter('value', text('Of this value only.', { examples: ['42'] })),
  parameter('rule', text('Of this rule only.')),
  parameter('from', text('From this time on; an hour before `to` unless given.')),
  parameter('to', text('Until this time; now unless given.')),
  parameter('cursor', text('The `next` of the page before.')),
  parameter('limit', {
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    description: 'Items of a page; 100 unless given.',
  }),
]

const many = (description: string): Schema => count(description, Number.MAX_SAFE_INTEGER)
const next = orNull(text('Where the next page begins; null after the last.'))
const value = orNull(text('Null: all those that are not named, and the only one of `global`.'))
const rule = orNull(text('Null: a block.'))

const SUMS: Record<string, Schema> = {
  allowed: many('Decisions that let pass.'),
  denied: many('Decisions that did not.'),
  cost: many("What was taken, in the rule's unit."),
}

const errors: Operation['errors'] = [
  'bad_request',
  'unauthorized',
  'forbidden',
  'not_a_control_plane',
  'limited',
  'database_unavailable',
]

export const USAGE_API: ApiPart = {
  operations: [
    {
      path: '/v1/usage',
      method: 'get',
      id: 'usage',
      summary: 'What each subject used of each rule in a span, the heaviest first',
      gives: 'Usage',
      parameters: FILTERS,
      errors,
    },
    {
      path: '/v1/violations',
      method: 'get',
      id: 'violations',
      summary: 'Who was denied when, by which limit of which rule, on what: the newest first',
      gives: 'Violations',
      parameters: [...FILTERS, parameter('resource', text('On this resource only.'))],
      errors,
    },
  ],
  schemas: {
    Usage: object({ items: listOf(ref('UsageItem')), totals: object(SUMS), next }),
    UsageItem: object({
      scope: text('What is limited.'),
      value,
      rule,
      from: time('Where the span begins that was summed: a minute, or a day of long ago.'),
      to: time('Where it ends.'),
      ...SUMS,
    }),
    Violations: object({
      items: listOf(ref('Violation')),
      totals: object({ count: many('All denials of the span that match.') }),
      next,
    }),
    Violation: object({
      at: time('The second.'),
      count: many('How often within it.'),
      scope: text('Who is limited.'),
      value,
      rule,
      resource: orNull(text('What was asked for, its first 256 characters; null: not known.')),
      limit: orNull(text('The limit that said no.', { examples: ['100/min'] })),
      reason: text('Why.', { enum: ['limited', 'blocked', 'too_expensive', 'store_down'] }),
    }),
  },
}
