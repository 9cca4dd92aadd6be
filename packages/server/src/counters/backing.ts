/** Where the counters of a service are: in this process and a folder, or in a Redis that instances share. */
import { randomBytes } from 'node:crypto'
import type { Store } from '@sluice/limiter/transport'
import type { Settings } from '../config.js'
import { type Once, OnceInMemory } from '../receipts/once.js'
import { OnceFile } from '../receipts/once-file.js'
import type { Log } from '../telemetry/log.js'
import type { StoreReading } from '../telemetry/metrics.js'
import type { RotatedFile } from './counter-writer.js'
import { type Counters, openCounters } from './counters.js'
import { readRedisAddress } from './redis-address.js'
import { RedisCounters } from './redis-counters.js'
import { secretOf } from './secret-file.js'

export interface Backing {
  readonly kind: 'memory' | 'redis'
  /** For people. */
  readonly name: string
  readonly store: Store
  readonly once: Once
  /** What callers' receipts are sealed with, until another is shared: 16 bytes. */
  readonly secret: Uint8Array
  /** Why it did not answer when it was asked first; null: it did. */
  readonly trouble: string | null
  /** Milliseconds since the epoch, by the clock that decides. */
  now(): number
  /** Keys and bytes in this process; null where they are elsewhere. */
  size(): { keys: number; bytes: number; evicted: number } | null
  /** How often the clock that decides was seen to have stepped back by more than a minute. */
  clockStepsBack(): number
  reading(): StoreReading | null
  /** Gives the secret that instances share, whenever it is known. */
  shareSecret(adopt: (secret: Uint8Array) => void): Promise<void>
  close(): Promise<void>
}

export async function openBacking(settings: Settings, log: Log): Promise<Backing> {
  const stepped = clockSteppedBack(log)
  return settings.redis === undefined
    ? inMemory(settings, log, stepped)
    : inRedis(settings, settings.redis, stepped)
}

/** Counters say it again and again, of each of their rows; the log has it once. */
function clockSteppedBack(log: Log): () => void {
  let isSaid = false
  return () => {
    if (isSaid) return
    isSaid = true
    log.warn(
      'the clock stepped back by more than a minute: counters with later times are restarted and keep what was used',
      { code: 'clock_stepped_back' },
    )
  }
}

function inMemory({ data, maxKeys }: Settings, log: Log, onClockStepBack: () => void): Backing {
  let used: RotatedFile | null = null
  const counters: Counters = openCounters(data, {
    store: { maxKeys, onClockStepBack },
    log: (line) => log.warn(line),
    onTrouble: (trouble) => {
      if (trouble === null) log.info('counters are being written again')
      else log.error('counters are not being written', { error: trouble.message })
    },
    beside: () => used,
  })
  let file: OnceFile
  let secret: Uint8Array
  try {
    file = new OnceFile(data, Date.now(), log)
    secret = secretOf(data, log)
  } catch (error) {
    void counters.close()
    throw error
  }
  const once = new OnceInMemory(Date.now, file)
  used = {
    get hasGrown() {
      return file.hasGrown
    },
    rotate: () => file.rotate(once, Date.now()),
  }
  return {
    kind: 'memory',
    name: data,
    store: counters.store,
    once,
    secret,
    trouble: null,
    now: () => Date.now(),
    size: () => counters.store.size,
    clockStepsBack: () => counters.store.clockStepsBack,
    reading: () => null,
    shareSecret: async () => {},
    close: async () => {
      await counters.close()
      file.close()
    },
  }
}

async function inRedis(
  settings: Settings,
  address: string,
  onClockStepBack: () => void,
): Promise<Backing> {
  const counters = new RedisCounters(readRedisAddress(address), {
    prefix: settings.redisPrefix,
    deadlineMs: settings.redisDeadline,
    instances: settings.instances,
    leases: settings.leases === 'on',
    onClockStepBack,
  })
  const trouble = await counters.connected()
  return {
    kind: 'redis',
    name: counters.name,
    store: counters.store,
    once: counters.once,
    secret: randomBytes(16),
    trouble,
    now: () => Date.now() + (counters.health.clock?.aheadMs ?? 0),
    size: () => null,
    clockStepsBack: () => counters.health.clockStepsBack,
    reading: () => ({
      breaker: counters.health.breaker,
      nodesAway: counters.health.nodesAway.flatMap(({ node }) => (node === '' ? [] : node)),
      clockAheadMs: counters.health.clock?.aheadMs ?? null,
      durations: counters.durations,
      errors: counters.errors,
      leases: counters.health.leases,
    }),
    shareSecret: (adopt) => counters.shareSecret(adopt),
    close: async () => counters.close(),
  }
}
