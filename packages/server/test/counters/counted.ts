/** What the process that is killed counts, and how to read it: nothing is forgotten within the year. */
import { createLimiter, type MemoryStore } from '@sluice/limiter'

export const BATCH = 2000
export const COUNTED = {
  rules: { r: { scope: 'user', limits: ['1000000000 per 365d fixed', '1000000000/h'] } },
} as const

/** How many were admitted, as the counters say. */
export async function countedIn(store: MemoryStore): Promise<number> {
  const limiter = createLimiter({ ...COUNTED, store })
  let count = 0
  for (let i = 0; i < 1000; i++) {
    const { limits } = await limiter.peek({ subject: { user: `u${i}` } })
    count += 1_000_000_000 - limits[0]!.remaining!
  }
  return count
}
