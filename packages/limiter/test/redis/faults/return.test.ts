/**
 * How long an instance answers without the store after the store is back: from the first write that Redis
 * accepts to the last degraded answer, the ramp included. Every key must come back. In a cluster keys of healthy nodes
 * must not notice anything, and those of the dead node must be back within a second of its failover. A machine that
 * stands still may delay both: a witness pings the nodes from the same process, and only what it saw excuses.
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
/** As decisions have it, in milliseconds; and a ping that takes so long says that somebody stood still. */
const DEADLINE_MS = 100
const LONG_PING_MS = 50
/** Deadlines that were missed by a stall may open a breaker, which has then closed again for good. */
const BREAKER_MS = 3000
/** Within so many milliseconds of the failover the lost keys are answered by the store again. */
const BACK_WITHIN_MS = 1000
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
  /** Of a cluster: the nodes that stay. */
  readonly healthy?: readonly RedisServer[]
}

/** Pings nodes again and again, from this process, and writes down when an answer took long. */
class Witness {
  readonly #stalls: { readonly from: number; readonly to: number }[] = []
  readonly #clients: Redis[]
  readonly #watching: Promise<unknown>
  #isOver = false

  constructor(servers: readonly RedisServer[]) {
    this.#clients = servers.map(({ port }) => new Redis(port, '127.0.0.1'))
    this.#watching = Promise.all(this.#clients.map((client) => this.#watch(client)))
  }

  async #watch(client: Redis): Promise<void> {
    await client.ping()
    for (let from = performance.now(); !this.#isOver; ) {
      // From one to the next, so that no moment is unseen in which this process itself stood still.
      await sleep(TICK_MS)
      await client.ping()
      const to = performance.now()
      if (to - from > LONG_PING_MS) this.#stalls.push({ from, to })
      from = to
    }
  }

  /** Whether this process or a node stood still at some time between these. */
  sawStall(from: number, to: number): boolean {
    return this.#stalls.some((stall) => stall.from < to && stall.to > from)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#watching
    for (const client of this.#clients) client.disconnect()
  }
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
    const [lost, ...others] = cluster.servers as [RedisServer, ...RedisServer[]]
    return {
      healthy: others,
      client: await ready(new ClusterClient([...cluster.nodes], ioredisClusterOptions)),
      isLost: (key) => slotOf(`default|user|${key}`) < LOST_SLOTS,
      async fail() {
        await lost.kill()
        const key = KEYS.find((each) => slotOf(each) < LOST_SLOTS)!
        await firstWrite(others, `{${key}}`)
      },
    }
  },
}

/** Asks at a rate, and says when each part of the keys was last answered without the store. */
class Load {
  readonly lastDegraded = { lost: 0, other: 0 }
  readonly degraded = { lost: 0, other: 0 }
  /** Keys that were never away and were answered without the store: when, and why. */
  readonly harmed: { readonly at: number; readonly reason: string | null }[] = []
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
    if (degraded && part === 'other')
      this.harmed.push({ at: performance.now(), reason: degradedReason })
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

/** Answers without the store that no stall explains. */
function unexcused(harmed: Load['harmed'], witness: Witness): Load['harmed'][number][] {
  let excusedUntil = 0
  return harmed.filter(({ at, reason }) => {
    const isLate = reason === 'store_timeout' && witness.sawStall(at - 2 * DEADLINE_MS, at)
    if (isLate) excusedUntil = at + BREAKER_MS
    return !isLate && (reason === 'store_timeout' || at > excusedUntil)
  })
}

describe.each(Object.keys(SETTINGS))('%s', (name) => {
  it.each([100, 5000])(
    'comes back under %i requests a second',
    async (perSecond) => {
      const setting = await SETTINGS[name]!()
      const { client, isLost = () => true, healthy = [] } = setting
      const limiter: Limiter = createLimiter({
        rules: { r: { scope: 'user', limits: '1M/h' } },
        store: redisStore(client, { deadlineMs: DEADLINE_MS }),
      })
      cleanups.push(() => limiter.close())
      const witness = new Witness(healthy)
      cleanups.push(() => witness.stop())
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
      expect(unexcused(load.harmed, witness)).toEqual([])
      if (name === 'Cluster' && !witness.sawStall(failedAt, lost))
        expect(lost - backAt).toBeLessThan(BACK_WITHIN_MS)
    },
    180_000,
  )
})
