/** Leases over a real Redis and a real cluster: instances that decide from memory are exact together. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter, type Limiter, type LimitsInput } from '../../src/index.js'
import { type RedisClient, redisStore, type SharedStore } from '../../src/redis.js'
import { connected, connectedToCluster } from './over-redis.js'
import { RedisServer, startCluster, until } from './servers.js'

const ADA = { subject: { user: 'ada' } }
/** Of a busy machine: what is looked at is not how fast it is. */
const PATIENT = { deadlineMs: 20_000, leases: true }

interface Instance {
  readonly limiter: Limiter
  readonly store: SharedStore
}

let prefixes = 0

function instancesOver(client: RedisClient, limits: LimitsInput, shards: number): Instance[] {
  const prefix = `leases-${prefixes++}`
  return Array.from({ length: 4 }, () => {
    const store = redisStore(client, { ...PATIENT, prefix })
    const rules = { hot: { scope: 'user', limits, shards } }
    return { store, limiter: createLimiter({ rules, store }) }
  })
}

/** Everybody asks a little, again and again; how many were let through. */
async function askAll(instances: readonly Instance[], rounds: number): Promise<number> {
  let admitted = 0
  for (let round = 0; round < rounds; round++) {
    const asks = instances.flatMap(({ limiter }) =>
      Array.from({ length: 10 }, () => limiter.check(ADA)),
    )
    for (const { allowed, degraded } of await Promise.all(asks)) {
      expect(degraded).toBe(false)
      if (allowed) admitted++
    }
    await sleep(2)
  }
  return admitted
}

const tokensOf = (instances: readonly Instance[]) =>
  instances.reduce((sum, { store }) => sum + store.health.leases.tokens.granted, 0)

function testOver(reach: () => Promise<{ client: RedisClient; stop(): Promise<void> }>): void {
  let reached: Awaited<ReturnType<typeof reach>>
  beforeAll(async () => {
    reached = await reach()
  })
  afterAll(() => reached.stop())

  // Nothing comes back within the test but what is given back; a log's cells are 18 seconds.
  it.each([
    ['2000/h', 1],
    ['2000/h fixed', 1],
    ['2000/h sliding', 1],
    ['2000/h exact', 1],
    [['2000/h', '2500/h fixed', '3000/h exact'], 1],
    ['2000/h', 4],
    ['2000/h fixed', 4],
  ] as readonly [LimitsInput, number][])(
    'admit %s in %i shards, and not one more',
    async (limits, shards) => {
      const instances = instancesOver(reached.client, limits, shards)
      let admitted = await askAll(instances, 45)
      expect(tokensOf(instances)).toBeGreaterThan(500)
      expect(admitted).toBeLessThanOrEqual(2000)
      // Those who hold what others lack give it back; then the last of it is found.
      for (let i = 0; i < 20 && admitted < 2000; i++) {
        await sleep(60)
        admitted += await askAll(instances, 5)
        expect(admitted).toBeLessThanOrEqual(2000)
      }
      expect(admitted).toBeGreaterThanOrEqual(1980)
      for (const { limiter } of instances) await limiter.close()
    },
  )

  it('give back what they hold when they are closed', async () => {
    const [first, second] = instancesOver(reached.client, '1000/h', 1) as [Instance, Instance]
    const used = await askAll([first], 20)
    expect(first.store.health.leases.tokens.granted).toBeGreaterThan(0)
    await first.limiter.close()
    const { granted, spent, returned, lost } = first.store.health.leases.tokens
    expect({ granted, lost }).toEqual({ granted: spent + returned, lost: 0 })
    await until('everything to be back', async () => {
      const { limits } = await second.limiter.peek(ADA)
      return limits[0]!.remaining === 1000 - used
    })
    await second.limiter.close()
  })
}

describe('leases over one server', () =>
  testOver(async () => {
    const server = await RedisServer.start()
    const client = await connected(server)
    return {
      client,
      async stop() {
        client.disconnect()
        await server.stop()
      },
    }
  }))

it('a denial of a row in a cluster is remembered for two deadlines, because slots may give back', async () => {
  const cluster = await startCluster()
  const client = await connectedToCluster(cluster)
  const deadlineMs = 150
  const store = redisStore(client, { deadlineMs, leases: true })
  const limiter = createLimiter({ rules: { hot: { scope: 'user', limits: '20/h' } }, store })
  // The age of each denial from memory, by a clock that is read before the question and after the store's answer.
  const ages: number[] = []
  const end = performance.now() + 2000
  for (let toldAt = end; performance.now() < end; await sleep(1))
    for (let i = 0; i < 5; i++) {
      const [at, { asked }] = [performance.now(), store.health.leases]
      const { allowed } = await limiter.check(ADA)
      if (store.health.leases.asked > asked) toldAt = performance.now()
      else if (!allowed) ages.push(at - toldAt)
    }
  expect(ages.length).toBeGreaterThan(0)
  expect(Math.max(...ages)).toBeLessThan(2 * deadlineMs)
  await limiter.close()
  client.disconnect()
  await cluster.stop()
})

describe('leases over a cluster', () =>
  testOver(async () => {
    const cluster = await startCluster()
    const client = await connectedToCluster(cluster)
    return {
      client,
      async stop() {
        client.disconnect()
        await cluster.stop()
      },
    }
  }))
