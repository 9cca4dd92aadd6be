/** What can be asked about hot rows, and its shapes: for the OpenAPI document. */
import { MOST_ROWS } from '../hot/hot-rows.js'
import type { ApiPart } from '../http/openapi.js'
import { count, listOf, object, orNull, ref, type Schema, seconds, text } from '../http/schema.js'

const part = (description: string): Schema => ({
  type: 'number',
  minimum: 0,
  maximum: 1,
  description,
})

export const HOT_API: ApiPart = {
  operations: [
    {
      path: '/v1/hot',
      method: 'get',
      id: 'hot',
      summary: 'The rows that this instance is asked about most, the hottest first',
      gives: 'Hot',
      parameters: [
        {
          name: 'namespace',
          in: 'query',
          description: "The tenant; the token's only one, else `default`, unless given.",
          schema: { type: 'string' },
        },
        {
          name: 'limit',
          in: 'query',
          description: 'Rows at most; 20 unless given.',
          schema: { type: 'integer', minimum: 1, maximum: MOST_ROWS },
        },
      ],
      errors: ['bad_request', 'unauthorized', 'forbidden', 'limited'],
    },
  ],
  schemas: {
    Hot: object({
      items: listOf(ref('HotRow')),
      sampled: count('One of so many decisions was looked at.'),
      window_seconds: seconds('The time that rates are of; what is long ago counts less.'),
    }),
    HotRow: object({
      namespace: text('The tenant.'),
      rule: text('Whose counter it is.'),
      scope: text('What is limited.'),
      value: orNull(
        text('Who, its first 128 characters, an `api_key` by its ends; null: `global`.'),
      ),
      per_second: seconds('Decisions a second of this instance that asked it.'),
      share: part("Of the namespace's decisions."),
      denied_share: part("Of the row's decisions, those that it denied."),
      leased: {
        type: 'boolean',
        description: 'This instance takes tokens of it ahead of time, where they are enough.',
      },
      shards: count('How many rows it is split into.'),
      advice: { oneOf: [ref('HotAdvice'), { type: 'null' }], description: 'What would help.' },
    }),
    HotAdvice: object({
      code: text('What to change.', { enum: ['lease', 'shard'] }),
      message: text('How, in words.'),
    }),
  },
}
