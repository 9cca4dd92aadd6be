/** What the feed and usage need of Redis: connections apart from the one that decides. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Settings } from '../config.js'
import { readRedisAddress } from '../counters/redis-address.js'
import { connectRedis } from '../counters/redis-connection.js'
import { FeedKeys } from '../feed/feed-redis.js'
import type { Follower } from '../feed/follower.js'
import { Planes } from '../feed/planes.js'
import { RedisPublisher } from '../feed/redis-publisher.js'
import { RedisSource } from '../feed/redis-source.js'
import type { Started } from '../started.js'
import { within } from '../within.js'

/** Longer than any command of the feed waits. */
const SOCKET_TIMEOUT_MS = 5000
const CONNECTED_WITHIN_MS = 1000

export class FeedConnections {
  readonly #settings: Settings
  readonly #started: Started
  readonly #keys: FeedKeys
  readonly #shared: ReturnType<typeof connectRedis>

  constructor(settings: Settings, started: Started) {
    this.#settings = settings
    this.#started = started
    this.#keys = new FeedKeys(settings.redisPrefix)
    this.#shared = this.connect()
  }

  get prefix(): string {
    return this.#settings.redisPrefix
  }

  /** Waits a little for the first connection; what comes later finds its way by itself. */
  async connected(): Promise<void> {
    const redis = this.#shared
    if (redis.status === 'ready') return
    const ready = new Promise<void>((resolve) => {
      redis.once('ready', resolve)
      redis.once('error', () => resolve())
    })
    await within(CONNECTED_WITHIN_MS, ready)
  }

  connect(): ReturnType<typeof connectRedis> {
    const redis = connectRedis(readRedisAddress(this.#settings.redis!), SOCKET_TIMEOUT_MS)
    redis.on('error', () => undefined)
    this.#started.add(() => redis.disconnect())
    return redis
  }

  source(): RedisSource {
    return new RedisSource(this.#shared, this.connect(), this.#keys)
  }

  publisher(): RedisPublisher {
    return new RedisPublisher(this.#shared, this.#keys)
  }

  planes(follower: () => Follower | null): Planes {
    const host = hostname()
    const instance = `${host}-${randomBytes(3).toString('hex')}`
    const planes = new Planes(this.#shared, this.#keys, instance, () => {
      const { revision, lag } = follower()?.reading ?? { revision: 0, lag: 0 }
      return { host, revision, lag }
    })
    this.#started.add(() => planes.close())
    return planes
  }

  get shared(): ReturnType<typeof connectRedis> {
    return this.#shared
  }
}
