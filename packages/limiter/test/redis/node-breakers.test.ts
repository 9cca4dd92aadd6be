/**
 * A breaker for each node of a cluster. One node hangs; the breakers' clock stands still and no heartbeat is sent,
 * so its breaker stays open until the test moves the time.
 */
import { Cluster as ClusterClient } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter, type Decision, type Limiter, type RuleInput } from '../../src/index.js'
import { ioredisClusterOptions, redisStore, type SharedStore } from '../../src/redis.js'
import { slotOf } from '../../src/stores/redis/keys.js'
import { START } from './over-redis.js'
import { type Cluster, startCluster, until } from './servers.js'

/** The first of three primaries has the slots below. */
const LOST_SLOTS = Math.floor(16_384 / 3)

let cluster: Cluster
let client: ClusterClient
let store: SharedStore
let limiter: Limiter
let clock: { now: number }
let names = 0

beforeAll(async () => {
  // Nobody takes over from the node that hangs.
  const args = ['--cluster-require-full-coverage', 'no', '--cluster-replica-no-failover', 'yes']
  cluster = await startCluster({ args })
})
afterAll(() => cluster.stop())
beforeEach(async () => {
  clock = { now: START }
  client = new ClusterClient([...cluster.nodes], ioredisClusterOptions)
  client.on('error', () => {})
  await until('the client to be ready', () => client.status === 'ready')
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(async () => {
  for (const server of [cluster.servers[0]!, cluster.servers[2]!]) server.resume()
  vi.useRealTimers()
  await limiter.close()
  client.disconnect()
})

/** A value whose row is on the first node, which hangs, or on another. */
function valueOn(lost: boolean, scope: string): string {
  return valueIn(scope, (slot) => slot < LOST_SLOTS === lost)
}

function valueIn(scope: string, isThere: (slot: number) => boolean): string {
  for (;;) {
    const value = `v${names++}`
    if (isThere(slotOf(`default|${scope}|${value}`))) return value
  }
}

/** A limiter over the cluster; then the first node hangs, and its breaker has opened. */
async function hanging(
  rules: Readonly<Record<string, RuleInput>>,
  before: (limiter: Limiter) => Promise<void> = async () => {},
): Promise<void> {
  store = redisStore(client, { testClock: () => clock.now, prefix: `t${names}` })
  limiter = createLimiter({ rules: { warm: WARM, ...rules }, store, clock: () => clock.now })
  const warm = (lost: boolean) =>
    limiter.check({ subject: { warm: valueOn(lost, 'warm') }, resource: '/warm' })
  for (const lost of [true, false])
    await until('every node is asked', async () => !(await warm(lost)).degraded)
  await before(limiter)
  cluster.servers[0]!.pause()
  for (let i = 0; i < 5; i++) expect((await warm(true)).degraded).toBe(true)
  expect(store.health).toMatchObject({ breaker: 'open', nodesAway: [{ breaker: 'open' }] })
}

/** A limiter with a rule for users and one for orgs, once the nodes of both rows answer. */
async function limiterOfTwo(
  subject: { readonly user: string; readonly org: string },
  orgFails: 'local' | 'closed' = 'local',
) {
  store = redisStore(client, { testClock: () => clock.now, prefix: `t${names}` })
  limiter = createLimiter({
    rules: {
      // What it lets through without the store is counted nowhere.
      u: { scope: 'user', limits: '10/h', failure_mode: 'open' },
      o: { scope: 'org', limits: '10/h', failure_mode: orgFails },
    },
    store,
    clock: () => clock.now,
  })
  await until('both nodes are asked', async () => !(await limiter.peek({ subject })).degraded)
}

const WARM: RuleInput = { scope: 'warm', resource: '/warm', limits: '1M/h' }

describe('while one node of a cluster hangs', () => {
  it('keys of the others are answered by the store, and those of the dead one by failure mode', async () => {
    await hanging({ r: { scope: 'user', limits: '100/h' } })
    const checks = Array.from({ length: 100 }, (_, i) => {
      const lost = i % 2 === 0
      const checked = limiter.check({ subject: { user: valueOn(lost, 'user') } })
      return checked.then(({ degradedReason }) => ({ lost, degradedReason }))
    })
    for (const { lost, degradedReason } of await Promise.all(checks))
      expect(degradedReason).toBe(lost ? 'breaker_open' : null)
  })

  it('a decision with one row there is answered as a whole, and nothing is taken elsewhere', async () => {
    const healthy = valueOn(false, 'user')
    const lost = valueOn(true, 'org')
    await hanging({
      healthy: { scope: 'user', resource: '/both', limits: '10/h', failure_mode: 'open' },
      dead: { scope: 'org', resource: '/both', limits: '10/h' },
    })
    const both = await limiter.check({ subject: { user: healthy, org: lost }, resource: '/both' })
    expect(both).toMatchObject({ allowed: true, degradedReason: 'breaker_open' })
    const alone = await limiter.peek({ subject: { user: healthy }, resource: '/both' })
    expect(alone).toMatchObject({ degraded: false, remaining: 10 })
  })

  it('a closed rule goes before a local one, and a local one before an open one, wherever the rows are', async () => {
    const subject = { user: valueOn(false, 'user'), org: valueOn(true, 'org') }
    await hanging({
      closed: { scope: 'user', resource: '/closed', limits: '1M/h', failure_mode: 'closed' },
      counted: { scope: 'user', resource: '/local', limits: '2/h' },
      open: { scope: 'org', limits: '1M/h', failure_mode: 'open' },
      dead: { scope: 'org', resource: '/closed', limits: '1M/h', failure_mode: 'open' },
      away: { scope: 'org', resource: '/local', limits: '1M/h', failure_mode: 'open' },
    })
    const closed = await limiter.check({ subject, resource: '/closed' })
    expect(closed).toMatchObject({ allowed: false, rule: 'closed', degraded: true })
    const local = [1, 2, 3].map(() => limiter.check({ subject, resource: '/local' }))
    const decisions = await Promise.all(local)
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect(decisions[2]).toMatchObject({ rule: 'counted', degraded: true })
    expect(await limiter.check({ subject, resource: '/else' })).toMatchObject({ allowed: true })
  })

  it('what another row took before the breaker opened is given back', async () => {
    const user = valueOn(false, 'user')
    const org = valueOn(true, 'org')
    const subject = { user, org }
    await limiterOfTwo(subject)
    cluster.servers[0]!.pause()
    for (let i = 0; i < 3; i++) expect((await limiter.check({ subject })).degraded).toBe(true)
    expect(store.health.breaker).toBe('closed')
    await until(
      'it is given back',
      async () => (await limiter.peek({ subject: { user } })).remaining === 10,
    )
  })

  it('what another row took near the limit is given back', async () => {
    // Near the limit slots are asked one after the other, the lower ones first: the last node hangs here.
    const user = valueOn(true, 'user')
    const org = valueIn('org', (slot) => slot > 2 * LOST_SLOTS + 2)
    const subject = { user, org }
    await limiterOfTwo(subject)
    expect(await limiter.check({ subject: { user }, cost: 9 })).toMatchObject({ remaining: 1 })
    cluster.servers[2]!.pause()
    expect((await limiter.check({ subject })).degraded).toBe(true)
    await until(
      'it is given back',
      async () => (await limiter.peek({ subject: { user } })).remaining === 1,
    )
  })

  it('what a row takes too late, when its node goes on, is given back', async () => {
    const user = valueOn(false, 'user')
    const org = valueOn(true, 'org')
    const subject = { user, org }
    await limiterOfTwo(subject, 'closed')
    cluster.servers[0]!.pause()
    expect(await limiter.check({ subject })).toMatchObject({ allowed: false, degraded: true })
    cluster.servers[0]!.resume()
    const left = (one: Readonly<Record<string, string>>) => async () => {
      const { degraded, remaining } = await limiter.peek({ subject: one })
      return !degraded && remaining === 10
    }
    await until('the late take is given back', left({ org }))
    await until('the other is given back', left({ user }))
  })

  it('what a local rule on a healthy node let through is told to its row with the next request', async () => {
    const subject = { user: valueOn(false, 'user'), org: valueOn(true, 'org') }
    await hanging({
      healthy: { scope: 'user', limits: '10/h' },
      dead: { scope: 'org', limits: '10/h', failure_mode: 'open' },
    })
    for (let i = 0; i < 3; i++) expect((await limiter.check({ subject })).degraded).toBe(true)
    const alone = await limiter.check({ subject: { user: subject.user } })
    expect(alone).toMatchObject({ degraded: false, remaining: 6 })
  })

  it('changes of rows there are not done, and of others are', async () => {
    const [user, other] = [valueOn(true, 'user'), valueOn(false, 'user')]
    const resource = '/r'
    await hanging({ r: { scope: 'user', resource, limits: '10/h' } }, async () => {
      for (const value of [user, other]) await limiter.check({ subject: { user: value }, resource })
    })
    const reset = (value: string) => limiter.reset({ user: value })
    expect([await reset(user), await reset(other)]).toEqual([null, 1])
  })

  it('a refund of rows there and elsewhere is not done, and can be repeated', async () => {
    const subject = { user: valueOn(false, 'user'), org: valueOn(true, 'org') }
    let taken: Decision | undefined
    const rules = {
      u: { scope: 'user', limits: '10/d fixed' },
      o: { scope: 'org', limits: '10/d fixed' },
    } as const
    await hanging(rules, async () => {
      taken = await limiter.check({ subject })
    })
    expect(await limiter.refund(taken!)).toBeNull()
    const left = await limiter.peek({ subject: { user: subject.user } })
    expect(left).toMatchObject({ degraded: false, remaining: 9 })
    cluster.servers[0]!.resume()
    await until('its breaker has closed', async () => {
      clock.now += 1000
      await limiter.check({ subject: { warm: valueOn(true, 'warm') }, resource: '/warm' })
      return store.health.breaker === 'closed'
    })
    clock.now += 2000
    expect(await limiter.refund(taken!)).toEqual({ requests: 1 })
  })

  it('and is back, its keys are answered by the store again', async () => {
    const user = valueOn(true, 'user')
    await hanging({ r: { scope: 'user', limits: '10/h' } })
    expect((await limiter.check({ subject: { user } })).degraded).toBe(true)
    cluster.servers[0]!.resume()
    await until('its breaker has closed', async () => {
      clock.now += 1000
      await limiter.check({ subject: { user } })
      return store.health.breaker === 'closed'
    })
    expect(store.health.nodesAway).toEqual([])
    clock.now += 2000
    expect((await limiter.check({ subject: { user } })).degraded).toBe(false)
  })
})
