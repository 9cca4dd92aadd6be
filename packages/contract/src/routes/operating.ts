/** Routes for operators and their tools: health, readiness, metrics, and the description of all routes. */
import {
  count,
  flag,
  list,
  literal,
  named,
  number,
  object,
  oneOf,
  seconds,
  text,
} from '../schema.js'
import { route } from './route.js'

const operating = { method: 'GET', kind: 'operating', takesAnyQuery: true } as const

const Plane = object(
  {
    instance: text('One process.'),
    host: text('The machine it runs on.'),
    revision: number('In force there.'),
    lag_seconds: seconds('For how long it has known of a newer one.'),
    seen_seconds: seconds('How long ago it said so.'),
  },
  {
    older: literal(
      true,
      'Of an older release: rules with fields that are new in this one are not in force there.',
    ),
  },
)

const Readiness = named(
  'Readiness',
  object(
    { ready: flag('Whether it can decide and is not about to stop.') },
    {
      reason: text('Why not.'),
      rules: object({ revision: count('Counts changes.'), count: count('How many.') }),
      store: object(
        { kind: oneOf(['memory', 'redis'], 'Where counters are.') },
        { breaker: text('Of Redis.') },
      ),
      feed: object({
        revision: number('In force here.'),
        head: number('The newest that is known of.'),
        lag_seconds: seconds('For how long there has been a newer one.'),
        away: flag('Its source cannot be asked.'),
      }),
      database: object({
        kind: oneOf(['postgres', 'embedded'], 'Which.'),
        away: flag('It cannot be asked.'),
      }),
      planes: list(Plane, 'Every instance that follows the same feed; for those who may look.'),
    },
  ),
)

export const operatingRoutes = {
  health: route({
    ...operating,
    path: '/healthz',
    role: 'anyone',
    summary: 'Say whether the process runs',
    answer: named('Health', object({ status: literal('ok', 'It runs.') })),
    errors: ['forbidden'],
  }),
  readiness: route({
    ...operating,
    path: '/readyz',
    role: 'anyone',
    summary: 'Say whether it can decide and is not about to stop; 503 if not',
    answer: Readiness,
    alsoAnswers: { status: 503, description: 'Not ready' },
    errors: ['forbidden'],
  }),
  metrics: route({
    ...operating,
    path: '/metrics',
    role: 'reader',
    summary: "Get counts in Prometheus's text format",
    errors: ['unauthorized', 'forbidden'],
  }),
  openapi: route({
    ...operating,
    path: '/v1/openapi.json',
    role: 'reader',
    summary: 'Get this document',
    errors: ['unauthorized', 'forbidden'],
  }),
}
