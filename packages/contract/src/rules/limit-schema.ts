/** Limits as documents state them: a line such as `10/s`, or an object of its parts. */

import type { LimitsInput } from '@sluice/limiter'
import { anyOf, list, named, raw, text } from '../schema.js'
import { AMOUNT_PATTERN, DURATION_PATTERN, LIMIT_PATTERN } from './limit-pattern.js'

const MOST_AMOUNT = 1_000_000_000
const MOST_LIMITS = 16

const wholeText = (pattern: string) => ({ type: 'string', pattern: `^(?:${pattern})$` })
const whole = (minimum: number) => ({ type: 'integer', minimum, maximum: MOST_AMOUNT })
const parts = (properties: object, more: object) =>
  raw<object>({ type: 'object', properties, additionalProperties: false, ...more })

const amount = named(
  'amount',
  raw<number | string>({
    description: 'A whole number, or a text such as 20k or 5M.',
    anyOf: [whole(1), wholeText(AMOUNT_PATTERN)],
  }),
)
const duration = named(
  'duration',
  raw<string>({ description: 'With its unit: 30s, 5m, 1h, 7d.', ...wholeText(DURATION_PATTERN) }),
)

const LONG_FORMS = [
  parts(
    {
      algorithm: { enum: ['fixed_window', 'sliding_window_log', 'sliding_window_counter'] },
      amount,
      window: duration,
    },
    { required: ['algorithm', 'amount', 'window'] },
  ),
  parts(
    {
      algorithm: { enum: ['token_bucket', 'gcra'] },
      amount,
      window: duration,
      burst: amount,
    },
    { required: ['amount', 'window'] },
  ),
  parts(
    {
      algorithm: { const: 'leaky_bucket' },
      amount,
      window: duration,
      queue: { anyOf: [whole(0), wholeText(AMOUNT_PATTERN)] },
    },
    {
      required: ['amount', 'window'],
      anyOf: [{ required: ['algorithm'] }, { required: ['queue'] }],
    },
  ),
  parts(
    {
      algorithm: { const: 'token_bucket' },
      capacity: amount,
      refill_rate: { description: 'Such as 500/s.', type: 'string', pattern: LIMIT_PATTERN },
    },
    { required: ['capacity', 'refill_rate'] },
  ),
  parts(
    {
      algorithm: { const: 'fixed_window' },
      amount,
      calendar: { enum: ['day', 'week', 'month'] },
      timezone: { type: 'string' },
    },
    { required: ['amount', 'calendar'] },
  ),
  parts(
    { algorithm: { const: 'concurrency' }, amount, timeout: duration },
    { required: ['amount', 'timeout'] },
  ),
]

const limit = named(
  'limit',
  anyOf([
    text('Such as 10/s, 1000/h burst 2000, 100 per 5m sliding, 8 concurrent for 60s.', {
      pattern: LIMIT_PATTERN,
      maxLength: 200,
    }),
    ...LONG_FORMS,
  ]),
)

/** One limit or several. */
export const limitsInput = named(
  'limits',
  raw<LimitsInput>({
    description: 'One limit, or several that must all pass.',
    anyOf: [limit, { type: 'array', items: limit, minItems: 1, maxItems: MOST_LIMITS }],
  }),
)

/** As the API and stored rules have them. */
export const limitLines = list(
  text('A limit in one line.'),
  'One line each: `10/s`, `1000 per 5m sliding`.',
)
