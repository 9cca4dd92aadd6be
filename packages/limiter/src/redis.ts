/** @sluice/limiter/redis: counters in a Redis that many processes share, and what happens while it is away. */
import { SluiceError } from './errors.js'
import { didYouMean, quote } from './faults.js'
import type { LeasePort } from './leases/lease-port.js'
import type { BreakerState } from './resilience/breaker.js'
import { SafetyNet } from './resilience/safety-net.js'
import type { RuleSet } from './rules/rule-set.js'
import { ShardedStore } from './shards/sharded-store.js'
import type { Slices } from './slices.js'
import { Keys } from './store/redis/keys.js'
import { type RedisClient, redisPort } from './store/redis/redis-client.js'
import { RedisStore, type RedisStoreParts } from './store/redis/redis-store.js'
import { StoreClock } from './store/redis/store-clock.js'
import type { Answer, Store } from './store/store.js'

export type { RedisClient } from './store/redis/redis-client.js'
export {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisClusterOptions,
  nodeRedisOptions,
} from './store/redis/redis-client.js'
export type { Store } from './store/store.js'

export interface RedisStoreOptions {
  /** How long a decision may wait for Redis, retry and redirects included, in milliseconds; 100 unless given. */
  readonly deadlineMs?: number
  /** How many instances share the limits, until they have counted each other; 1 unless given. */
  readonly instances?: number
  /** What every key starts with; `sluice` unless given. */
  readonly prefix?: string
  /** For tests: milliseconds since the epoch to decide by, instead of the server's clock; moves the breaker too. */
  readonly testClock?: () => number
}

const OPTIONS = ['deadlineMs', 'instances', 'prefix', 'testClock']
const BEAT_MS = 2000

/** How the store is doing. */
export interface RedisHealth {
  readonly breaker: BreakerState
  /** How far the store's clock is ahead of this instance's, in milliseconds, and how sure that is; null before the first call. */
  readonly clock: { readonly aheadMs: number; readonly uncertainMs: number } | null
  /** How many instances were counted. */
  readonly instances: number
}

/** A store that many processes share. */
export interface SharedStore extends Store {
  readonly health: RedisHealth
}

/** Rules in shards over the store that has each row in one place; says that this instance is there. */
class BeatingStore extends ShardedStore implements SharedStore {
  readonly #redis: RedisStore
  readonly #net: SafetyNet
  readonly #clock: StoreClock
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(parts: RedisStoreParts, net: SafetyNet) {
    const redis = new RedisStore(parts)
    super(redis as unknown as Store & LeasePort, parts)
    this.#redis = redis
    this.#net = net
    this.#clock = parts.clock
  }

  override *use(rules: RuleSet): Slices<void> {
    yield* this.#redis.use(rules)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.beat(), BEAT_MS)
    this.#timer.unref()
    void this.beat()
  }

  beat(): Promise<void> {
    return this.#redis.beat()
  }

  override close(): Answer<void> {
    clearInterval(this.#timer)
    return super.close()
  }

  get health(): RedisHealth {
    return {
      breaker: this.#net.state,
      clock: this.#clock.reading,
      instances: this.#net.instances,
    }
  }
}

/** The client stays the caller's: closing the limiter does not close it. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): SharedStore {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined)
    throw new SluiceError(
      'invalid_options',
      `unknown option ${quote(unknown)}${didYouMean(unknown, OPTIONS)}`,
      { field: unknown },
    )
  const { testClock } = options
  const deadlineMs = within('deadlineMs', options.deadlineMs ?? 100, 1, 60_000)
  const instances = within('instances', options.instances ?? 1, 1, 1_000_000)
  const clock = new StoreClock(
    testClock === undefined ? null : () => Math.round(testClock() * 1000),
  )
  const safeguard = new SafetyNet({
    deadlineMs,
    instances,
    storeTime: (time) => clock.at(time),
    now: testClock ?? (() => performance.now()),
  })
  const keys = new Keys(options.prefix ?? 'sluice')
  const port = redisPort(client)
  return new BeatingStore({ port, safeguard, keys, deadlineMs, clock }, safeguard)
}

function within(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new SluiceError(
    'invalid_options',
    `${field} is ${quote(value)}; expected a whole number from ${least} to ${most}`,
    { field },
  )
}
