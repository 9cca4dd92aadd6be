/** Counters in a shared Redis: its client with settings that are safe, timed, and the secret that all instances share. */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { RedisHealth, SharedStore } from '@sluice/limiter/redis'
import { redisStore } from '@sluice/limiter/redis'
import type { Cluster, Redis } from 'ioredis'
import { OnceInRedis } from '../receipts/once-in-redis.js'
import { Histogram } from '../telemetry/meter.js'
import { tracedCommand } from '../telemetry/tracing.js'
import { within } from '../within.js'
import { printRedisAddress, type RedisAddress } from './redis-address.js'
import { connectRedis } from './redis-connection.js'

export interface RedisOptions {
  readonly prefix: string
  readonly deadlineMs: number
  readonly instances: number
  /** Whether tokens are taken ahead of time, where a rule does not say otherwise. */
  readonly leases: boolean
  /** As of `redisStore`. */
  readonly onClockStepBack: () => void
}

const READY_WITHIN_MS = 2000
/** After a first error another attempt may succeed at once. */
const AFTER_ERROR_MS = 100
const MOST_KINDS = 20
/** It may be lost there, and another instance make a new one. */
const SHARE_EVERY_MS = 2000

export class RedisCounters {
  readonly store: SharedStore
  readonly once: OnceInRedis
  readonly durations = new Map<string, Histogram>()
  readonly errors = new Map<string, number>()
  readonly #client: Redis | Cluster
  readonly #prefix: string
  #sharing: ReturnType<typeof setInterval> | undefined
  readonly #address: RedisAddress

  constructor(address: RedisAddress, options: RedisOptions) {
    const { prefix, deadlineMs } = options
    this.#address = address
    this.#prefix = prefix
    this.#client = connectRedis(address)
    this.#client.on('error', () => {})
    this.#time('evalshaBuffer', 'evalsha')
    this.#time('evalBuffer', 'eval')
    this.store = redisStore(this.#client, options)
    this.once = new OnceInRedis(this.#client, prefix, deadlineMs)
  }

  get name(): string {
    return printRedisAddress(this.#address)
  }

  get health(): RedisHealth {
    return this.store.health
  }

  /** Measures a command of the client from outside. */
  #time(method: 'evalshaBuffer' | 'evalBuffer', operation: string): void {
    const client = this.#client as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >
    const run = client[method]!.bind(this.#client)
    const histogram = new Histogram()
    this.durations.set(operation, histogram)
    client[method] = async (...args) => {
      const started = performance.now()
      try {
        return await tracedCommand(operation.toUpperCase(), () => run(...args))
      } catch (error) {
        this.#countError(error)
        throw error
      } finally {
        histogram.add((performance.now() - started) / 1000, 1)
      }
    }
  }

  #countError(error: unknown): void {
    const said = error instanceof Error ? error.message : ''
    const word = /^[A-Z]{3,20}\b/.exec(said)?.[0] ?? 'connection'
    const kind = this.errors.has(word) || this.errors.size < MOST_KINDS ? word : 'other'
    this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1)
  }

  /** Why it does not answer yet; null once it does. Waits a little. */
  async connected(): Promise<string | null> {
    const client = this.#client
    let last = 'no answer'
    const hear = (error: Error & { code?: string; lastNodeError?: Error & { code?: string } }) => {
      const cause = error.lastNodeError ?? error
      last = cause.code ?? cause.message
    }
    client.on('error', hear)
    try {
      if (client.status === 'ready') return null
      const ready = new Promise<void>((resolve) => {
        client.once('ready', resolve)
        client.once('error', () => void wait(AFTER_ERROR_MS).then(resolve))
      })
      await within(READY_WITHIN_MS, ready)
      return (client.status as string) === 'ready' ? null : last
    } finally {
      client.off('error', hear)
    }
  }

  /** Gives the secret that receipts are sealed with, now and whenever Redis is back; the first instance makes it. */
  async shareSecret(adopt: (secret: Uint8Array) => void): Promise<void> {
    // Where Redis has lost it, the one that is known is put back: receipts and holds from before stay good.
    let known = randomBytes(16).toString('hex')
    const share = async () => {
      const key = `${this.#prefix}:secret`
      try {
        await this.#client.set(key, known, 'NX')
        const secret = await this.#client.get(key)
        if (secret === null || !/^[0-9a-f]{32}$/.test(secret)) return
        known = secret
        adopt(Buffer.from(secret, 'hex'))
      } catch {
        // The next time it is ready.
      }
    }
    this.#client.on('ready', () => void share())
    this.#sharing = setInterval(() => void share(), SHARE_EVERY_MS)
    this.#sharing.unref()
    if (this.#client.status === 'ready') await share()
  }

  close(): void {
    clearInterval(this.#sharing)
    this.#client.disconnect()
  }
}
