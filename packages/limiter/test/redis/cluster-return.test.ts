/** An instance finds its way back to a cluster, whatever request happens to be the probe. */
import { Cluster as IoredisCluster } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { ioredisClusterOptions, redisStore } from '../../src/redis.js'
import { START } from './over-redis.js'
import { type Cluster, startCluster, until } from './servers.js'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

it('also if the probe is a request with an idempotency key over several slots', async () => {
  const clock = { now: START }
  const client = new IoredisCluster([...cluster.nodes], ioredisClusterOptions)
  await until('the client to be ready', () => client.status === 'ready')
  const store = redisStore(client, { testClock: () => clock.now })
  const limiter = createLimiter({
    rules: { a: { scope: 'user', limits: '100/s' }, b: { scope: 'org', limits: '100/s' } },
    store,
    clock: () => clock.now,
  })
  const request = { subject: { user: 'ada', org: 'acme' } }
  expect((await limiter.check(request)).degraded).toBe(false)
  client.disconnect()
  for (let i = 0; i < 5; i++) expect((await limiter.check(request)).degraded).toBe(true)
  expect(store.health.breaker).toBe('open')
  await until('the client to be gone', () => client.nodes('all').length === 0)
  client.connect().catch(() => {})
  await until('the client to be back', () => client.status === 'ready')
  for (let i = 0; i < 3 && store.health.breaker !== 'closed'; i++) {
    clock.now += 60_000
    await limiter.check({ ...request, idempotencyKey: `k${i}` })
  }
  expect(store.health.breaker).toBe('closed')
  clock.now += 2000
  expect((await limiter.check({ ...request, idempotencyKey: 'last' })).degraded).toBe(false)
  await limiter.close()
  client.disconnect()
})
