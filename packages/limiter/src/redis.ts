/** @sluice/limiter/redis: counters in a Redis that many processes share, and what happens while it is away. */
import { SluiceError } from './errors.js'
import { didYouMean, quote } from './faults.js'
import type { RuleSet } from './rules/rule-set.js'
import type { Slices } from './slices.js'
import type { BreakerState } from './stores/guarded/breaker.js'
import { SafetyNet } from './stores/guarded/safety-net.js'
import { type LeaseTime, systemTime } from './stores/leased/lease-time.js'
import { LeasedStore } from './stores/leased/leased-store.js'
import { Keys } from './stores/redis/keys.js'
import { type RedisClient, redisPort } from './stores/redis/redis-client.js'
import { RedisStore, type RedisStoreParts } from './stores/redis/redis-store.js'
import { StoreClock } from './stores/redis/store-clock.js'
import { ShardedStore } from './stores/sharded/sharded-store.js'
import type { Answer, Store } from './stores/store.js'

export { keepConnected } from './stores/redis/reconnects.js'
export type { RedisClient } from './stores/redis/redis-client.js'
export {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisClusterOptions,
  nodeRedisOptions,
} from './stores/redis/redis-client.js'
export type { Store } from './stores/store.js'

export interface RedisStoreOptions {
  /** How long a decision may wait for Redis, retry and redirects included, in milliseconds; 100 unless given. */
  readonly deadlineMs?: number
  /** How many instances share the limits, until they have counted each other; 1 unless given. */
  readonly instances?: number
  /** What every key starts with; `sluice` unless given. */
  readonly prefix?: string
  /** Decide from leased tokens in memory where rules do not say otherwise; false unless given. */
  readonly leases?: boolean
  /**
   * Called when Redis answers that its clock has stepped back by more than a minute, for every call that found
   * a counter from the time ahead. Such a counter starts anew with what was used of it.
   */
  readonly onClockStepBack?: () => void
  /** For tests: milliseconds since the epoch to decide by, instead of the server's clock; moves the breaker too. */
  readonly testClock?: () => number
}

const OPTIONS = ['deadlineMs', 'instances', 'prefix', 'leases', 'onClockStepBack', 'testClock']
/** Milliseconds between two beats; while the breaker is not closed each is a question whether Redis is back. */
const BEAT_MS = 2000
const ASKING_BEAT_MS = 500

/** How the store is doing. */
export interface RedisHealth {
  readonly breaker: BreakerState
  /** How far the store's clock is ahead of this instance's, in milliseconds, and how sure that is; null before the first call. */
  readonly clock: { readonly aheadMs: number; readonly uncertainMs: number } | null
  /** How many calls found a counter that Redis's clock wrote before it stepped back by more than a minute. */
  readonly clockStepsBack: number
  /** How many instances were counted. */
  readonly instances: number
  readonly leases: LeaseReading
}

/** What leases have come to since the start. */
export interface LeaseReading {
  /** Tokens by what became of them: lost are those that ended unspent, or whose return nobody has heard of. */
  readonly tokens: {
    readonly granted: number
    readonly spent: number
    readonly returned: number
    readonly lost: number
  }
  /** Decisions about leased rows: from memory, and by the store; and how often of the latter a lease was empty. */
  readonly local: number
  readonly asked: number
  readonly empty: number
  /** Calls of Redis, whatever for. */
  readonly calls: number
  /** Rows with a lease now. */
  readonly rows: number
}

/** A store that many processes share. */
export interface SharedStore extends Store {
  readonly health: RedisHealth
}

/** Rules in shards over the store that has each row in one place; says regularly that this instance is there. */
class BeatingStore extends ShardedStore {
  readonly #redis: RedisStore
  readonly #safeguard: RedisStoreParts['safeguard']
  #timer: ReturnType<typeof setInterval> | undefined
  #beatAt = Number.NEGATIVE_INFINITY

  constructor(parts: RedisStoreParts) {
    const redis = new RedisStore(parts)
    super(redis, parts)
    this.#redis = redis
    this.#safeguard = parts.safeguard
  }

  get calls(): number {
    return this.#redis.calls
  }

  beat(): Promise<void> {
    this.#beatAt = performance.now()
    return this.#redis.beat()
  }

  #beatIfDue(): void {
    const isDue = performance.now() >= this.#beatAt + BEAT_MS - ASKING_BEAT_MS / 2
    if (this.#safeguard.isBeatOut) return
    if (isDue || this.#safeguard.state !== 'closed') void this.beat()
  }

  override *use(rules: RuleSet): Slices<void> {
    yield* this.#redis.use(rules)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#beatIfDue(), ASKING_BEAT_MS)
    this.#timer.unref()
    void this.beat()
  }

  override close(): Answer<void> {
    clearInterval(this.#timer)
    return super.close()
  }
}

interface StoreParts {
  readonly inner: BeatingStore
  readonly net: SafetyNet
  readonly clock: StoreClock
  readonly time: LeaseTime
  readonly leases: boolean
  readonly mostDeniedMs: number
  readonly deadlineMs: number
}

class WholeStore extends LeasedStore implements SharedStore {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    const { inner, time, leases: isUsual, mostDeniedMs, deadlineMs } = parts
    super({ inner, time, isUsual, mostDeniedMs, deadlineMs })
    this.#parts = parts
  }

  /** Says at once that this instance is there, for whoever cannot wait. */
  beat(): Promise<void> {
    return this.#parts.inner.beat()
  }

  get health(): RedisHealth {
    const { inner, net, clock } = this.#parts
    const { granted, spent, returned, lost, local, asked, empty, rows } = this.tally
    const tokens = { granted, spent, returned, lost }
    return {
      breaker: net.state,
      clock: clock.reading,
      clockStepsBack: clock.stepsBack,
      instances: net.instances,
      leases: { tokens, local, asked, empty, rows, calls: inner.calls },
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
    options.onClockStepBack,
  )
  const safeguard = new SafetyNet({
    deadlineMs,
    instances,
    storeTime: (time) => clock.at(time),
    now: testClock ?? (() => performance.now()),
  })
  const keys = new Keys(options.prefix ?? 'sluice')
  const port = redisPort(client)
  return new WholeStore({
    inner: new BeatingStore({ port, safeguard, keys, deadlineMs, clock }),
    net: safeguard,
    clock,
    time: systemTime((wall) => clock.at(wall)),
    leases: options.leases === true,
    deadlineMs,
    // What is on its way to several slots may deny for this long what nobody takes.
    mostDeniedMs: port.isCluster ? 2 * deadlineMs : Number.POSITIVE_INFINITY,
  })
}

function within(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new SluiceError(
    'invalid_options',
    `${field} is ${quote(value)}; expected a whole number from ${least} to ${most}`,
    { field },
  )
}
