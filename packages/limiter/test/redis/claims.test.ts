/** Requests with an idempotency key whose rows are in several slots: the key is claimed, taken for, and confirmed. */
import { Cluster as ClusterClient } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createLimiter, type Limiter, type RulesDocument } from '../../src/index.js'
import { ioredisClusterOptions, redisStore } from '../../src/redis.js'
import { Keys, slotOf } from '../../src/stores/redis/keys.js'
import { type Cluster, type RedisServer, startCluster, until } from './servers.js'

const DEADLINE_MS = 5000
const RULES: RulesDocument['rules'] = {
  u: { scope: 'user', limits: '1000/d' },
  o: { scope: 'org', limits: '1000/d' },
}

let cluster: Cluster
const cleanups: (() => Promise<unknown> | void)[] = []
beforeAll(async () => {
  // Nobody takes over from a node that is paused.
  cluster = await startCluster({ args: ['--cluster-replica-no-failover', 'yes'] })
})
afterAll(() => cluster.stop())
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

async function instance(): Promise<Limiter> {
  const client = new ClusterClient([...cluster.nodes], ioredisClusterOptions)
  client.on('error', () => {})
  await until('the client to be ready', () => client.status === 'ready')
  const limiter: Limiter = createLimiter({
    rules: RULES!,
    store: redisStore(client, { deadlineMs: DEADLINE_MS }),
  })
  cleanups.push(() => client.disconnect())
  cleanups.push(() => limiter.close())
  return limiter
}

/** A value whose row is on this server. */
async function valueOn(server: RedisServer, scope: string): Promise<string> {
  for (let i = 0; ; i++) {
    const value = `v${i}`
    if ((await cluster.ownerOf(slotOf(`default|${scope}|${value}`))) === server) return value
  }
}

it('of several instances that send the same key at once one is charged, and none twice', async () => {
  const limiters = await Promise.all([instance(), instance(), instance()])
  const subject = { user: 'many', org: 'acme' }
  const keys = 40
  for (let i = 0; i < keys; i++) {
    const checks = limiters.map((limiter) => limiter.check({ subject, idempotencyKey: `k${i}` }))
    const settled = await Promise.allSettled(checks)
    const charged = settled.filter(
      (result) => result.status === 'fulfilled' && !result.value.replayed,
    )
    expect(charged).toHaveLength(1)
    for (const result of settled)
      if (result.status === 'rejected')
        expect(result.reason).toMatchObject({ code: 'idempotency_in_progress' })
  }
  expect(await limiters[0].peek({ subject })).toMatchObject({ used: keys })
})

it('whoever finds another record when it confirms answers by that, and gives back what it took', async () => {
  const [home, away] = cluster.servers as [RedisServer, RedisServer]
  const [first, second] = await Promise.all([instance(), instance()])
  // The key belongs to the first scope by name.
  const subject = { user: await valueOn(away, 'user'), org: await valueOn(home, 'org') }
  const request = { subject, idempotencyKey: 'same' }
  const keys = new Keys('sluice')
  const key = keys.record(keys.tag('default', 'org', subject.org), 'same')
  const recorded = await first.check(request)
  const record = await home.admin.getBuffer(key)
  expect(record).not.toBeNull()
  await home.admin.del(key)
  away.pause()
  cleanups.push(() => away.resume())
  const late = second.check(request)
  await until('it is claimed', async () => (await home.admin.exists(key)) === 1)
  await home.admin.set(key, record!, 'PX', 300_000)
  away.resume()
  expect(await late).toMatchObject({ replayed: true, resetAtMs: recorded.resetAtMs })
  await until('it is given back', async () => (await first.peek({ subject })).used === 1)
})

it('whoever is denied gives up no claim but its own', async () => {
  const [home, away] = cluster.servers as [RedisServer, RedisServer]
  const limiter = await instance()
  const subject = { user: await valueOn(away, 'user'), org: await valueOn(home, 'org') }
  const keys = new Keys('sluice')
  const key = keys.record(keys.tag('default', 'org', subject.org), 'contested')
  await until('both nodes are asked', async () => !(await limiter.peek({ subject })).degraded)
  away.pause()
  cleanups.push(() => away.resume())
  const late = limiter.check({ subject, cost: 2000, idempotencyKey: 'contested' })
  await until('it is claimed', async () => (await home.admin.exists(key)) === 1)
  const claim = (await home.admin.getBuffer(key))!
  const another = Buffer.concat([claim.subarray(0, -1), Buffer.from('~')])
  await home.admin.set(key, another, 'PX', 60_000)
  away.resume()
  expect((await late).allowed).toBe(false)
  // By the same connection, so after the claim was given up.
  await limiter.peek({ subject: { org: subject.org } })
  expect(await home.admin.getBuffer(key)).toEqual(another)
})
