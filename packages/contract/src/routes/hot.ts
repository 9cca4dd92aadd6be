/** The route that lists the busiest rows. */
import {
  count,
  flag,
  list,
  named,
  object,
  oneOf,
  orNull,
  seconds,
  share,
  text,
  whole,
} from '../schema.js'
import { route } from './route.js'
import { namespaceQuery } from './route-parts.js'

/** The most rows that an instance remembers. */
export const MOST_HOT_ROWS = 256

const HotAdvice = named(
  'HotAdvice',
  object({
    code: oneOf(['lease', 'shard'], 'What to change.'),
    message: text('What to change and how, in words.'),
  }),
)

const HotRow = named(
  'HotRow',
  object({
    namespace: text('The namespace.'),
    rule: text('The rule that the row belongs to.'),
    scope: text('The scope that the rule counts by.'),
    value: orNull(
      text(
        'The value of the scope: its first 128 characters, and of an `api_key` only the ends; null for `global`.',
      ),
    ),
    per_second: seconds('Decisions a second of this instance that looked at the row.'),
    share: share("Its share of the namespace's decisions."),
    denied_share: share("The share of the row's decisions that it denied."),
    leased: flag('This instance leases tokens of the row, and decides by them while they last.'),
    shards: count('How many shards it is split into.'),
    advice: orNull(HotAdvice),
  }),
)

export const hotRoutes = {
  hot: route({
    method: 'GET',
    path: '/v1/hot',
    role: 'reader',
    summary: 'List the rows that this instance decides by most often, the busiest first',
    query: {
      namespace: namespaceQuery,
      limit: whole(1, MOST_HOT_ROWS, 'The most rows to list; 20 unless given.'),
    },
    answer: named(
      'Hot',
      object({
        items: list(HotRow),
        sampled: count('Decisions are sampled: one in this many.'),
        window_seconds: seconds(
          'The time over which rates are measured; older decisions count less.',
        ),
      }),
    ),
    errors: ['bad_request', 'unauthorized', 'forbidden', 'limited'],
  }),
}
