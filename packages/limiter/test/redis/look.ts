/** A Redis with nothing in it, limiters over it on a clock that the test moves, and a look at what they keep. */
import { Redis } from 'ioredis'
import { createLimiter, type Limiter, type RulesDocument } from '../../src/index.js'
import { ioredisOptions, redisStore } from '../../src/redis.js'
import { RedisServer } from './servers.js'

const START = 1_780_000_000_000
const INSTANCES = 'sluice:{default}:instances'

export class Look {
  /** Milliseconds. */
  now = START
  readonly #server: RedisServer
  readonly #client: Redis
  readonly #opened: Limiter[] = []

  private constructor(server: RedisServer, client: Redis) {
    this.#server = server
    this.#client = client
  }

  static async start(): Promise<Look> {
    const server = await RedisServer.start()
    const client = new Redis(server.url, { ...ioredisOptions, lazyConnect: true })
    await client.connect()
    return new Look(server, client)
  }

  /** The test's own connection. */
  get redis(): Redis {
    return this.#server.admin
  }

  limiter(rules: NonNullable<RulesDocument['rules']>): Limiter {
    const clock = () => this.now
    const store = redisStore(this.#client, { testClock: clock, deadlineMs: 20_000 })
    const limiter: Limiter = createLimiter({ scopes: ['user', 'org'], rules, store, clock })
    this.#opened.push(limiter)
    return limiter
  }

  /** Every key but the one by which instances count each other. */
  async keys(): Promise<string[]> {
    const keys = await this.redis.keys('*')
    return keys.filter((key) => key !== INSTANCES).sort()
  }

  /** All that is kept, byte for byte, and until when. */
  async everything(): Promise<unknown> {
    const kept = []
    for (const key of await this.keys()) {
      const bytes = await this.redis.dumpBuffer(key)
      kept.push([key, bytes.toString('hex'), await this.redis.pexpiretime(key)])
    }
    return kept
  }

  /** The doubles of a row: expires, birth, last, taken, then its columns'. */
  async numbersOf(key: string): Promise<number[]> {
    const row = (await this.redis.getBuffer(key))!
    const start = row.indexOf(';') + 2
    return Array.from({ length: (row.length - start) / 8 }, (_, i) =>
      row.readDoubleLE(start + 8 * i),
    )
  }

  /** How often Redis has run a command since it last forgot. */
  async callsOf(command: string): Promise<number> {
    const stats = await this.redis.info('commandstats')
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  }

  async forgetCalls(): Promise<void> {
    await this.redis.config('RESETSTAT')
  }

  async clear(): Promise<void> {
    for (const limiter of this.#opened.splice(0)) await limiter.close()
    this.now = START
    await this.redis.flushall()
  }

  async stop(): Promise<void> {
    this.#client.disconnect()
    await this.#server.stop()
  }
}
