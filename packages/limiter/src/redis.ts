/** @sluice/limiter/redis: counters in a Redis that many processes share, and what happens while it is away. */
import { SluiceError } from './errors.js'
import { didYouMean, quote } from './faults.js'
import { Deadlines, deadlineFrom } from './stores/deadlines.js'
import type { BreakerState } from './stores/guarded/breaker.js'
import { GuardedStore } from './stores/guarded/guarded-store.js'
import { Instances } from './stores/guarded/heartbeat.js'
import { LocalFallback } from './stores/guarded/local-fallback.js'
import type { NodeBreaker } from './stores/guarded/node-health.js'
import { LastSeenRows } from './stores/last-seen-rows.js'
import { systemTime } from './stores/leased/lease-time.js'
import { LeasedStore } from './stores/leased/leased-store.js'
import { Keys } from './stores/redis/keys.js'
import { type RedisClient, redisPort } from './stores/redis/redis-client.js'
import { RedisStore } from './stores/redis/redis-store.js'
import { StoreClock } from './stores/redis/store-clock.js'
import { ShardedStore } from './stores/sharded/sharded-store.js'
import type { TimedStore } from './stores/store.js'

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
  /** How many instances share the limits; used until the heartbeat has counted them. 1 unless given. */
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
/** How the store is doing. */
export interface RedisHealth {
  /** The breaker's state. A cluster has one for each node: then it is the worst of them. */
  readonly breaker: BreakerState
  /** The nodes whose breaker is not closed, by address; '' stands for a Redis that is no cluster. */
  readonly nodesAway: readonly NodeBreaker[]
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
export interface SharedStore extends TimedStore {
  readonly health: RedisHealth
  /** Says at once that this instance is there, for whoever cannot wait. */
  beat(): Promise<void>
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
  const instances = new Instances(within('instances', options.instances ?? 1, 1, 1_000_000))
  const clock = new StoreClock(
    testClock === undefined ? null : () => Math.round(testClock() * 1000),
    options.onClockStepBack,
  )
  const port = redisPort(client)
  const keys = new Keys(options.prefix ?? 'sluice')
  const timers = new Deadlines(deadlineMs)
  const lastSeen = new LastSeenRows()
  const now = testClock ?? (() => timers.now())
  const storeTime = (time: number) => clock.at(time)

  const redis = new RedisStore({ port, keys, clock, timers, lastSeen })
  const fallback = new LocalFallback({ lastSeen, instances, storeTime })
  const guarded = new GuardedStore({ inner: redis, local: fallback, instances, deadlineMs, now })
  const sharded = new ShardedStore(guarded, { timers, storeTime })
  const store = new LeasedStore({
    inner: sharded,
    time: systemTime(timers, storeTime),
    leasedByDefault: options.leases === true,
    // While parts of a request over several slots are given back, a denial may not be true for long.
    mostDeniedMs: port.isCluster ? 2 * deadlineMs : Number.POSITIVE_INFINITY,
  })
  return {
    isSync: false,
    deadline: () => deadlineFrom(timers),
    decide: (transaction) => store.decide(transaction),
    change: (operations, moment) => store.change(operations, moment),
    use: (rules) => store.use(rules),
    close: () => store.close(),
    beat: () => guarded.beat(),
    get health() {
      const { granted, spent, returned, lost, local, asked, empty, rows } = store.tally
      const tokens = { granted, spent, returned, lost }
      return {
        breaker: guarded.state,
        nodesAway: guarded.nodesAway,
        clock: clock.reading,
        clockStepsBack: clock.stepsBack,
        instances: guarded.instances,
        leases: { tokens, local, asked, empty, rows, calls: redis.calls },
      }
    },
  }
}

function within(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new SluiceError(
    'invalid_options',
    `${field} is ${quote(value)}; expected a whole number from ${least} to ${most}`,
    { field },
  )
}
