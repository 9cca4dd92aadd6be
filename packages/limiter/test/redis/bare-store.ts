/** A store over Redis without the layers above it, which decides by the test's time. */
import type { Redis } from 'ioredis'
import { Deadlines } from '../../src/stores/deadlines.js'
import { LastSeenRows } from '../../src/stores/last-seen-rows.js'
import { Keys } from '../../src/stores/redis/keys.js'
import { redisPort } from '../../src/stores/redis/redis-client.js'
import { RedisStore } from '../../src/stores/redis/redis-store.js'
import { StoreClock } from '../../src/stores/redis/store-clock.js'

/** `now`: microseconds; null: the server's clock decides. */
export function bareStore(
  client: Redis,
  prefix: string,
  now: (() => number) | null,
  timers = new Deadlines(10_000),
): RedisStore {
  return new RedisStore({
    port: redisPort(client),
    keys: new Keys(prefix),
    clock: new StoreClock(now),
    timers,
    lastSeen: new LastSeenRows(),
  })
}
