/** Rules in shards over a real Redis and a real cluster: exact under concurrency, given back by any instance. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../../src/decision-record.js'
import { createLimiter, type Limiter, RuleSet } from '../../src/index.js'
import { type RedisClient, redisStore } from '../../src/redis.js'
import type { RulesDocument } from '../../src/rules/document.js'
import { Deadlines, deadlineFrom } from '../../src/stores/deadlines.js'
import { slotOf } from '../../src/stores/redis/keys.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import { newTransaction } from '../../src/stores/transaction.js'
import { printReceipt, readReceipt } from '../../src/transport.js'
import { bareStore } from './bare-store.js'
import { connected, connectedToCluster, START } from './over-redis.js'
import { RedisServer, startCluster, until } from './servers.js'

const HOT = { scope: 'user', limits: '200/h', shards: 8 } as const
const ADA = { subject: { user: 'ada' } }
const PATIENT = { deadlineMs: 20_000 }

interface Side {
  readonly client: RedisClient
  /** All keys that start so. */
  keysOf(prefix: string): Promise<string[]>
  stop(): Promise<void>
}

async function alone(): Promise<Side> {
  const server = await RedisServer.start()
  const client = await connected(server)
  return {
    client,
    keysOf: (prefix) => server.admin.keys(`${prefix}:*`),
    async stop() {
      client.disconnect()
      await server.stop()
    },
  }
}

async function clustered(): Promise<Side> {
  const cluster = await startCluster()
  const client = await connectedToCluster(cluster)
  const { servers } = cluster
  return {
    client,
    keysOf: async (prefix) =>
      (await Promise.all(servers.slice(0, 3).map(({ admin }) => admin.keys(`${prefix}:*`)))).flat(),
    async stop() {
      client.disconnect()
      await cluster.stop()
    },
  }
}

describe.each([
  ['one Redis', alone],
  ['a cluster', clustered],
])('a rule in shards over %s', (_, start) => {
  let side: Side
  const open: Limiter[] = []
  beforeAll(async () => {
    side = await start()
  }, 60_000)
  afterAll(async () => {
    await Promise.all(open.map((limiter) => limiter.close()))
    await side.stop()
  })

  /** So many instances under one prefix, with a clock that the test moves. */
  function instances(count: number, rules: RulesDocument['rules']) {
    const clock = { now: START }
    const prefix = `t${Math.random()}`
    const limiters = Array.from({ length: count }, () => {
      const store = redisStore(side.client, { ...PATIENT, prefix, testClock: () => clock.now })
      return createLimiter({ rules: rules!, store, clock: () => clock.now })
    })
    open.push(...limiters)
    return { clock, prefix, limiters, one: limiters[0]!, two: limiters.at(-1)! }
  }

  const left = async (limiter: Limiter) => (await limiter.peek(ADA)).remaining

  it('admits exactly the limit, however many ask at once', async () => {
    const { limiters, one } = instances(4, { hot: HOT })
    const asked = Array.from({ length: 800 }, (_, i) => limiters[i % 4]!.check(ADA))
    const answers = await Promise.all(asked)
    let admitted = answers.filter(({ allowed }) => allowed).length
    expect(admitted).toBeLessThanOrEqual(200)
    expect(admitted).toBeGreaterThan(190)
    expect(await left(one)).toBe(200 - admitted)
    for (let i = 0; i < 100; i++) if ((await limiters[i % 4]!.check(ADA)).allowed) admitted++
    expect(admitted).toBe(200)
    expect(answers.some(({ degraded }) => degraded)).toBe(false)
  })

  it('names a time that is yet to come, whatever others were told meanwhile', async () => {
    const { limiters } = instances(4, {
      hot: { scope: 'user', limits: '4000/s burst 400', shards: 4 },
    })
    const waits: (number | null)[] = []
    for (let round = 0; round < 30; round++) {
      const asked = Array.from({ length: 80 }, (_, i) =>
        limiters[i % 4]!.check({ ...ADA, cost: 1 + (i % 9) }),
      )
      for (const decision of await Promise.all(asked))
        if (!decision.allowed) waits.push(decision.retryAfterMs)
    }
    expect(waits.length).toBeGreaterThan(100)
    expect(waits.filter((wait) => wait === null || wait <= 0)).toEqual([])
  })

  it('has a row for each shard, and none for the whole', async () => {
    const { one, prefix } = instances(1, { hot: HOT })
    for (let i = 0; i < 100; i++) await one.check({ subject: { user: 'a|0' } })
    const keys = (await side.keysOf(prefix)).filter((key) => !key.endsWith('instances'))
    const shards = Array.from({ length: 8 }, (_, i) => `${prefix}:{default|user|a%007c0|${i}}:hot`)
    expect(keys.toSorted()).toEqual(shards)
  })

  it('gives back by receipt on another instance', async () => {
    const { one, two } = instances(2, { hot: HOT })
    const texts: string[] = []
    for (let i = 0; i < 200; i++)
      texts.push(printReceipt((await one.check(ADA)) as unknown as DecisionRecord)!)
    expect(await left(one)).toBe(0)
    const given = await Promise.all(texts.map((text) => two.refund(readReceipt(text, two.rules))))
    expect(given).toEqual(texts.map(() => ({ requests: 1 })))
    expect(await left(one)).toBe(200)
    expect(await two.refund(readReceipt(texts[7]!, two.rules))).toEqual({ requests: 0 })
  })

  it('refuses a cost above the smallest shard for ever, and takes nothing', async () => {
    const { one, two } = instances(2, { hot: HOT, day: { scope: 'org', limits: '300/h' } })
    const both = { subject: { user: 'ada', org: 'acme' } }
    for (const limiter of [one, two]) {
      const denied = await limiter.check({ ...both, cost: 26 })
      expect(denied).toMatchObject({ allowed: false, reason: 'too_expensive', retryAfterMs: null })
      expect(denied).toMatchObject({ rule: 'hot', limit: 200, remaining: 200 })
    }
    expect((await one.check({ ...both, cost: 25 })).allowed).toBe(true)
    expect((await one.peek(both)).limits.map(({ remaining }) => remaining)).toEqual([175, 275])
  })

  it('answers an idempotency key again, on this instance and on another', async () => {
    const { one, two } = instances(2, { hot: HOT })
    for (const cost of [1, 20]) {
      const request = { ...ADA, cost, idempotencyKey: `k${cost}` }
      const first = await one.check(request)
      expect(first).toMatchObject({ allowed: true, replayed: false })
      const { remaining } = first
      for (let i = 0; i < 5; i++)
        expect(await one.check(request)).toMatchObject({ replayed: true, remaining, limit: 200 })
      const other = await two.check(request)
      expect(other).toMatchObject({ allowed: true, replayed: true, limit: 200, rule: 'hot' })
      expect(await two.refund(other)).toEqual({})
    }
    expect(await left(two)).toBe(179)
  })

  it('is reset as one row, granted and charged over its shards', async () => {
    const { one, two } = instances(2, { hot: HOT })
    for (let i = 0; i < 120; i++) await one.check(ADA)
    expect(await two.refund({ ...ADA, cost: 50 })).toEqual({ requests: 50 })
    expect(await left(one)).toBe(130)
    const reservation = await two.reserve({ ...ADA, cost: 2 })
    expect(await reservation.settle(100)).toMatchObject({ taken: { requests: 98 } })
    expect(await left(one)).toBe(30)
    expect(await two.reset(ADA.subject)).toBe(1)
    expect(await left(one)).toBe(200)
    expect(await two.reset(ADA.subject)).toBe(0)
  })

  it('starts anew when it is split: at most one more burst passes at the change', async () => {
    const whole = { ...HOT, shards: 1 }
    const { one } = instances(1, { hot: whole })
    for (let i = 0; i < 150; i++) await one.check(ADA)
    one.setRules({ rules: { hot: HOT } })
    expect(await left(one)).toBe(200)
    for (let i = 0; i < 20; i++) await one.check(ADA)
    // The other way round the whole row is as it was left.
    one.setRules({ rules: { hot: whole } })
    expect(await left(one)).toBe(50)
  })

  it('keeps what was used when its numbers change, converted when they changed', async () => {
    const { one, clock } = instances(1, { hot: HOT })
    for (let i = 0; i < 200; i++) await one.check(ADA)
    one.setRules({ rules: { hot: { ...HOT, limits: '400/h' } } })
    expect(await left(one)).toBe(200)
    one.setRules({ rules: { hot: HOT } })
    clock.now += 900_000
    one.setRules({ rules: { hot: { ...HOT, limits: '16/h burst 200' } } })
    clock.now += 1_800_000
    // A quarter of an hour at the old rate, and half of one at the new.
    expect(await left(one)).toBeGreaterThanOrEqual(50)
    expect(await left(one)).toBeLessThanOrEqual(58)
  })
})

describe('a rule in shards without Redis', () => {
  /** A limiter whose Redis is gone. */
  async function away(failure_mode: 'open' | 'closed' | 'local'): Promise<Limiter> {
    const server = await RedisServer.start()
    const client = await connected(server)
    const store = redisStore(client, { testClock: () => START })
    const hot = { ...HOT, failure_mode }
    const limiter = createLimiter({ rules: { hot }, store, clock: () => START })
    await limiter.check(ADA)
    client.disconnect()
    await server.stop()
    return limiter
  }

  it.each([1, 60])('does what its failure mode says of a cost of %d', async (cost) => {
    const ask = async (mode: 'open' | 'closed') => (await away(mode)).check({ ...ADA, cost })
    expect(await ask('open')).toMatchObject({ allowed: true, degraded: true, remaining: null })
    expect(await ask('closed')).toMatchObject({ allowed: false, reason: 'store_down' })
  })

  it('decides in memory no more than its limits, and gives back there', async () => {
    const limiter = await away('local')
    const decisions = await Promise.all(Array.from({ length: 400 }, () => limiter.check(ADA)))
    const admitted = decisions.filter(({ allowed }) => allowed)
    expect(admitted.length).toBeGreaterThan(150)
    expect(admitted.length).toBeLessThanOrEqual(200)
    expect(decisions.every(({ degraded }) => degraded)).toBe(true)
    // Redis cannot be asked, so nothing is reset, also not here.
    expect(await limiter.changes.reset(ADA.subject)).toBe('not_done')
    expect((await limiter.check(ADA)).allowed).toBe(false)
    expect(await limiter.refund(admitted[0]!)).toEqual({ requests: 1 })
    expect(await limiter.refund(admitted[0]!)).toEqual({})
  })
})

describe('the shards of one row in a cluster', () => {
  it('are on different nodes', async () => {
    const nodes = new Set<number>()
    for (let i = 0; i < 8; i++)
      nodes.add(Math.floor((slotOf(`default|user|ada|${i}`) * 3) / 16_384))
    expect(nodes).toEqual(new Set([0, 1, 2]))
  })
})

it('what a second shard takes too late is given back', async () => {
  const server = await RedisServer.start()
  const client = await connected(server, { socketTimeout: 30_000 })
  const now = START * 1000
  const timers = new Deadlines(100)
  const redis = bareStore(client, 'late', () => now, timers)
  let isPaused = false
  const decide = redis.decide.bind(redis)
  redis.decide = async (transaction) => {
    const answer = await decide(transaction)
    // Before the other shard is asked.
    if (!answer.allowed && !isPaused) server.pause()
    isPaused ||= !answer.allowed
    return answer
  }
  // Always shard 0 first.
  const store = new ShardedStore(redis, { timers, random: () => 0 })
  const rules = RuleSet.compile({
    rules: { hot: { scope: 'user', limits: '8/h fixed', shards: 2 } },
  })
  const ask = () => {
    const rest = { deadline: deadlineFrom(timers) }
    return store.decide(newTransaction([rules.all[0]!], ['ada'], 1, now, rest))
  }
  for (let i = 0; i < 4; i++) expect((await ask()).allowed).toBe(true)
  expect((await ask()).allowed).toBe(false)
  expect(isPaused).toBe(true)
  server.resume()
  const taken = async () => {
    const row = await server.admin.getBuffer('late:{default|user|ada|1}:hot')
    // Behind the names and the mark: four numbers of the row, then the window's start and its count.
    return row === null ? -1 : row.readDoubleLE(row.indexOf(';') + 2 + 5 * 8)
  }
  await until('the other shard has taken and given back', async () => (await taken()) === 0)
  client.disconnect()
  await server.stop()
})
