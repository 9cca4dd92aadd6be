/** The limiter that these tests ask, with a clock that is moved by hand. */
import { createLimiter } from '../../src/index.js'

export const START = 1_780_000_000_000

export function limited() {
  const time = { now: START }
  const limiter = createLimiter({
    rules: {
      hello: { scope: 'user', resource: '/hello', limits: '3 per 10s' },
      search: { scope: 'user', resource: 'GET /v1/search', limits: ['10/s', '100/min'] },
      org: { scope: 'org', limits: '12/s', additive: true },
      render: { scope: 'org', resource: '/render', limits: '2 concurrent for 60s' },
      chat: {
        scope: 'org',
        resource: 'POST /chat',
        additive: true,
        unit: 'tokens',
        limits: '1000/min',
      },
    },
    clock: () => time.now,
  })
  return { limiter, time }
}

export const ada = { subject: { user: 'ada' }, resource: '/hello' } as const
