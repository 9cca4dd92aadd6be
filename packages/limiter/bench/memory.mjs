// What a key costs: the store's own count, and what the process grew by.
import { createLimiter, memoryStore } from '@sluice/limiter'
import { freshKey, LIMITS } from './measure.mjs'

export const title = 'bytes per key at 1 million keys, key included'
export const goals = [{ row: 'one limit', column: 'bytes/key', most: 110 }]
export const cases = [
  { row: 'one limit', limits: LIMITS.divides.slice(0, 1) },
  { row: 'one limit, amount does not divide', limits: LIMITS['does not'].slice(0, 1) },
  { row: 'three limits', limits: LIMITS.divides.slice(0, 3) },
  { row: 'fixed window', limits: ['1000/h fixed'] },
  { row: 'sliding counter', limits: ['1000/h sliding'] },
  { row: 'a Map of { tat }, for comparison', limits: null },
]

const KEYS = 1_000_000

export async function run({ limits }) {
  const before = used()
  let kept
  let own = Number.NaN
  if (limits === null) {
    kept = new Map()
    for (let i = 0; i < KEYS; i++) kept.set(freshKey(i), { tat: i + 0.5 })
  } else {
    const store = memoryStore({ maxKeys: 2_000_000 })
    kept = createLimiter({ rules: { r: { scope: 'user', limits } }, store })
    for (let i = 0; i < KEYS; i++) kept.checkSync({ subject: { user: freshKey(i) } })
    own = store.size.bytes / KEYS
  }
  const grown = (used() - before) / KEYS
  return { 'bytes/key': grown, 'by its own count': own, kept: kept === undefined ? 0 : 1 }
}

function used() {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
