/** Limiters over a real Redis with a clock that the test moves. */
import { once } from 'node:events'
import { type Cluster, Redis, type RedisOptions } from 'ioredis'
import { createLimiter, type Limiter } from '../../src/index.js'
import {
  ioredisClusterOptions,
  ioredisOptions,
  type RedisStoreOptions,
  redisStore,
  type SharedStore,
} from '../../src/redis.js'
import type { RulesDocument } from '../../src/rules/document.js'
import { type RedisServer, type Cluster as TestCluster, until } from './servers.js'

/** Milliseconds. */
export const START = 1_780_000_000_000

export type Rules = NonNullable<RulesDocument['rules']>

export interface Over {
  readonly limiter: Limiter
  readonly store: SharedStore
  readonly client: Redis
  close(): Promise<void>
}

export interface MovedClock {
  now: number
}

export async function connected(
  server: RedisServer,
  options: Pick<RedisOptions, 'socketTimeout'> = {},
): Promise<Redis> {
  const client = new Redis(server.url, { ...ioredisOptions, retryStrategy: () => 20, ...options })
  client.on('error', () => {})
  await once(client, 'ready')
  return client
}

/**
 * Ends when the client is ready. ioredis's own promise never ends where the first attempt finds a node that
 * calls the cluster down, though the client connects again.
 */
export async function connectCluster(client: Cluster): Promise<void> {
  const ready = new Promise((resolve) => client.once('ready', resolve))
  client.connect().catch(() => {})
  await ready
}

/** Every node answers: its connections to them are made when they are first needed. */
export async function connectedToCluster({ nodes }: TestCluster): Promise<Cluster> {
  const client = new Redis.Cluster([...nodes], {
    ...ioredisClusterOptions,
    redisOptions: { ...ioredisClusterOptions.redisOptions, socketTimeout: 30_000 },
    lazyConnect: true,
  })
  client.on('error', () => {})
  await connectCluster(client)
  await until('every node to answer', async () => {
    await Promise.all(client.nodes().map((node) => node.ping()))
    return true
  })
  return client
}

export async function limiterOver(
  server: RedisServer,
  rules: Rules,
  clock: MovedClock,
  options: RedisStoreOptions = {},
): Promise<Over> {
  const client = await connected(server)
  const store = redisStore(client, { testClock: () => clock.now, ...options })
  const limiter: Limiter = createLimiter({ rules, store, clock: () => clock.now })
  return {
    limiter,
    store,
    client,
    async close() {
      await limiter.close()
      client.disconnect()
    },
  }
}
