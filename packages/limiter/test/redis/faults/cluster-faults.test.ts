/** Three instances and a cluster whose hot slot changes hands: because its owner died, or because it is moved. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster as IoredisCluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter, type LimitText } from '../../../src/index.js'
import { ioredisClusterOptions, nodeRedisClusterOptions, redisStore } from '../../../src/redis.js'
import { slotOf } from '../../../src/stores/redis/keys.js'
import { type Cluster, type RedisServer, startCluster, until } from '../servers.js'
import { build, type Drilled, drill } from './drill.js'
import { type Expected, findings } from './findings.js'

const HOT = slotOf('default|user|hot')
const KINDS = ['ioredis-cluster', 'ioredis-cluster', 'node-redis-cluster'] as const

/** The owner of the hot slot dies, its replica takes over with what it had heard of; the dead one comes back. */
async function failOver(cluster: Cluster): Promise<Expected> {
  const owner = await cluster.ownerOf(HOT)
  await owner.kill()
  const lost = Date.now()
  await until('another to own the slot', async () => {
    const next = await cluster.ownerOf(HOT)
    if (next === owner) return false
    return (await next.admin.cluster('INFO')).includes('cluster_state:ok')
  })
  await owner.start()
  return { cuts: [lost] }
}

/** From here on the slot is on its way. */
async function open(from: RedisServer, to: RedisServer): Promise<void> {
  const [fromId, toId] = [await from.admin.cluster('MYID'), await to.admin.cluster('MYID')]
  await to.admin.call('CLUSTER', 'SETSLOT', HOT, 'IMPORTING', fromId)
  await from.admin.call('CLUSTER', 'SETSLOT', HOT, 'MIGRATING', toId)
}

/** Its keys go one by one, as `redis-cli --cluster reshard` does it, and then everybody is told. */
async function close({ servers }: Cluster, from: RedisServer, to: RedisServer): Promise<void> {
  for (;;) {
    const [key] = await from.admin.cluster('GETKEYSINSLOT', HOT, 1)
    if (key === undefined) break
    await from.admin.migrate('127.0.0.1', to.port, key, 0, 1000)
    await sleep(5)
  }
  const id = await to.admin.cluster('MYID')
  for (const { admin } of [to, from, ...servers.slice(0, 3)])
    await admin.call('CLUSTER', 'SETSLOT', HOT, 'NODE', id)
}

/** There and back. */
async function migrate(cluster: Cluster): Promise<Expected> {
  const source = await cluster.ownerOf(HOT)
  const target = cluster.servers.slice(0, 3).find((server) => server !== source)!
  for (const [from, to] of [
    [source, target],
    [target, source],
  ] as const) {
    await open(from, to)
    await sleep(500)
    await close(cluster, from, to)
    await sleep(1000)
  }
  return { unnoticed: true }
}

const drills: Readonly<Record<string, (cluster: Cluster) => Promise<Expected>>> = {
  'loses the owner of the hot slot': failOver,
  'moves the hot slot while it is asked for': migrate,
}

const results = new Map<string, { drilled: Drilled; expected: Expected }>()

async function run(name: string, fault: (cluster: Cluster) => Promise<Expected>): Promise<void> {
  const cluster = await startCluster()
  let expected: Expected = {}
  try {
    const drilled = await drill({
      clients: KINDS.map((kind) => ({ kind, nodes: cluster.nodes })),
      witnessed: cluster.nodes.slice(0, 3),
      fault: async () => {
        expected = await fault(cluster)
      },
    })
    results.set(name, { drilled, expected })
  } finally {
    await cluster.stop()
  }
}

describe.each([
  ['ioredis', coldIoredis],
  ['node-redis', coldNodeRedis],
] as const)('a client of %s', (_, connect) => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  }, 60_000)
  afterAll(() => cluster.stop())

  /** Why each answer is degraded. Not how fast they come is asked, but whether requests wait. */
  async function reasons(
    users: readonly string[],
    limits: LimitText,
    { afterMs = 0, idempotencyKey }: { afterMs?: number; idempotencyKey?: string } = {},
  ) {
    const { client, end } = await connect(cluster)
    await using limiter = createLimiter({
      rules: { r: { scope: 'user', limits, failure_mode: 'closed' } },
      store: redisStore(client, { deadlineMs: 2000 }),
    })
    await sleep(afterMs)
    const key = idempotencyKey === undefined ? {} : { idempotencyKey }
    const answers = users.map(async (user) => limiter.check({ subject: { user }, ...key }))
    const decisions = await Promise.all(answers)
    end()
    return new Set(decisions.map(({ degradedReason }) => degradedReason))
  }

  it('that has just connected is answered from the first request on', async () => {
    const users = Array.from({ length: 50 }, (_, i) => `first${i}`)
    expect(await reasons(users, '1000/s')).toEqual(new Set([null]))
  })

  it.each([
    ['', {}],
    [' under an idempotency key', { idempotencyKey: 'k' }],
  ])('asks for somebody new%s while his slot is on the move', async (_, keyed) => {
    const from = await cluster.ownerOf(HOT)
    const to = cluster.servers.slice(0, 3).find((server) => server !== from)!
    await open(from, to)
    const isOver = sleep(1500).then(() => close(cluster, from, to))
    const asked = LIMITS.map(async (limits) => {
      // A client is connected to every primary a moment after its store was made.
      const answered = reasons(inHotSlot(5), limits, { afterMs: 300, ...keyed })
      // Much longer than a deadline, and before the move is over.
      const first = await Promise.race([answered, sleep(1200, 'still waiting' as const)])
      await answered
      return [limits, first]
    })
    const found = Object.fromEntries(await Promise.all(asked))
    await isOver
    expect(found).toEqual(Object.fromEntries(LIMITS.map((limits) => [limits, new Set([null])])))
  })
})

const LIMITS = [
  '10/s',
  '10 per 60s fixed',
  '10/s exact',
  '10 per 60s sliding',
  '3 concurrent for 60s',
] as const
let userCount = 0

/** Users whose rows are in the hot slot, and who have none yet. */
function inHotSlot(n: number): string[] {
  const found: string[] = []
  for (; found.length < n; userCount++)
    if (slotOf(`default|user|user${userCount}`) === HOT) found.push(`user${userCount}`)
  return found
}

async function coldIoredis({ nodes }: Cluster) {
  const client = new IoredisCluster([...nodes], ioredisClusterOptions)
  client.on('error', () => {})
  await new Promise((resolve) => client.once('ready', resolve))
  return { client, end: () => client.disconnect() }
}

async function coldNodeRedis({ nodes }: Cluster) {
  const rootNodes = nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }))
  const client = createCluster({ rootNodes, ...nodeRedisClusterOptions })
  client.on('error', () => {})
  await client.connect()
  return { client, end: () => client.destroy() }
}

describe('a cluster that', () => {
  beforeAll(async () => {
    build()
    await Promise.all(Object.entries(drills).map(([name, fault]) => run(name, fault)))
  }, 180_000)

  it.each(Object.keys(drills))('%s', (name) => {
    const { drilled, expected } = results.get(name)!
    expect(findings(drilled, expected)).toEqual({})
  })
})
