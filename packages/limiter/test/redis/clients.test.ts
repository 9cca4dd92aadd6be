/** Clients that would harm a limiter are refused, naming the setting; those made with the exported options are not. */
import { Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { createLimiter, SluiceError } from '../../src/index.js'
import {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisClusterOptions,
  nodeRedisOptions,
  type RedisClient,
  redisStore,
} from '../../src/redis.js'

const NODES = [{ host: '127.0.0.1', port: 1 }]
const LAZY = { lazyConnect: true } as const

const made: { disconnect(): void }[] = []
afterAll(() => {
  for (const client of made) client.disconnect()
})

function ioredis(options: object): RedisClient {
  const client = new Redis({ ...ioredisOptions, ...LAZY, ...options })
  made.push(client)
  return client
}

function ioredisCluster(options: object): RedisClient {
  const client = new Redis.Cluster(NODES, { ...ioredisClusterOptions, ...LAZY, ...options })
  made.push(client)
  return client
}

function nodeRedis(options: object): RedisClient {
  return createClient({ ...nodeRedisOptions, ...options })
}

function nodeRedisCluster(options: object): RedisClient {
  return createCluster({ rootNodes: [], ...nodeRedisClusterOptions, ...options })
}

const { redisOptions } = ioredisClusterOptions

const HARMFUL: readonly (readonly [string, () => RedisClient, string, string])[] = [
  [
    'ioredis that queues while it is offline',
    () => ioredis({ enableOfflineQueue: true }),
    'enableOfflineQueue: false',
    'ioredisOptions',
  ],
  [
    'ioredis that sends again after a reconnect',
    () => ioredis({ autoResendUnfulfilledCommands: true }),
    'autoResendUnfulfilledCommands: false',
    'ioredisOptions',
  ],
  [
    'ioredis that pipelines by itself',
    () => ioredis({ enableAutoPipelining: true }),
    'enableAutoPipelining: false',
    'ioredisOptions',
  ],
  [
    'ioredis without a time-out of its socket',
    () => ioredis({ socketTimeout: undefined }),
    'socketTimeout: 1000',
    'ioredisOptions',
  ],
  [
    'an ioredis cluster that queues while it is offline',
    () => ioredisCluster({ enableOfflineQueue: true }),
    'enableOfflineQueue: false',
    'ioredisClusterOptions',
  ],
  [
    'an ioredis cluster that sends again after a reconnect',
    () =>
      ioredisCluster({ redisOptions: { ...redisOptions, autoResendUnfulfilledCommands: true } }),
    'redisOptions.autoResendUnfulfilledCommands: false',
    'ioredisClusterOptions',
  ],
  [
    'an ioredis cluster that sends again after a failover',
    () => ioredisCluster({ retryDelayOnFailover: 100 }),
    'retryDelayOnFailover: 0',
    'ioredisClusterOptions',
  ],
  [
    'an ioredis cluster that pipelines by itself',
    () => ioredisCluster({ enableAutoPipelining: true }),
    'enableAutoPipelining: false',
    'ioredisClusterOptions',
  ],
  [
    'an ioredis cluster without a time-out of its sockets',
    () => ioredisCluster({ redisOptions: { ...redisOptions, socketTimeout: undefined } }),
    'redisOptions.socketTimeout: 1000',
    'ioredisClusterOptions',
  ],
  [
    'node-redis that queues while it is offline',
    () => nodeRedis({ disableOfflineQueue: false }),
    'disableOfflineQueue: true',
    'nodeRedisOptions',
  ],
  [
    'node-redis without a time-out of its socket',
    () => nodeRedis({ socket: { connectTimeout: 1000 } }),
    'socket.socketTimeout: 5000',
    'nodeRedisOptions',
  ],
  [
    'a node-redis cluster that queues while it is offline',
    () => nodeRedisCluster({ defaults: { ...nodeRedisOptions, disableOfflineQueue: false } }),
    'defaults.disableOfflineQueue: true',
    'nodeRedisClusterOptions',
  ],
  [
    'a node-redis cluster without a time-out of its sockets',
    () => nodeRedisCluster({ defaults: { disableOfflineQueue: true } }),
    'defaults.socket.socketTimeout: 5000',
    'nodeRedisClusterOptions',
  ],
]

describe('a client', () => {
  it.each(HARMFUL)('is refused: %s', (_, make, setting, helper) => {
    let refusal: unknown
    try {
      redisStore(make())
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(SluiceError)
    const { code, field, message } = refusal as SluiceError
    expect({ code, field }).toEqual({ code: 'invalid_options', field: 'client' })
    expect(message).toMatch(/^the Redis client [a-z ,]+; make it with /)
    expect(message).toContain(`make it with ${setting}, or with all of ${helper} from `)
  })

  it.each([
    ['ioredis', () => ioredis({})],
    ['ioredis behind Sentinel', () => ioredis({ sentinels: NODES, name: 'main' })],
    ['an ioredis cluster', () => ioredisCluster({})],
    ['node-redis', () => nodeRedis({})],
    ['a node-redis cluster', () => nodeRedisCluster({})],
  ] as const)('is accepted as the exported options make it: %s', (_, make) => {
    expect(() => redisStore(make())).not.toThrow()
  })

  it.each([[undefined], [null], ['redis://localhost'], [{}], [() => {}], [{ get() {}, set() {} }]])(
    'is refused where it is none: %s',
    (client) => {
      expect(() => redisStore(client as never)).toThrow(/expected one of ioredis or node-redis/)
    },
  )
})

describe('the options of redisStore', () => {
  it.each([
    [{ deadlineMs: 0 }, /deadlineMs is 0; expected a whole number from 1 to 60000/],
    [{ deadlineMs: 1.5 }, /deadlineMs is 1\.5; expected a whole number/],
    [{ instances: -1 }, /instances is -1; expected a whole number/],
    [{ deadlineMS: 5 }, /unknown option "deadlineMS"; did you mean "deadlineMs"/],
    [{ prefix: 'a{b' }, /prefix is "a\{b"; expected up to 64 letters/],
  ])('are refused where they are wrong: %j', (options, message) => {
    expect(() => redisStore(ioredis({}), options as never)).toThrow(message)
  })

  it('make a store that cannot answer at once', async () => {
    const limiter = createLimiter('5/s', { store: redisStore(ioredis({})) })
    expect(() => limiter.checkSync({ subject: { key: 'a' } })).toThrow(
      /checkSync needs a store in memory/,
    )
    await limiter.close()
  })
})

describe('clients made with the exported options', () => {
  it('are each their own', () => {
    createClient({ url: 'redis://127.0.0.1:7000', ...nodeRedisOptions })
    const other = createClient({ url: 'rediss://other.example', ...nodeRedisOptions })
    expect(other.options.socket).toMatchObject({ host: 'other.example', tls: true })
    expect(other.options.socket).not.toHaveProperty('port', 7000)
    const plain = createClient({ ...nodeRedisOptions })
    expect(plain.options.socket).not.toHaveProperty('host')
    expect(nodeRedisClusterOptions.defaults.socket).not.toHaveProperty('host')
  })

  it('do not end the process when they lose their connection, and leave a listener alone', () => {
    const [deaf, hearing] = [
      createClient({ ...nodeRedisOptions }),
      createClient({ ...nodeRedisOptions }),
    ]
    let heard = 0
    hearing.on('error', () => heard++)
    for (const client of [deaf, hearing]) redisStore(client)
    expect(deaf.emit('error', new Error('gone'))).toBe(true)
    expect(hearing.listenerCount('error')).toBe(1)
    hearing.emit('error', new Error('gone'))
    expect(heard).toBe(1)
  })
})
