/**
 * Redis goes away and comes back under several instances. Meanwhile each decides with its fair part of the
 * limit; afterwards what was used is told to Redis before it decides again, and nobody storms it.
 */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limiterOver, type Over, type Rules, START } from './over-redis.js'
import { RedisServer } from './servers.js'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server.stop())

const RATE = 100
const BURST = 100

/** How far beyond a bucket everything that was admitted has gone. */
class Meter {
  worst = 0
  admitted = 0
  #debt = 0
  #at = START

  admit(now: number): void {
    this.#debt = Math.max(0, this.#debt - ((now - this.#at) / 1000) * RATE) + 1
    this.#at = now
    this.worst = Math.max(this.worst, this.#debt)
    this.admitted++
  }
}

/** Instances that have counted each other. */
async function instances(count: number, rules: Rules, clock: { now: number }): Promise<Over[]> {
  const prefix = `t${Math.random()}`
  const all = await Promise.all(
    Array.from({ length: count }, () => limiterOver(server, rules, clock, { prefix })),
  )
  for (const { store } of [...all, ...all])
    await (store as unknown as { beat(): Promise<void> }).beat()
  return all
}

function disconnect(all: readonly Over[]): void {
  for (const { client } of all) client.disconnect()
}

async function connect(all: readonly Over[]): Promise<void> {
  for (const { client } of all) {
    const ready = once(client, 'ready')
    await client.connect()
    await ready.catch(() => {})
  }
}

/** Draws an instance: the first twice as often as the second, three times as often as the third … */
function skewed(count: number, draw: number): number {
  const weights = Array.from({ length: count }, (_, i) => 1 / (i + 1))
  let left = draw * weights.reduce((sum, weight) => sum + weight, 0)
  return weights.findIndex((weight) => (left -= weight) <= 0)
}

/** The same numbers in every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe('several instances', () => {
  it('admit together what one limit would, away from Redis and on their way back', async () => {
    const clock = { now: START }
    const all = await instances(4, { a: { scope: 'user', limits: `${RATE}/s` } }, clock)
    const random = numbers(7)
    const meter = new Meter()
    const spend = async (ms: number, load: number) => {
      const before = meter.admitted
      const end = clock.now + ms
      while (clock.now < end) {
        clock.now += 1000 / (RATE * load)
        const { limiter } = all[skewed(4, random())]!
        const decision = await limiter.check({ subject: { user: 'ada' } })
        if (decision.allowed) meter.admit(clock.now)
      }
      return meter.admitted - before
    }
    await spend(2000, 0.8)
    expect(meter.worst).toBeLessThanOrEqual(BURST + 1)

    disconnect(all)
    // What is left of the burst, and the rate: as with Redis, less what the parts are rounded down.
    const away = await spend(5000, 2)
    expect(away).toBeLessThanOrEqual(BURST + 5 * RATE)
    expect(away).toBeGreaterThan(0.85 * (BURST + 5 * RATE))
    expect(meter.worst).toBeLessThanOrEqual(1.05 * BURST)
    expect(all.map(({ store }) => store.health.breaker)).toEqual(Array(4).fill('open'))

    await spend(4000, 1.5)
    await connect(all)
    meter.worst = 0
    const back = await spend(4000, 2)
    expect(all.map(({ store }) => store.health.breaker)).toEqual(Array(4).fill('closed'))
    expect(meter.worst).toBeLessThanOrEqual(1.33 * BURST)
    expect(back).toBeGreaterThan(0.9 * 4 * RATE)
    for (const over of all) await over.close()
  })

  it('share evenly what nobody has seen, also where there is less than one for each', async () => {
    const clock = { now: START }
    const rules: Rules = { a: { scope: 'user', limits: '3/min fixed' } }
    const all = await instances(5, rules, clock)
    disconnect(all)
    let admitted = 0
    const keys = 300
    for (let key = 0; key < keys; key++)
      for (const { limiter } of all)
        for (let i = 0; i < 3; i++)
          if ((await limiter.check({ subject: { user: `u${key}` } })).allowed) admitted++
    expect(admitted / keys).toBeGreaterThan(2.6)
    expect(admitted / keys).toBeLessThan(3.4)
    for (const over of all) await over.close()
  })
})

describe('an instance that comes back', () => {
  it('tells Redis what it has used before it asks, whatever the algorithm', async () => {
    const clock = { now: START }
    const rules: Rules = {
      a: {
        scope: 'user',
        limits: ['10/min', '12/min fixed', '14/min exact', '16/min sliding', '20 per 7s'],
      },
    }
    const [over] = await instances(1, rules, clock)
    const { limiter, store } = over!
    const subject = { user: 'ada' }
    await limiter.check({ subject })
    disconnect([over!])
    for (let i = 0; i < 6; i++) expect((await limiter.check({ subject })).degraded).toBe(true)
    await connect([over!])
    clock.now += 10_000
    // Two probes, and by then everything that was used here is known there.
    await limiter.check({ subject })
    const second = await limiter.check({ subject })
    expect(second.degraded).toBe(false)
    expect(store.health.breaker).toBe('closed')
    // 7 before, 2 probes; ten seconds refill the buckets.
    expect(second.limits.map(({ remaining }) => remaining)).toEqual([2, 3, 5, 7, 18])
    await over!.close()
  })

  it('comes back row by row, and is let in by and by', async () => {
    const clock = { now: START }
    const [over] = await instances(1, { a: { scope: 'user', limits: '10/min' } }, clock)
    const { limiter } = over!
    disconnect([over!])
    for (let i = 0; i < 6; i++) await limiter.check({ subject: { user: 'x' } })
    await connect([over!])
    clock.now += 10_000
    await limiter.check({ subject: { user: 'p' } })
    await limiter.check({ subject: { user: 'p' } })
    const returned = async () => {
      const users = Array.from({ length: 500 }, (_, i) => `u${i}`)
      const answers = await Promise.all(
        users.map((user) => limiter.check({ subject: { user }, dryRun: true })),
      )
      const held = answers.filter(({ degradedReason }) => degradedReason === 'store_returning')
      return users.length - held.length
    }
    expect(await returned()).toBeLessThan(25)
    clock.now += 50
    const half = await returned()
    expect(half).toBeGreaterThan(150)
    expect(half).toBeLessThan(350)
    clock.now += 60
    expect(await returned()).toBe(500)
    await over!.close()
  })
})
