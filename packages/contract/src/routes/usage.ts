/** Routes that say what was used, and who was denied. */
import { REASONS } from '@sluice/limiter/transport'
import { list, named, number, object, oneOf, orNull, text, time } from '../schema.js'
import { route } from './route.js'
import { namespaceQuery, pageQuery, READ_ERRORS } from './route-parts.js'

const filters = {
  namespace: namespaceQuery,
  scope: text('Only of this scope.', { examples: ['user'] }),
  value: text('Only of this value.', { examples: ['42'] }),
  rule: text('Only of this rule.'),
  from: time('From this time on; an hour before `to` unless given.'),
  to: time('Until this time; now unless given.'),
  ...pageQuery,
}

const next = orNull(text('Where the next page begins; null after the last.'))
const value = orNull(text('Null: all those that are not named, and the only one of `global`.'))
const rule = orNull(text('Null: a block.'))

const sums = {
  allowed: number('Decisions that let pass.'),
  denied: number('Decisions that did not.'),
  cost: number("What was taken, in the rule's unit."),
}

const UsageItem = named(
  'UsageItem',
  object({
    scope: text('What is limited.'),
    value,
    rule,
    from: time('Where the span begins that was summed: a minute, or a day of long ago.'),
    to: time('Where it ends.'),
    ...sums,
  }),
)

const Violation = named(
  'Violation',
  object({
    at: time('The second.'),
    count: number('How often within it.'),
    scope: text('Who is limited.'),
    value,
    rule,
    resource: orNull(text('What was asked for, its first 256 characters; null: not known.')),
    limit: orNull(text('The limit that said no.', { examples: ['100/min'] })),
    reason: oneOf(REASONS, 'Why.'),
  }),
)

export const usageRoutes = {
  usage: route({
    method: 'GET',
    path: '/v1/usage',
    role: 'reader',
    summary: 'List what each subject used of each rule in a span, the heaviest first',
    query: filters,
    answer: named('Usage', object({ items: list(UsageItem), totals: object(sums), next })),
    errors: READ_ERRORS,
  }),
  violations: route({
    method: 'GET',
    path: '/v1/violations',
    role: 'reader',
    summary: 'List who was denied when, by which limit of which rule, on what: the newest first',
    query: { ...filters, resource: text('Only on this resource.') },
    answer: named(
      'Violations',
      object({
        items: list(Violation),
        totals: object({ count: number('All denials of the span that match.') }),
        next,
      }),
    ),
    errors: READ_ERRORS,
  }),
}
