/**
 * A sign that Redis may be back is heeded at once. The breaker's clock stands still in these tests, so that
 * nothing but the sign itself can end its pause.
 */
import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createLimiter, type Limiter } from '../../src/index.js'
import {
  ioredisClusterOptions,
  ioredisOptions,
  nodeRedisOptions,
  type RedisClient,
  redisStore,
} from '../../src/redis.js'
import { keepConnected, onClusterChange } from '../../src/stores/redis/reconnects.js'
import { FaultProxy } from './faults/fault-proxy.js'
import { connectCluster, connected, connectedToCluster, START } from './over-redis.js'
import { type Cluster, RedisServer, startCluster, until } from './servers.js'

const RULES = { a: { scope: 'user', limits: '100/s' } } as const
const ADA = { subject: { user: 'ada' } }

let server: RedisServer
let cluster: Cluster
beforeAll(async () => {
  server = await RedisServer.start()
  cluster = await startCluster()
})
afterAll(async () => {
  await server.stop()
  await cluster.stop()
})

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

function over(client: RedisClient) {
  const store = redisStore(client, { testClock: () => START })
  const limiter: Limiter = createLimiter({ rules: RULES, store, clock: () => START })
  cleanups.push(() => limiter.close())
  return { store, limiter }
}

async function open({ store, limiter }: ReturnType<typeof over>): Promise<void> {
  for (let i = 0; i < 5; i++) expect((await limiter.check(ADA)).degraded).toBe(true)
  expect(store.health.breaker).toBe('open')
}

describe('an open breaker tries Redis', () => {
  it('when ioredis has connected again', async () => {
    const client = await connected(server)
    cleanups.push(() => client.disconnect())
    const one = over(client)
    client.disconnect()
    await open(one)
    const seen = new Promise((resolve) => {
      client.once('ready', () => resolve(one.store.health.breaker))
    })
    await client.connect()
    expect(await seen).toBe('half_open')
  })

  it('when node-redis has connected again', async () => {
    const client = createClient({ url: server.url, ...nodeRedisOptions })
    client.on('error', () => {})
    await client.connect()
    cleanups.push(() => client.destroy())
    const one = over(client)
    client.destroy()
    await open(one)
    const seen = new Promise((resolve) => {
      client.once('ready', () => resolve(one.store.health.breaker))
    })
    await client.connect()
    expect(await seen).toBe('half_open')
  })

  it('when a cluster is there again', async () => {
    const client = await connectedToCluster(cluster)
    cleanups.push(() => client.disconnect())
    const one = over(client)
    client.disconnect()
    await open(one)
    await until('the client is gone', () => client.nodes('all').length === 0)
    const seen = new Promise((resolve) => {
      client.once('ready', () => resolve(one.store.health.breaker))
    })
    await connectCluster(client)
    expect(await seen).toBe('half_open')
  })

  it('with a beat every half second also while it is open', async () => {
    const client = await connected(server)
    cleanups.push(() => client.disconnect())
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const one = over(client)
    await (one.store as unknown as { beat(): Promise<void> }).beat()
    client.disconnect()
    await open(one)
    const sent = () => one.store.health.leases.calls
    for (let beats = 1; beats <= 3; beats++) {
      const before = sent()
      vi.advanceTimersByTime(499)
      await nextTurn()
      expect([sent() - before, one.store.health.breaker]).toEqual([0, 'open'])
      vi.advanceTimersByTime(1)
      await until(`beat ${beats} is sent`, () => sent() === before + 1)
      // Without a connection it fails soon; one that is on its way would keep the next one back.
      await sleep(20)
    }
  })

  it('with a beat every half second, two of which close it', async () => {
    const client = await connected(server)
    cleanups.push(() => client.disconnect())
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const one = over(client)
    // From here on Redis knows the script, so a beat is one command.
    await (one.store as unknown as { beat(): Promise<void> }).beat()
    client.disconnect()
    await open(one)
    const ready = once(client, 'ready')
    await client.connect()
    await ready
    const sent = () => one.store.health.leases.calls
    const before = sent()
    for (const beats of [1, 2]) {
      expect(one.store.health.breaker).toBe('half_open')
      vi.advanceTimersByTime(500)
      await until(`beat ${beats} is sent`, () => sent() - before === beats)
      // Replies come in order.
      await client.ping()
      await nextTurn()
    }
    await until('it is closed', () => one.store.health.breaker === 'closed')
  })
})

describe('a change of a cluster', () => {
  class Nodes extends EventEmitter {
    primaries = [1, 2]
    readonly known = new EventEmitter()
    nodes(role: string) {
      if (role === 'all') return [this.known]
      return this.primaries.map((port) => ({ options: { host: 'h', port } }))
    }
  }

  it('is heard: other primaries, a connection to a node that is known and to a new one', () => {
    const client = new Nodes()
    let heard = 0
    onClusterChange(client as never, () => heard++)
    client.emit('refresh')
    expect(heard).toBe(0)
    client.primaries = [2, 3]
    client.emit('refresh')
    client.emit('refresh')
    expect(heard).toBe(1)
    client.known.emit('ready')
    expect(heard).toBe(2)
    const added = new EventEmitter()
    client.emit('+node', added)
    added.emit('ready')
    expect(heard).toBe(3)
  })

  it('makes the client find out who owns which slot, where a call fails', async () => {
    const client = await connectedToCluster(cluster)
    cleanups.push(() => client.disconnect())
    const { limiter } = over(client)
    await limiter.check(ADA)
    const found = vi.spyOn(client, 'refreshSlotsCache')
    client.disconnect()
    expect((await limiter.check(ADA)).degraded).toBe(true)
    expect(found).toHaveBeenCalled()
  })
})

describe('many stores over one client', () => {
  it.each([
    ['one Redis', () => connected(server)],
    ['a cluster', () => connectedToCluster(cluster)],
  ])('listen to it once, and not after they are closed: %s', async (_, connect) => {
    const client = await connect()
    cleanups.push(() => client.disconnect())
    const first = over(client)
    const listeners = () =>
      ['ready', 'refresh', '+node'].map((event) => client.listenerCount(event))
    const before = listeners()
    const [second] = Array.from({ length: 20 }, () => over(client))
    expect(listeners()).toEqual(before)
    client.disconnect()
    await open(first)
    await open(second!)
    await second!.limiter.close()
    client.emit('ready')
    expect(first.store.health.breaker).toBe('half_open')
    expect(second!.store.health.breaker).toBe('open')
  })
})

describe('a primary that has become a replica and keeps its connections', () => {
  it('is left for the one that its name leads to', async () => {
    const replaced = await RedisServer.start()
    cleanups.push(() => replaced.stop())
    const proxy = await FaultProxy.start(replaced.port)
    cleanups.push(() => proxy.stop())
    const client = new Redis(proxy.url, ioredisOptions)
    client.on('error', () => {})
    cleanups.push(() => client.disconnect())
    await once(client, 'ready')
    const { limiter } = over(client)
    expect((await limiter.check(ADA)).degraded).toBe(false)
    await replaced.admin.replicaof('127.0.0.1', server.port)
    proxy.redirect(server.port)
    await until('it is answered', async () => !(await limiter.check(ADA)).degraded)
  })

  it('is left once a second at most, by each client for itself', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const [one, other] = [ioredisOptions.reconnectOnError, ioredisOptions.reconnectOnError]
    const refused = new Error("READONLY You can't write against a read only replica.")
    const inScript = new Error('ERR Error running script (call to f_1): -READONLY no')
    expect(one(new Error('OOM command not allowed'))).toBe(false)
    expect([one(refused), one(refused), other(inScript)]).toEqual([true, false, true])
    vi.advanceTimersByTime(1000)
    expect(one(inScript)).toBe(true)
  })
})

describe('a Sentinel client that has ended', () => {
  class Client extends EventEmitter {
    readonly options = { sentinels: [{ host: 'h', port: 1 }] }
    status = 'connecting'
    manuallyClosing = false
    connects = 0
    async connect() {
      this.connects++
    }
    end() {
      this.status = 'end'
      this.emit('end')
    }
  }

  function kept(): Client {
    vi.useFakeTimers()
    const client = new Client()
    keepConnected(client)
    // Several stores may share it.
    keepConnected(client)
    return client
  }

  it('is connected again, each time', () => {
    const client = kept()
    for (const times of [1, 2]) {
      client.emit('connecting')
      client.end()
      vi.runAllTimers()
      expect(client.connects).toBe(times)
    }
  })

  it('stays so where its owner has disconnected it, also a moment later', () => {
    const client = kept()
    client.manuallyClosing = true
    client.end()
    vi.runAllTimers()
    expect(client.connects).toBe(0)
    client.manuallyClosing = false
    client.emit('connecting')
    client.end()
    client.manuallyClosing = true
    vi.runAllTimers()
    expect(client.connects).toBe(0)
  })

  it('stays so where it was connected, or is connecting again by itself', () => {
    const client = kept()
    client.emit('connect')
    client.emit('close')
    client.end()
    vi.runAllTimers()
    client.emit('connecting')
    client.end()
    client.status = 'connecting'
    vi.runAllTimers()
    expect(client.connects).toBe(0)
  })
})

it('the exported options connect again within 250 ms, however often it failed', () => {
  const strategies = [
    ioredisOptions.retryStrategy,
    ioredisClusterOptions.clusterRetryStrategy,
    nodeRedisOptions.socket.reconnectStrategy,
  ]
  for (const delayMs of strategies)
    for (let tries = 0; tries < 100; tries++) {
      expect(delayMs(tries)).toBeGreaterThanOrEqual(1)
      expect(delayMs(tries)).toBeLessThanOrEqual(250)
    }
})
