/**
 * How long an instance answers without the store after the store is back: from the first write that Redis
 * accepts to the last degraded answer, the ramp included. The times are printed, not judged: the machine may be
 * busy. What is judged is that every key comes back, and that nothing happens to keys of healthy nodes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster as ClusterClient, Redis } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import { createLimiter, type Limiter } from '../../../src/index.js'
import { ioredisClusterOptions, ioredisOptions, redisStore } from '../../../src/redis.js'
import { slotOf } from '../../../src/stores/redis/keys.js'
import { RedisServer, startCluster, startSentinels, until } from '../servers.js'

const KEYS = Array.from({ length: 200 }, (_, i) => `key${i}`)
const AWAY_MS = 1500
const TICK_MS = 5
/** The first of three primaries has the slots below. */
const LOST_SLOTS = Math.floor(16_384 / 3)

const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

type Client = Redis | ClusterClient

async function ready(client: Client): Promise<Client> {
  client.on('error', () => {})
  cleanups.push(() => client.disconnect())
  await until('the client to be ready', () => client.status === 'ready')
  return client
}

/** Something that goes away, and what it says once it accepts writes again. */
interface Setting {
  readonly client: Client
  /** Ends when Redis has accepted a write for what was lost. */
  fail(): Promise<void>
  /** Whether the key is at what goes away; every key, unless it says. */
  readonly isLost?: (key: string) => boolean
}

/** Asks every few milliseconds until this server writes. */
async function firstWrite(servers: readonly RedisServer[], key: string): Promise<void> {
  const clients = servers.map(({ port }) => {
    const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 5, maxRetriesPerRequest: 0 })
    client.on('error', () => {})
    return client
  })
  await until(
    'a write is accepted',
    async () => {
      const written = clients.map((client) => client.set(key, 1).catch(() => null))
      return (await Promise.all(written)).includes('OK')
    },
    60_000,
  )
  for (const client of clients) client.disconnect()
}

const SETTINGS: Readonly<Record<string, () => Promise<Setting>>> = {
  'one Redis': async () => {
    const server = await RedisServer.start()
    cleanups.push(() => server.stop())
    return {
      client: await ready(new Redis(server.url, ioredisOptions)),
      async fail() {
        await server.kill()
        await sleep(AWAY_MS)
        void server.start()
        await firstWrite([server], 'first')
      },
    }
  },
  Sentinel: async () => {
    const service = await startSentinels()
    const { sentinels, name, servers, watchers } = service
    cleanups.push(() => service.stop())
    return {
      client: await ready(new Redis({ ...ioredisOptions, sentinels: [...sentinels], name })),
      async fail() {
        const first = await watchers[0]!.primary()
        await first.kill()
        await firstWrite(
          servers.filter((server) => server !== first),
          'first',
        )
        const writes = performance.now()
        void until(
          'the sentinels name it',
          async () => (await watchers[0]!.primary()) !== first,
        ).then(() =>
          console.log(
            `Sentinel names the new primary ${Math.round(performance.now() - writes)} ms after its first write`,
          ),
        )
      },
    }
  },
  Cluster: async () => {
    const cluster = await startCluster({ args: ['--cluster-require-full-coverage', 'no'] })
    cleanups.push(() => cluster.stop())
    const [lost] = cluster.servers as [RedisServer]
    return {
      client: await ready(new ClusterClient([...cluster.nodes], ioredisClusterOptions)),
      isLost: (key) => slotOf(`default|user|${key}`) < LOST_SLOTS,
      async fail() {
        await lost.kill()
        const key = KEYS.find((each) => slotOf(each) < LOST_SLOTS)!
        await firstWrite(cluster.servers.slice(1), `{${key}}`)
      },
    }
  },
}

/** Asks at a rate, and says when each part of the keys was last answered without the store. */
class Load {
  readonly lastDegraded = { lost: 0, other: 0 }
  readonly degraded = { lost: 0, other: 0 }
  /** Why keys that were never away were answered without the store. */
  readonly otherReasons = new Set<string | null>()
  #exactSince = new Set<string>()
  #isOver = false

  constructor(
    private readonly limiter: Limiter,
    private readonly perSecond: number,
    private readonly isLost: (key: string) => boolean,
  ) {}

  async run(): Promise<void> {
    const started = performance.now()
    let asked = 0
    while (!this.#isOver) {
      const due = ((performance.now() - started) * this.perSecond) / 1000
      for (; asked < due; asked++) void this.#ask(KEYS[asked % KEYS.length]!)
      await sleep(TICK_MS)
    }
  }

  async #ask(user: string): Promise<void> {
    const { degraded, degradedReason } = await this.limiter.check({ subject: { user } })
    const part = this.isLost(user) ? 'lost' : 'other'
    if (degraded && part === 'other') this.otherReasons.add(degradedReason)
    if (degraded) {
      this.lastDegraded[part] = performance.now()
      this.degraded[part]++
      this.#exactSince.clear()
    } else this.#exactSince.add(user)
  }

  /** Whether every key was answered by the store since the last answer without it. */
  get isWell(): boolean {
    return this.#exactSince.size === KEYS.length
  }

  stop(): void {
    this.#isOver = true
  }
}

describe.each(Object.keys(SETTINGS))('%s', (name) => {
  it.each([100, 5000])(
    'comes back under %i requests a second',
    async (perSecond) => {
      const setting = await SETTINGS[name]!()
      const { client, isLost = () => true } = setting
      const limiter: Limiter = createLimiter({
        rules: { r: { scope: 'user', limits: '1M/h' } },
        store: redisStore(client),
      })
      cleanups.push(() => limiter.close())
      const load = new Load(limiter, perSecond, isLost)
      const running = load.run()
      await until('every key is answered', () => load.isWell, 60_000)
      const failedAt = performance.now()
      await setting.fail()
      const backAt = performance.now()
      await until('every key is answered by the store again', () => load.isWell, 60_000)
      await until('it stays so', () => performance.now() > load.lastDegraded.lost + 2000)
      load.stop()
      await running
      const { lost, other } = load.lastDegraded
      const others =
        name === 'Cluster'
          ? `; keys of healthy nodes degraded ${load.degraded.other} times, the last ${Math.round(Math.max(0, other - failedAt))} ms after the failure`
          : ''
      console.log(
        `${name}, ${perSecond}/s: away for ${Math.round(backAt - failedAt)} ms, last degraded answer ${Math.round(lost - backAt)} ms after the first accepted write${others}`,
      )
      expect(load.degraded.lost).toBeGreaterThan(0)
      // A machine that is busy may miss a deadline, which is no word on another node.
      expect([...load.otherReasons].filter((reason) => reason !== 'store_timeout')).toEqual([])
    },
    180_000,
  )
})
