/** Every store keeps every promise: memory, and Redis however it is reached. */
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { memoryStore } from '../../src/index.js'
import {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisOptions,
  type RedisClient,
  redisStore,
} from '../../src/redis.js'
import { testStore } from '../../src/testing.js'
import { RedisServer, startCluster, until } from './servers.js'
import { findValkey } from './valkey.js'

interface Reached {
  readonly client: RedisClient
  close(): Promise<void>
}

let stores = 0

/** One connection for all tests, and a prefix for each. */
function testOver(name: string, reach: () => Promise<Reached>): void {
  let reached: Reached
  beforeAll(async () => {
    reached = await reach()
  })
  afterAll(() => reached.close())
  testStore({ describe, it }, name, (testClock) => ({
    store: redisStore(reached.client, {
      testClock,
      prefix: `store-${stores++}`,
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
  const client = new Redis.Cluster([...cluster.nodes], {
    ...ioredisClusterOptions,
    lazyConnect: true,
  })
  client.on('error', () => {})
  await client.connect()
  // Its connections to the nodes are made when they are first needed.
  await until('every node to answer', async () => {
    await Promise.all(client.nodes().map((node) => node.ping()))
    return true
  })
  return {
    client,
    async close() {
      client.disconnect()
      await cluster.stop()
    },
  }
}

describe('stores', () => {
  testStore({ describe, it }, 'the memory store', () => ({ store: memoryStore() }))

  describe('one server', () => testOver('the Redis store over ioredis', reachWithIoredis))

  describe('one server', () => testOver('the Redis store over node-redis', reachWithNodeRedis))

  describe('a cluster', () => testOver('the Redis store over a cluster', reachCluster))

  describe('Valkey', () => {
    const valkey = findValkey()
    if ('command' in valkey)
      testOver('the Redis store over Valkey', () => reachWithIoredis(valkey.command))
    else {
      console.log(`skipped: ${valkey.missing}`)
      it.skip(`is not to be had: ${valkey.missing}`, () => {})
    }
  })
})
