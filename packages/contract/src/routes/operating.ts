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
    instance: text('The id of the process.'),
    host: text('The machine it runs on.'),
    revision: number('The revision in force there.'),
    lag_seconds: seconds('For how long it has known of a newer revision.'),
    seen_seconds: seconds('How long ago it reported this.'),
  },
  {
    older: literal(
      true,
      'It runs an older release. Rules with fields that are new in this release are not in force there.',
    ),
  },
)

const Readiness = named(
  'Readiness',
  object(
    { ready: flag('Whether it can decide and is not about to stop.') },
    {
      reason: text('Why it is not ready.'),
      rules: object({
        revision: count('The revision in force.'),
        count: count('How many rules there are.'),
      }),
      store: object(
        { kind: oneOf(['memory', 'redis'], 'Where counters are.') },
        { breaker: text('The state of the breaker in front of Redis.') },
      ),
      feed: object({
        revision: number('The revision in force here.'),
        head: number('The newest revision that is known.'),
        lag_seconds: seconds('For how long a newer revision has been known.'),
        away: flag('Whether the source of the feed cannot be reached.'),
      }),
      database: object({
        kind: oneOf(['postgres', 'embedded'], 'Which database it is.'),
        away: flag('Whether it cannot be reached.'),
      }),
      planes: list(
        Plane,
        'Every instance that follows the same feed. Only callers who may read all namespaces get it.',
      ),
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
    summary: "Get metrics in Prometheus's text format; needs a token of all namespaces",
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
