/** Instances that disagree: about the time, or about the rules. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter, RuleSet, type Slices } from '../../src/index.js'
import { redisStore } from '../../src/redis.js'
import { drain } from '../../src/slices.js'
import { connected, limiterOver, START } from './over-redis.js'
import { RedisServer } from './servers.js'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server.stop())

const subject = { user: 'ada' }

function* nothing(): Slices<void> {}

describe('an instance whose clock is wrong', () => {
  it.each([
    ['an hour ahead', 3_600_000],
    ['an hour behind', -3_600_000],
    ['weeks ahead', 40 * 86_400_000],
  ])('decides by the server’s and says how far it is off: %s', async (_, offMs) => {
    const client = await connected(server)
    const prefix = `t${Math.random()}`
    const rules = {
      a: { scope: 'user', limits: ['3/min', '4/h exact', '5 per calendar day', '6/h fixed'] },
    } as const
    const right = createLimiter({
      rules,
      store: redisStore(client, { prefix, deadlineMs: 10_000 }),
    })
    const store = redisStore(client, { prefix, deadlineMs: 10_000 })
    const wrong = createLimiter({ rules, store, clock: () => Date.now() + offMs })
    const answers = []
    for (const limiter of [right, wrong, wrong, right, wrong])
      answers.push(await limiter.check({ subject }))
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false])
    expect(answers.map(({ degraded }) => degraded)).toEqual(Array(5).fill(false))
    for (const { resetAtMs, limits } of answers) {
      expect(resetAtMs).toBeGreaterThan(Date.now())
      expect(resetAtMs).toBeLessThan(Date.now() + 61_000)
      expect(limits[2]!.resetAtMs).toBeLessThanOrEqual(Date.now() + 86_400_000)
    }
    const { aheadMs, uncertainMs } = store.health.clock!
    expect(Math.abs(aheadMs + offMs)).toBeLessThan(uncertainMs + 50)
    await Promise.all([right.close(), wrong.close()])
    client.disconnect()
  })

  it('changes a bucket’s amount at the server’s time', async () => {
    const client = await connected(server)
    const prefix = `t${Math.random()}`
    const rules = (limits: '10/min' | '5/min') => ({ rules: { a: { scope: 'user', limits } } })
    const limiter = createLimiter({
      ...rules('10/min'),
      store: redisStore(client, { prefix, deadlineMs: 10_000 }),
      clock: () => Date.now() - 3_600_000,
    })
    for (let i = 0; i < 4; i++) await limiter.check({ subject })
    limiter.setRules(rules('5/min'))
    // Four are used whatever the rate is.
    expect((await limiter.peek({ subject })).remaining).toBe(1)
    await limiter.close()
    client.disconnect()
  })
})

describe('two instances that know different rules', () => {
  it.each([
    ['10/s', '20/s'],
    ['7/s burst 3', '11/s burst 9'],
    ['1/s burst 5', '1000/s burst 5'],
  ] as const)('admit no more than the larger of the two would: %s and %s', async (one, other) => {
    const clock = { now: START }
    const prefix = `t${Math.random()}`
    const both = await Promise.all(
      [one, other].map((limits) =>
        limiterOver(server, { a: { scope: 'user', limits } }, clock, { prefix }),
      ),
    )
    const [rate, burst] = [
      Math.max(Number.parseInt(one, 10), Number.parseInt(other, 10)),
      Math.max(...[one, other].map((text) => Number(/(\d+)(\/s)?$/.exec(text)![1]))),
    ]
    const admitted: number[] = []
    for (let i = 0; i < 2000; i++) {
      clock.now += (i * 7919) % 37
      const { limiter } = both[(i * 31) % 3 === 0 ? 0 : 1]!
      if ((await limiter.check({ subject })).allowed) admitted.push(clock.now)
    }
    expect(admitted.length).toBeGreaterThan(20)
    for (let from = 0; from < admitted.length; from++)
      for (let to = from; to < Math.min(admitted.length, from + 200); to++) {
        const spanMs = admitted[to]! - admitted[from]!
        expect(to - from + 1).toBeLessThanOrEqual(burst + (rate * spanMs) / 1000 + 1e-6)
      }
    for (const over of both) await over.close()
  })
})

describe('instances that know several namespaces', () => {
  it('count each other in whatever order they came to know them', async () => {
    const client = await connected(server)
    const prefix = `t${Math.random()}`
    const options = { prefix, deadlineMs: 10_000 }
    const stores = ['default acme', 'acme default'].map((namespaces) => {
      const store = redisStore(client, options)
      for (const namespace of namespaces.split(' '))
        createLimiter({ namespace, rules: { r: { scope: 'user', limits: '9/h' } }, store })
      return store
    })
    for (const store of [...stores, ...stores]) await store.beat()
    expect(stores.map(({ health }) => health.instances)).toEqual([2, 2])
    // One namespace is gone, and another instance never knew it.
    for (const store of stores)
      drain(store.use(RuleSet.compile({ namespace: 'acme', rules: {} })) ?? nothing())
    const late = redisStore(client, options)
    createLimiter({ rules: { r: { scope: 'user', limits: '9/h' } }, store: late })
    for (const store of [...stores, late, late]) await store.beat()
    expect(late.health.instances).toBe(3)
    for (const store of [...stores, late]) await store.close()
    client.disconnect()
  })
})
