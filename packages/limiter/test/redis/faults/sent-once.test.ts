/** What may have run is never sent again: every request is counted at most once, whatever becomes of its answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisOptions,
  type RedisClient,
  redisStore,
} from '../../../src/redis.js'
import { RedisServer, type Cluster as Servers, startCluster, until } from '../servers.js'
import { FaultProxy } from './fault-proxy.js'

const LIMIT = 1000
const RULES = { r: { scope: 'user', limits: '1000 per 1h fixed', failure_mode: 'closed' } } as const
const DEADLINE_MS = 100

let server: RedisServer
let cluster: Servers
const cleanups: (() => Promise<void> | void)[] = []

beforeAll(async () => {
  ;[server, cluster] = await Promise.all([RedisServer.start(), startCluster()])
}, 60_000)
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})
afterAll(() => Promise.all([server.stop(), cluster.stop()]))

interface Setting {
  readonly client: RedisClient
  readonly proxies: readonly FaultProxy[]
  /** A way to the same store that nothing happens to. */
  readonly direct: RedisClient
}

async function ioredis(): Promise<Setting> {
  const proxy = await FaultProxy.start(server.port)
  const client = new Redis(proxy.url, ioredisOptions)
  const direct = new Redis(server.url, ioredisOptions)
  await Promise.all([ready(client), ready(direct)])
  cleanups.push(() => proxy.stop())
  return { client, direct, proxies: [proxy] }
}

async function nodeRedis(): Promise<Setting> {
  const proxy = await FaultProxy.start(server.port)
  const client = createClient({ url: proxy.url, ...nodeRedisOptions })
  client.on('error', () => {})
  await client.connect()
  const direct = new Redis(server.url, ioredisOptions)
  await ready(direct)
  cleanups.push(
    () => proxy.stop(),
    () => client.destroy(),
  )
  return { client, direct, proxies: [proxy] }
}

/** Behind a proxy for each node. */
async function ioredisCluster(): Promise<Setting> {
  const proxies = await Promise.all(cluster.nodes.map(({ port }) => FaultProxy.start(port)))
  const natMap = Object.fromEntries(
    cluster.nodes.map(({ host, port }, i) => [`${host}:${port}`, { host, port: proxies[i]!.port }]),
  )
  const nodes = proxies.map(({ port }) => ({ host: '127.0.0.1', port }))
  const client = new Cluster(nodes, { ...ioredisClusterOptions, natMap })
  const direct = new Cluster([...cluster.nodes], ioredisClusterOptions)
  await Promise.all([ready(client), ready(direct)])
  cleanups.push(async () => {
    for (const proxy of proxies) await proxy.stop()
  })
  return { client, direct, proxies }
}

async function ready(client: Redis | Cluster): Promise<void> {
  client.on('error', () => {})
  cleanups.push(() => client.disconnect())
  await new Promise((resolve) => client.once('ready', resolve))
}

let users = 0

/** Asks `n` times while something happens to the answers; how often that was counted. */
async function counted(
  setting: Setting,
  n: number,
  happens: (proxies: readonly FaultProxy[]) => Promise<void>,
  deadlineMs: number = DEADLINE_MS,
): Promise<{ counted: number; allowed: number }> {
  const { client, direct, proxies } = setting
  const user = `user${users++}`
  const store = redisStore(client, { deadlineMs })
  await using limiter = createLimiter({ rules: RULES, store })
  await using other = createLimiter({ rules: RULES, store: redisStore(direct) })
  await until('connections are there, and the script is known', async () => {
    const { degraded } = await limiter.peek({ subject: { user } })
    return !degraded
  })
  for (const proxy of proxies) proxy.delayReplies(400)
  const answers = Array.from({ length: n }, async () => limiter.check({ subject: { user } }))
  await sleep(20)
  await happens(proxies)
  const decisions = await Promise.all(answers)
  for (const proxy of proxies) await proxy.pass()
  // Whatever would be sent again has been sent by now.
  await sleep(700)
  const left = await other.peek({ subject: { user } })
  expect(left.degraded).toBe(false)
  return {
    counted: LIMIT - left.remaining!,
    allowed: decisions.filter(({ allowed }) => allowed).length,
  }
}

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
  ['an ioredis cluster', ioredisCluster],
] as const)('over %s', (_, setting) => {
  it('what timed out is not sent again', async () => {
    const result = await counted(await setting(), 3, async () => {})
    expect(result).toEqual({ counted: 3, allowed: 0 })
  })

  it('what a reset took the answer of is not sent again', async () => {
    const reset = async (proxies: readonly FaultProxy[]) => {
      for (const proxy of proxies) proxy.reset()
    }
    // The client is connected again long before the deadline.
    const result = await counted(await setting(), 3, reset, 2000)
    expect(result).toEqual({ counted: 3, allowed: 0 })
  })

  it('what waits in a black hole arrives late, once, and was answered in time', async () => {
    const result = await counted(await setting(), 3, async (proxies) => {
      for (const proxy of proxies) proxy.blackHole()
      await sleep(2 * DEADLINE_MS)
    })
    expect(result).toEqual({ counted: 3, allowed: 0 })
  })
})
