/** The route that says what is asked for most. */
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

/** Rows that an instance remembers. */
export const MOST_HOT_ROWS = 256

const HotAdvice = named(
  'HotAdvice',
  object({
    code: oneOf(['lease', 'shard'], 'What to change.'),
    message: text('How, in words.'),
  }),
)

const HotRow = named(
  'HotRow',
  object({
    namespace: text('The namespace.'),
    rule: text('Whose counter it is.'),
    scope: text('What is limited.'),
    value: orNull(text('Who, its first 128 characters, an `api_key` by its ends; null: `global`.')),
    per_second: seconds('Decisions a second of this instance that asked it.'),
    share: share("Of the namespace's decisions."),
    denied_share: share("Of the row's decisions, those that it denied."),
    leased: flag('This instance takes tokens of it ahead of time, where they are enough.'),
    shards: count('How many rows it is split into.'),
    advice: orNull(HotAdvice),
  }),
)

export const hotRoutes = {
  hot: route({
    method: 'GET',
    path: '/v1/hot',
    role: 'reader',
    summary: 'List the rows that this instance is asked about most, the hottest first',
    query: {
      namespace: namespaceQuery,
      limit: whole(1, MOST_HOT_ROWS, 'Rows at most; 20 unless given.'),
    },
    answer: named(
      'Hot',
      object({
        items: list(HotRow),
        sampled: count('One of so many decisions was looked at.'),
        window_seconds: seconds('The time that rates are of; what is long ago counts less.'),
      }),
    ),
    errors: ['bad_request', 'unauthorized', 'forbidden', 'limited'],
  }),
}
