// Other limiters in memory, one limit, awaited where their users must. The last two only count; the last answers without a promise.
import { createLimiter, memoryStore } from '@sluice/limiter'
import { MemoryStore as ExpressStore } from 'express-rate-limit'
import { MemoryStore as HonoStore } from 'hono-rate-limiter'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { freshKey, race } from './measure.mjs'

export const title = 'await check with one limit, beside other limiters in memory'
export const goals = [
  { row: '1k keys', column: '× rate-limiter-flexible', least: 3 },
  { row: '1M keys', column: '× rate-limiter-flexible', least: 5 },
  { row: '100k keys', column: '× express-rate-limit', least: 1 },
  { row: '1M keys', column: '× express-rate-limit', least: 1 },
  { row: '100k keys', column: '× hono-rate-limiter', least: 1 },
  { row: '1M keys', column: '× hono-rate-limiter', least: 1 },
]
export const cases = [
  { row: '1k keys', keys: 1_000 },
  { row: '100k keys', keys: 100_000 },
  { row: '1M keys', keys: 1_000_000 },
]

const WINDOW_S = 3600
let sink = 0

export async function run({ keys }) {
  const limiter = createLimiter({
    rules: { r: { scope: 'user', limits: '1000000000/h' } },
    store: memoryStore({ maxKeys: 20_000_000 }),
  })
  const flexible = new RateLimiterMemory({ points: 1e9, duration: WINDOW_S })
  const express = new ExpressStore()
  express.init({ windowMs: WINDOW_S * 1000 })
  const hono = new HonoStore()
  hono.init({ windowMs: WINDOW_S * 1000 })
  for (let i = 0; i < keys; i++) {
    await limiter.check({ subject: { user: freshKey(i) } })
    await flexible.consume(freshKey(i), 1)
    await express.increment(freshKey(i))
    hono.increment(freshKey(i))
  }
  const times = await race(
    {
      async sluice(texts) {
        for (const key of texts)
          sink += (await limiter.check({ subject: { user: key } })).remaining & 1
      },
      sync(texts) {
        for (const key of texts) sink += limiter.checkSync({ subject: { user: key } }).remaining & 1
      },
      async flexible(texts) {
        for (const key of texts) sink += (await flexible.consume(key, 1)).remainingPoints & 1
      },
      async express(texts) {
        for (const key of texts) sink += (await express.increment(key)).totalHits & 1
      },
      hono(texts) {
        for (const key of texts) sink += hono.increment(key).totalHits & 1
      },
    },
    { keys, rounds: 16 },
  )
  const ahead = (name) => times[name].best / times.sluice.best
  return {
    'await check ns': times.sluice.best,
    'checkSync ns': times.sync.best,
    '× rate-limiter-flexible': ahead('flexible'),
    '× express-rate-limit': ahead('express'),
    '× hono-rate-limiter': ahead('hono'),
    'checkSync × rate-limiter-flexible': times.flexible.best / times.sync.best,
  }
}
