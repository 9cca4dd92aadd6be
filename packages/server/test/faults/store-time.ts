/** How far the clock of a Redis is ahead of this process's `performance.now`. */
import type { RedisServer } from '../../../limiter/test/redis/servers.js'
import type { StoreTime } from './lease-bounds.js'

const LOOKS = 20

/** As narrow as the quickest looks allow. */
export async function storeTimeOf({ admin }: RedisServer): Promise<StoreTime> {
  let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let i = 0; i < LOOKS; i++) {
    const before = performance.now()
    const [seconds, microseconds] = await admin.time()
    const after = performance.now()
    const storeMs = Number(seconds) * 1000 + Number(microseconds) / 1000
    least = Math.max(least, storeMs - after)
    most = Math.min(most, storeMs - before)
  }
  return { least, most }
}
