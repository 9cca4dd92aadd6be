/** Routes that say what was used, and who was denied. */
import { REASONS } from '@sluice/limiter/transport'
import { list, named, number, object, oneOf, orNull, text, time } from '../schema.js'
import { route } from './route.js'
import { namespaceQuery, pageQuery, READ_ERRORS } from './route-parts.js'

const filters = {
  namespace: namespaceQuery,
  scope: text('Only this scope.', { examples: ['user'] }),
  value: text('Only this value.', { examples: ['42'] }),
  rule: text('Only this rule.'),
  from: time('The start of the span; an hour before `to` unless given.'),
  to: time('The end of the span; now unless given.'),
  ...pageQuery,
}

const next = orNull(text('The cursor of the next page; null on the last one.'))
const value = orNull(
  text(
    'The value of the scope. Null for `global`, and for the sum of all values that are not listed by name.',
  ),
)
const rule = orNull(text('The rule; null for a block.'))

const sums = {
  allowed: number('Decisions that allowed the request.'),
  denied: number('Decisions that denied it.'),
  cost: number("What was taken, in the rule's unit."),
}

const UsageItem = named(
  'UsageItem',
  object({
    scope: text('The scope that the rule counts by.'),
    value,
    rule,
    from: time(
      'The start of the summed span. It is a whole minute, or a whole day for times long ago.',
    ),
    to: time('The end of the summed span.'),
    ...sums,
  }),
)

const Violation = named(
  'Violation',
  object({
    at: time('The second in which it happened.'),
    count: number('How many denials there were in that second.'),
    scope: text('The scope that the rule counts by.'),
    value,
    rule,
    resource: orNull(text('The resource, its first 256 characters; null where it is not known.')),
    limit: orNull(text('The limit that denied.', { examples: ['100/min'] })),
    reason: oneOf(REASONS, 'Why it was denied.'),
  }),
)

export const usageRoutes = {
  usage: route({
    method: 'GET',
    path: '/v1/usage',
    role: 'reader',
    summary: 'List what each subject used of each rule in a span, the largest first',
    query: filters,
    answer: named('Usage', object({ items: list(UsageItem), totals: object(sums), next })),
    errors: READ_ERRORS,
  }),
  violations: route({
    method: 'GET',
    path: '/v1/violations',
    role: 'reader',
    summary:
      'List denials, the newest first: who was denied when, by which limit of which rule, for which resource',
    query: { ...filters, resource: text('Only on this resource.') },
    answer: named(
      'Violations',
      object({
        items: list(Violation),
        totals: object({ count: number('All matching denials in the span.') }),
        next,
      }),
    ),
    errors: READ_ERRORS,
  }),
}
