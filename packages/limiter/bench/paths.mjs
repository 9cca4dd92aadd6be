// Other ways through a check, beside the allowed one: denied, several scopes, lists, other algorithms, a promise.
import { createLimiter } from '@sluice/limiter'
import { freshKey, race } from './measure.mjs'

export const title = 'other ways through a check, beside the plain allowed one (100k keys)'
export const goals = [{ row: 'denied', column: '× of plain', most: 1.2 }]
export const cases = [{ row: 'all' }]

const KEYS = 100_000
let sink = 0

function checks(options, more = {}) {
  const limiter = createLimiter(options)
  const ask = (user) => limiter.checkSync({ subject: { user, ...more }, resource: '/x' })
  for (let i = 0; i < KEYS; i++) ask(freshKey(i))
  return (texts) => {
    for (let i = 0; i < texts.length; i++) sink += ask(texts[i]).allowed ? 1 : 0
  }
}

export async function run() {
  const user = (limits) => ({ rules: { r: { scope: 'user', limits } } })
  const many = Array.from({ length: 100_000 }, (_, i) => `user:block-${i}`)
  const awaited = createLimiter(user('1000000/s'))
  const contenders = {
    plain: checks(user('1000000/s')),
    denied: checks(user('1 per 300d')),
    'two scopes, three limits each': checks(
      {
        rules: {
          a: { scope: 'user', limits: ['1000000/s', '1000000/min', '1000000 per 10s'] },
          b: { scope: 'ip', limits: ['1000000/s', '1000000/min', '1000000 per 10s'] },
        },
      },
      { ip: '192.0.2.7' },
    ),
    'tiers by the thousand': checks({
      rules: { r: { scope: 'user', limits: '1000000/s', tiers: { pro: '2000000/s' } } },
      tiers: { pro: Array.from({ length: 1000 }, (_, i) => `user:pro-${i}`) },
    }),
    '100,000 blocked values': checks({ ...user('1000000/s'), blocks: many }),
    fixed_window: checks(user('1000000/s fixed')),
    sliding_window_counter: checks(user('1000000/s sliding')),
    'sliding_window_log of 10': checks(user('10/s exact')),
    awaited: async (texts) => {
      for (const key of texts)
        sink += (await awaited.check({ subject: { user: key } })).allowed ? 1 : 0
    },
  }
  const times = await race(contenders, { keys: KEYS, rounds: 16 })
  return Object.entries(times).map(([row, { best }]) => ({
    row,
    ns: best,
    '× of plain': best / times.plain.best,
  }))
}
