// A whole decision beside a bare Map.get on the same keys: what deciding costs, at every size.
import { createLimiter, memoryStore } from '@sluice/limiter'
import { freshKey, LIMITS, race } from './measure.mjs'

export const title = 'check in memory, beside a bare Map.get on the same keys'
export const goals = [
  { row: '100k keys, k=3', column: 'ratio', least: 0.5 },
  { row: '1M keys, k=3', column: 'ratio', least: 1.2 },
]

const SIZES = { '1k': 1_000, '100k': 100_000, '1M': 1_000_000 }

export const cases = Object.entries(SIZES).flatMap(([size, keys]) =>
  [1, 3, 5].flatMap((k) =>
    Object.keys(LIMITS).map((amounts) => ({
      row: `${size} keys, k=${k}${amounts === 'divides' ? '' : ', amounts that do not divide'}`,
      keys,
      k,
      amounts,
    })),
  ),
)

let sink = 0

export async function run({ keys, k, amounts }) {
  const limits = LIMITS[amounts].slice(0, k)
  const rules = { r: { scope: 'user', resource: '/v1/search', limits } }
  const limiter = createLimiter({ rules, store: memoryStore({ maxKeys: 20_000_000 }) })
  const map = new Map()
  for (let i = 0; i < keys; i++) {
    map.set(freshKey(i), { tat: i })
    limiter.checkSync({ subject: { user: freshKey(i) }, resource: '/v1/search' })
  }
  const times = await race(
    {
      map(texts) {
        for (let i = 0; i < texts.length; i++) sink += map.get(texts[i]).tat & 1
      },
      check(texts) {
        for (let i = 0; i < texts.length; i++) {
          const d = limiter.checkSync({ subject: { user: texts[i] }, resource: '/v1/search' })
          if (d.allowed) sink += (d.remaining + d.limit + d.resetAtMs) & 1
        }
      },
      limits(texts) {
        for (let i = 0; i < texts.length; i++) {
          const d = limiter.checkSync({ subject: { user: texts[i] }, resource: '/v1/search' })
          if (d.allowed) sink += (d.remaining + d.limits[0].remaining) & 1
        }
      },
    },
    { keys },
  )
  return {
    'Map.get ns': times.map.best,
    'check ns': times.check.best,
    ratio: times.map.best / times.check.best,
    '+ limits[] ns': times.limits.best,
    'its ratio': times.map.best / times.limits.best,
  }
}
