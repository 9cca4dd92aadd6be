// Ten million live keys: how fast, and how long it ever stops.
import { performance } from 'node:perf_hooks'
import { createLimiter, memoryStore } from '@sluice/limiter'
import { freshKey, LIMITS, longestPause, race } from './measure.mjs'

export const title = '10 million live keys'
export const goals = [
  { row: '10M keys, k=3', column: 'M checks/s', least: 0.8 },
  { row: '10M keys, k=3', column: 'longest GC ms', most: 20 },
]
export const cases = [
  { row: '10M keys, k=1', k: 1 },
  { row: '10M keys, k=3', k: 3 },
]

const KEYS = 10_000_000
let sink = 0

export async function run({ k }) {
  const store = memoryStore({ maxKeys: 20_000_000 })
  const limits = LIMITS.divides.slice(0, k)
  const limiter = createLimiter({ rules: { r: { scope: 'user', limits } }, store })
  let slowest = 0
  const gc = await longestPause(() => {
    let last = performance.now()
    for (let i = 0; i < KEYS; i++) {
      limiter.checkSync({ subject: { user: freshKey(i) } })
      if (i % 100 === 0) {
        const now = performance.now()
        if (i > 200_000) slowest = Math.max(slowest, now - last)
        last = now
      }
    }
  })
  const times = await race(
    {
      check(texts) {
        for (let i = 0; i < texts.length; i++) {
          const d = limiter.checkSync({ subject: { user: texts[i] } })
          if (d.allowed) sink += d.remaining & 1
        }
      },
    },
    { keys: KEYS, rounds: 40 },
  )
  return {
    'M checks/s': 1000 / times.check.best,
    'longest GC ms': gc,
    'slowest 100 checks while filling, ms': slowest,
    'bytes/key': store.size.bytes / store.size.keys,
  }
}
