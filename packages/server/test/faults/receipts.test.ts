/** A receipt is honoured once, also where Redis answers late, and what is not known is said to be not known. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, type Limiter } from '@sluice/limiter'
import { ioredisClusterOptions, ioredisOptions, redisStore } from '@sluice/limiter/redis'
import type { DecisionRecord } from '@sluice/limiter/transport'
import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FaultProxy } from '../../../limiter/test/redis/faults/fault-proxy.js'
import {
  RedisServer,
  type Sentinels,
  type Cluster as Servers,
  startCluster,
  startSentinels,
  until,
} from '../../../limiter/test/redis/servers.js'
import { GOOD_FOR_MS, InProgress, NotDone, OutcomeUnknown } from '../../src/receipts/once.js'
import { OnceInRedis } from '../../src/receipts/once-in-redis.js'
import { Vouchers } from '../../src/receipts/vouchers.js'
import { startService } from '../service.js'

/** Given out by another process. */
const foreign = (at: number) => ({ at, number: null, count: 0 })

const HOST = '127.0.0.1'
const SECRET = Buffer.alloc(16, 7)
const DEADLINE_MS = 300
const LIMITS = ['10/h fixed', '10/h sliding', '10/h', '10/h exact'] as const

let server: RedisServer
let cluster: Servers
let sentinels: Sentinels
const cleanups: (() => Promise<void> | void)[] = []

beforeAll(async () => {
  ;[server, cluster, sentinels] = await Promise.all([
    RedisServer.start(),
    startCluster(),
    startSentinels(),
  ])
}, 120_000)
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})
afterAll(() => Promise.all([server.stop(), cluster.stop(), sentinels.stop()]))

type Client = Redis | Cluster

interface Setting {
  /** Through proxies, and straight. */
  readonly client: Client
  readonly direct: Client
  readonly proxies: readonly FaultProxy[]
}

async function ready<C extends Client>(client: C): Promise<C> {
  client.on('error', () => {})
  cleanups.push(() => client.disconnect())
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve))
  // A cluster's connections are made as they are needed, and nothing waits for them.
  for (let i = 0; i < 40; i++)
    await until('every node is connected', async () => (await client.exists(`warm${i}`)) === 0)
  return client
}

async function proxied(ports: readonly number[]) {
  const proxies = await Promise.all(ports.map((port) => FaultProxy.start(port)))
  for (const proxy of proxies) cleanups.push(() => proxy.stop())
  const natMap = Object.fromEntries(
    ports.map((port, i) => [`${HOST}:${port}`, { host: HOST, port: proxies[i]!.port }]),
  )
  return { proxies, natMap }
}

const SETTINGS: Readonly<Record<string, () => Promise<Setting>>> = {
  'one Redis': async () => {
    const { proxies } = await proxied([server.port])
    return {
      proxies,
      client: await ready(new Redis(proxies[0]!.url, ioredisOptions)),
      direct: await ready(new Redis(server.url, ioredisOptions)),
    }
  },
  'a cluster': async () => {
    const { proxies, natMap } = await proxied(cluster.nodes.map(({ port }) => port))
    const nodes = proxies.map(({ port }) => ({ host: HOST, port }))
    return {
      proxies,
      client: await ready(new Cluster(nodes, { ...ioredisClusterOptions, natMap })),
      direct: await ready(new Cluster([...cluster.nodes], ioredisClusterOptions)),
    }
  },
  Sentinel: async () => {
    const { proxies, natMap } = await proxied(sentinels.servers.map(({ port }) => port))
    const options = { ...ioredisOptions, sentinels: [...sentinels.sentinels], name: sentinels.name }
    return {
      proxies,
      client: await ready(new Redis({ ...options, natMap })),
      direct: await ready(new Redis(options)),
    }
  },
}

interface Instance {
  readonly limiter: Limiter
  readonly vouchers: Vouchers
  readonly once: OnceInRedis
}

const RULES = {
  ...Object.fromEntries(
    LIMITS.map((limits, i) => [`r${i}`, { scope: 'user', resource: `/${i}`, limits } as const]),
  ),
  jobs: { scope: 'user', resource: '/jobs', limits: '5 concurrent for 60s' } as const,
}

function instance(client: Client, prefix: string, deadlineMs = DEADLINE_MS): Instance {
  const limiter: Limiter = createLimiter({
    rules: RULES,
    store: redisStore(client, { prefix, deadlineMs }),
  })
  cleanups.push(() => limiter.close())
  const once = new OnceInRedis(client, prefix, deadlineMs)
  return { limiter, once, vouchers: new Vouchers({ secret: SECRET, once, now: Date.now }) }
}

let count = 0

/** Two instances, of which only the first one's answers are late. */
async function twoInstances(name: string) {
  const setting = await SETTINGS[name]!()
  const prefix = `receipts-${count++}`
  return {
    ...setting,
    prefix,
    slow: instance(setting.client, prefix),
    other: instance(setting.direct, prefix, 5000),
    stallAfter: (text: string) => {
      for (const proxy of setting.proxies) proxy.stallAfter(text)
    },
    recover: async ({ limiter }: Instance) => {
      for (const proxy of setting.proxies) await proxy.pass()
      await until('the store answers', async () => {
        const seen = await Promise.all(
          LIMITS.map((_, i) => limiter.peek({ subject: { user: 'x' }, resource: `/${i}` })),
        )
        return !seen.some(({ degraded }) => degraded)
      })
    },
  }
}

async function take(
  { limiter }: Instance,
  user: string,
  resource: string,
  cost: number,
): Promise<DecisionRecord> {
  const decision = await limiter.check({ subject: { user }, resource, cost })
  expect([decision.allowed, decision.degraded]).toEqual([true, false])
  return decision as unknown as DecisionRecord
}

async function left({ limiter }: Instance, user: string, resource: string): Promise<number> {
  return (await limiter.peek({ subject: { user }, resource })).remaining!
}

/** Why it was refused. */
async function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (answer) => answer,
    (error: unknown) => (error as Error).constructor,
  )
}

/** The same, asked again while nothing was done: a busy machine may miss a deadline. */
async function lasting(ask: () => Promise<unknown>): Promise<unknown> {
  let end: unknown = NotDone
  await until('the store can be asked', async () => {
    end = await refusal(ask())
    return end !== NotDone
  })
  return end
}

describe.each(Object.keys(SETTINGS))('over %s', (name) => {
  it('a receipt whose refund may have been done gives back nothing more, on any instance', async () => {
    const { slow, other, stallAfter, recover } = await twoInstances(name)
    for (const [i, limit] of LIMITS.entries()) {
      const [user, resource] = [`refund${count++}x`, `/${i}`]
      const receipt = slow.vouchers.receiptOf(await take(slow, user, resource, 2))!
      for (let n = 0; n < 3; n++) await take(slow, user, resource, 2)
      stallAfter(user)
      const refund = (at: Instance) => at.vouchers.refund(at.limiter, receipt, null)
      expect([limit, await refusal(refund(slow))]).toEqual([limit, OutcomeUnknown])
      for (let n = 0; n < 2; n++)
        expect([OutcomeUnknown, NotDone]).toContain(await refusal(refund(slow)))
      await recover(slow)
      for (const at of [slow, other, slow, other])
        expect(await lasting(() => refund(at))).toBe(OutcomeUnknown)
      // Of a bucket time may have given back a part meanwhile, and whole tokens are given back.
      expect([limit, await left(other, user, resource)]).toEqual([
        limit,
        limit === '10/h' ? expect.toSatisfy((each: number) => each === 3 || each === 4) : 4,
      ])
    }
  })

  it('a settlement that may have taken more takes nothing more', async () => {
    const { slow, other, stallAfter, recover } = await twoInstances(name)
    for (const [i, limit] of LIMITS.entries()) {
      const [user, resource] = [`settle${count++}x`, `/${i}`]
      const reservation = slow.vouchers.reservationOf(await take(slow, user, resource, 1))!
      stallAfter(user)
      const settle = (at: Instance) => at.vouchers.settle(at.limiter, reservation, { requests: 3 })
      expect([limit, await refusal(settle(slow))]).toEqual([limit, OutcomeUnknown])
      await recover(slow)
      for (const at of [slow, other]) expect(await lasting(() => settle(at))).toBe(OutcomeUnknown)
      expect([limit, await left(other, user, resource)]).toEqual([limit, 7])
    }
  })

  it('every other change says whether it was not done or is not known', async () => {
    const { slow, other, stallAfter, recover, proxies } = await twoInstances(name)
    const resource = '/0'
    const changes: Record<string, (user: string) => Promise<unknown>> = {
      grant: (user) => slow.limiter.changes.grant({ subject: { user }, resource, cost: 2 }),
      reset: (user) => slow.limiter.changes.reset({ user }, 'r0'),
    }
    for (const [change, run] of Object.entries(changes)) {
      const user = `${change}${count++}x`
      await take(slow, user, resource, 2)
      stallAfter(user)
      expect([change, await run(user)]).toEqual([change, 'unknown'])
      await recover(slow)
      await until('it has arrived', async () => (await left(other, user, resource)) === 10)
    }
    const held = { subject: { user: `hold${count++}x` }, resource: '/jobs', holdId: 'job' }
    const holds: typeof changes = {
      renew: () => slow.limiter.changes.renew(held),
      release: () => slow.limiter.changes.release(held),
    }
    expect((await slow.limiter.check(held)).degraded).toBe(false)
    for (const [change, run] of Object.entries(holds)) {
      const { user } = held.subject
      stallAfter(user)
      expect([change, await run(user)]).toEqual([change, 'unknown'])
      await recover(slow)
    }
    // With no connection nothing is sent.
    const user = `away${count++}x`
    await take(slow, user, resource, 2)
    for (const proxy of proxies) await proxy.refuse()
    for (const [change, run] of Object.entries({ ...changes, ...holds }))
      await until(`${change} is not done`, async () => (await run(user)) === 'not_done')
    expect(await left(other, user, resource)).toBe(8)
  })

  it('what an instance of the previous release has begun is under way at first, and then not known', async () => {
    const { other, direct, prefix } = await twoInstances(name)
    const key = `${prefix}:once:old`
    const again = () => lasting(() => other.once.run('old', foreign(0), async () => 'twice'))
    // It marks what it has begun by its life alone: a claim lives for five seconds.
    await direct.set(key, '?0f7c', 'PX', 5000)
    expect(await again()).toBe(InProgress)
    await direct.set(key, '?0f7c', 'PX', GOOD_FOR_MS)
    expect(await again()).toBe(InProgress)
    await direct.set(key, '?0f7c', 'PX', GOOD_FOR_MS - 30_000)
    expect(await again()).toBe(OutcomeUnknown)
  })

  it('where only the beginning was not answered, nothing was done, and the same instance does it', async () => {
    const { slow, other, stallAfter, recover } = await twoInstances(name)
    const user = `begun${count++}x`
    const receipt = slow.vouchers.receiptOf(await take(slow, user, '/0', 2))!
    stallAfter('?!')
    const refund = (at: Instance) => at.vouchers.refund(at.limiter, receipt, null)
    expect(await refusal(refund(slow))).toBe(NotDone)
    expect(await left(other, user, '/0')).toBe(8)
    await recover(slow)
    expect(await lasting(() => refund(slow))).toEqual({ requests: 2 })
    expect(await lasting(() => refund(other))).toEqual({ requests: 2 })
    expect(await left(other, user, '/0')).toBe(10)
  })

  it('where only the beginning was not answered, another instance does it', async () => {
    const { slow, other, stallAfter, recover } = await twoInstances(name)
    const user = `let-go${count++}x`
    const receipt = slow.vouchers.receiptOf(await take(slow, user, '/0', 2))!
    stallAfter('?!')
    const refund = (at: Instance) => at.vouchers.refund(at.limiter, receipt, null)
    expect(await refusal(refund(slow))).toBe(NotDone)
    await until('it is let go', async () => {
      const end = await refusal(refund(other))
      if (end !== InProgress) expect(end).toEqual({ requests: 2 })
      return end !== InProgress
    })
    await recover(slow)
    expect(await lasting(() => refund(slow))).toEqual({ requests: 2 })
    expect(await left(other, user, '/0')).toBe(10)
  })

  it('what ended is recorded also where a failover has lost that it was begun', async () => {
    const { slow, other, direct, prefix } = await twoInstances(name)
    const lose = (id: string) => direct.del(`${prefix}:once:${id}`)
    const done = slow.once.run('done', foreign(0), async () => {
      await lose('done')
      return 'first'
    })
    expect(await done).toBe('first')
    const unknown = slow.once.run('unknown', foreign(0), async () => {
      await lose('unknown')
      throw new OutcomeUnknown('it may have been done')
    })
    expect(await refusal(unknown)).toBe(OutcomeUnknown)
    const again = (id: string) => lasting(() => other.once.run(id, foreign(0), async () => 'twice'))
    expect([await again('done'), await again('unknown')]).toEqual(['first', OutcomeUnknown])
  })

  it('what is begun elsewhere is under way at first, and then not known', async () => {
    const { slow, other, direct, prefix } = await twoInstances(name)
    let finish = (_answer: string) => {}
    const work = slow.once.run('x', foreign(0), () => new Promise((resolve) => (finish = resolve)))
    const again = () => refusal(other.once.run('x', foreign(0), async () => 'twice'))
    await until(
      'it is begun',
      async () => (await direct.get(`${prefix}:once:x`))?.startsWith('?!') === true,
    )
    expect(await again()).toBe(InProgress)
    await direct.pexpire(`${prefix}:once:x`, GOOD_FOR_MS - 30_000)
    expect(await again()).toBe(OutcomeUnknown)
    // Work over a slow store may take longer than that.
    const patient = new OnceInRedis(direct, prefix, 10_000)
    expect(await refusal(patient.run('x', foreign(0), async () => 'twice'))).toBe(InProgress)
    // Also in its last seconds it is not taken for a claim.
    await direct.pexpire(`${prefix}:once:x`, 3000)
    expect(await again()).toBe(OutcomeUnknown)
    await direct.pexpire(`${prefix}:once:x`, GOOD_FOR_MS)
    finish('first')
    expect(await work).toBe('first')
    expect(await again()).toBe('first')
  })
})

describe('over a cluster', () => {
  it('an answer whose record may be kept is replayed only with what it took', async () => {
    const { client, direct, proxies } = await SETTINGS['a cluster']!()
    const prefix = `receipts-${count++}`
    const limiterOver = (each: Client) => {
      const limiter: Limiter = createLimiter({
        rules: {
          a: { scope: 'user', limits: '10/h fixed', failure_mode: 'closed' },
          b: { scope: 'org', limits: '10/h fixed', failure_mode: 'closed' },
        },
        store: redisStore(each, { prefix, deadlineMs: DEADLINE_MS }),
      })
      cleanups.push(() => limiter.close())
      return limiter
    }
    const [slow, other] = [limiterOver(client), limiterOver(direct)]
    for (let n = 0; n < 2; n++) {
      const subject = { user: `kept${count}u`, org: `kept${count++}o` }
      await until('the store answers', async () => !(await slow.peek({ subject })).degraded)
      // The record names both, and goes into one slot once both have taken.
      for (const proxy of proxies) proxy.stallAfter(`["${subject.user}","${subject.org}"]`)
      const request = { subject, cost: 2, idempotencyKey: subject.user }
      expect((await slow.check(request)).degradedReason).toBe('store_timeout')
      expect(proxies.filter(({ isStalled }) => isStalled)).toHaveLength(1)
      // The record has a deadline of its own.
      await sleep(2 * DEADLINE_MS)
      for (const proxy of proxies) await proxy.pass()
      await until('the store answers', async () => !(await slow.peek({ subject })).degraded)
      const again = await other.check(request)
      expect([again.allowed, again.replayed]).toEqual([true, true])
      const { limits } = await other.peek({ subject })
      expect(limits.map(({ remaining }) => remaining)).toEqual([8, 8])
    }
  })

  it('a refund of which a part was done is not said to be not done', async () => {
    const { client } = await SETTINGS['a cluster']!()
    const [{ admin }] = cluster.servers as [RedisServer]
    const limiter: Limiter = createLimiter({
      rules: {
        a: { scope: 'user', limits: '10/h fixed' },
        b: { scope: 'org', limits: '10/h fixed' },
      },
      store: redisStore(client, { prefix: `receipts-${count++}`, deadlineMs: DEADLINE_MS }),
    })
    cleanups.push(() => limiter.close())
    // One of the three primaries certainly does nothing: some pairs have a row there and one elsewhere.
    const pairs = Array.from({ length: 24 }, (_, i) => ({ user: `u${i}`, org: `o${i}` }))
    const taken = await Promise.all(pairs.map((subject) => limiter.check({ subject, cost: 2 })))
    expect(taken.map(({ degraded }) => degraded)).not.toContain(true)
    await admin.config('SET', 'maxmemory', 1)
    const ends = await Promise.all(taken.map(({ receipt }) => limiter.changes.refund(receipt!)))
    await admin.config('SET', 'maxmemory', 0)
    await until('the store answers', async () => {
      const seen = await Promise.all(pairs.map((subject) => limiter.peek({ subject })))
      return !seen.some(({ degraded }) => degraded)
    })
    const counts = { done: 0, not_done: 0, unknown: 0 }
    for (const [i, end] of ends.entries()) {
      const { limits } = await limiter.peek({ subject: pairs[i]! })
      const given = limits.filter(({ remaining }) => remaining === 10).length
      if (typeof end !== 'string') expect([i, given]).toEqual([i, 2])
      else if (end === 'not_done') expect([i, given]).toEqual([i, 0])
      counts[typeof end === 'string' ? end : 'done']++
    }
    for (const n of Object.values(counts)) expect([counts, n > 0]).toEqual([counts, true])
  })
})

describe('over HTTP', () => {
  const RULES_FILE = `
rules:
  few: { scope: user, resource: /few, limits: 10/h fixed }
  jobs: { scope: user, resource: /jobs, limits: 5 concurrent for 60s }
`
  it('every change whose outcome is not known is 409 outcome_unknown', async () => {
    const proxy = await FaultProxy.start(server.port)
    const service = await startService({
      rules: RULES_FILE,
      flags: { redis: proxy.url, 'redis-deadline': String(DEADLINE_MS) },
    })
    const isBack = () =>
      until('the store answers', async () => {
        const quota = { subject: { user: 'x' }, resource: '/few' }
        return (await service.post('/v1/quota', quota)).body.degraded !== true
      })
    const stalled = async (user: string, path: string, body: object) => {
      proxy.stallAfter(user)
      const { status, body: answer } = await service.post(path, body)
      expect([path, status, proxy.isStalled]).toEqual([path, 409, true])
      await proxy.pass()
      await isBack()
      expect(answer.error.retryable).toBeUndefined()
      return [path, status, answer.error?.code]
    }
    const check = async (user: string, resource: string) =>
      (await service.post('/v1/check', { subject: { user }, resource, include: ['receipt'] })).body
    const reserved = { subject: { user: 'http1x' }, resource: '/few' }
    const { receipt } = await check('http0x', '/few')
    const { reservation } = (await service.post('/v1/reserve', reserved)).body
    const { hold } = await check('http2x', '/jobs')
    const own = { subject: { user: 'http5x' }, resource: '/jobs', hold: 'job' }
    expect((await service.post('/v1/check', own)).status).toBe(200)
    const unknown = [
      await stalled('http0x', '/v1/refund', { receipt }),
      await stalled('http1x', '/v1/settle', { reservation, cost: 4 }),
      await stalled('http2x', '/v1/release', { hold }),
      await stalled('http3x', '/v1/refund', { subject: { user: 'http3x' }, resource: '/few' }),
      await stalled('http4x', '/v1/reset', { subject: { user: 'http4x' } }),
      await stalled('http5x', '/v1/renew', own),
    ]
    expect(unknown).toEqual(unknown.map(([path]) => [path, 409, 'outcome_unknown']))
    // A hold that was taken without the store: the store may have taken it too.
    proxy.stallAfter('http5x')
    const local = await check('http5x', '/jobs')
    expect(local.degraded).toBe(true)
    const released = await service.post('/v1/release', { hold: local.hold })
    expect([released.status, released.body.error?.code]).toEqual([409, 'outcome_unknown'])
    await proxy.pass()
    await service.stop()
    await proxy.stop()
  })

  it('what another instance is doing is 409 idempotency_in_progress, and then the same answer', async () => {
    const proxy = await FaultProxy.start(server.port)
    const start = (redis: string) =>
      startService({ rules: RULES_FILE, flags: { redis, 'redis-deadline': '5000' } })
    const [slow, other] = await Promise.all([start(proxy.url), start(server.url)])
    const request = { subject: { user: 'http6x' }, resource: '/few', include: ['receipt'] }
    const { receipt } = (await slow.post('/v1/check', request)).body
    proxy.stallAfter('http6x')
    const first = slow.post('/v1/refund', { receipt })
    await until('it has begun', () => proxy.isStalled)
    const meanwhile = await other.post('/v1/refund', { receipt })
    expect([meanwhile.status, meanwhile.body.error?.code]).toEqual([409, 'idempotency_in_progress'])
    await proxy.pass()
    expect((await first).body.refunded).toEqual({ requests: 1 })
    expect((await other.post('/v1/refund', { receipt })).body.refunded).toEqual({ requests: 1 })
    expect((await other.post('/v1/quota', request)).body.remaining).toBe(10)
    await Promise.all([slow.stop(), other.stop()])
    await proxy.stop()
  })
})
