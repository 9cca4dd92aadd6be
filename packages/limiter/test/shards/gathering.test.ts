/** A cost above what a shard holds is gathered from several, all or nothing, and given back to all of them. */
import { describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../../src/decision-record.js'
import type { LeasePort } from '../../src/stores/leased/lease-port.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import type { Store } from '../../src/stores/store.js'
import { printReceipt, readReceipt } from '../../src/transport.js'
import { seeded, type World, worldOf } from './over-memory.js'

const HOT = { scope: 'user', limits: '80/h', shards: 8 } as const
const ADA = { subject: { user: 'ada' } }

const only = ({ limiters }: World) => limiters[0]!
const left = async (world: World) => (await only(world).peek(ADA)).remaining

describe('a cost above what a shard holds', () => {
  it('is taken from as many shards as it needs, up to the whole limit', async () => {
    const world = worldOf({ hot: HOT })
    const whole = await only(world).check({ ...ADA, cost: 80 })
    expect(whole).toMatchObject({ allowed: true, remaining: 0, limit: 80 })
    expect(await left(world)).toBe(0)
  })

  it('is denied where all shards together have less, and then takes nothing', async () => {
    const world = worldOf({ hot: HOT })
    await only(world).check({ ...ADA, cost: 45 })
    const denied = await only(world).check({ ...ADA, cost: 36 })
    expect(denied).toMatchObject({ allowed: false, reason: 'limited', remaining: 35 })
    expect(await left(world)).toBe(35)
    world.now += (denied as { retryAfterMs: number }).retryAfterMs
    expect((await only(world).check({ ...ADA, cost: 36 })).allowed).toBe(true)
  })

  it('never passes above the limit, and says so', async () => {
    const world = worldOf({ hot: HOT })
    const denied = await only(world).check({ ...ADA, cost: 81 })
    expect(denied).toMatchObject({ allowed: false, reason: 'too_expensive', retryAfterMs: null })
    expect(await left(world)).toBe(80)
  })

  it('is looked at without being taken in a dry run', async () => {
    const world = worldOf({ hot: HOT })
    expect(await only(world).peek({ ...ADA, cost: 80 })).toMatchObject({ allowed: true })
    expect(await left(world)).toBe(80)
  })

  it('is given back to every shard, in parts if need be, once', async () => {
    const world = worldOf({ hot: HOT })
    const decision = await only(world).check({ ...ADA, cost: 70 })
    expect(await only(world).refund(decision, 30)).toEqual({ requests: 30 })
    expect(await left(world)).toBe(40)
    const text = printReceipt(decision as unknown as DecisionRecord)!
    expect(await only(world).refund(decision)).toEqual({ requests: 40 })
    expect(await left(world)).toBe(80)
    const again = readReceipt(text, only(world).rules)
    expect(await only(world).refund(again)).toEqual({ requests: 0 })
    expect((await only(world).check({ ...ADA, cost: 80 })).allowed).toBe(true)
  })

  it('is given back when it is asked for again, where the store could not be asked at first', async () => {
    let isAway = false
    const over = (inner: Store & LeasePort) =>
      new ShardedStore(
        { ...inner, refund: (...asked) => (isAway ? 'not_done' : inner.refund(...asked)) },
        { deadlineMs: 10_000 },
      )
    const world = worldOf({ hot: HOT }, { over })
    const decision = await only(world).check({ ...ADA, cost: 70 })
    isAway = true
    expect(await only(world).refund(decision)).toBeNull()
    isAway = false
    expect(await only(world).refund(decision)).toEqual({ requests: 70 })
    expect(await left(world)).toBe(80)
  })

  it('is not given back by an instance that did not gather it', async () => {
    const world = worldOf({ hot: HOT }, { instances: 2 })
    const text = printReceipt(
      (await only(world).check({ ...ADA, cost: 70 })) as unknown as DecisionRecord,
    )!
    const [one, two] = world.limiters as [World['limiters'][0], World['limiters'][0]]
    expect(await two.refund(readReceipt(text, two.rules))).toEqual({ requests: 0 })
    expect(await one.refund(readReceipt(text, one.rules))).toEqual({ requests: 70 })
  })

  it('takes nothing where another rule denies', async () => {
    const world = worldOf({ hot: HOT, day: { scope: 'org', limits: '50/h' } })
    const request = { subject: { user: 'ada', org: 'acme' }, cost: 30 }
    expect((await only(world).check(request)).allowed).toBe(true)
    expect(await only(world).check(request)).toMatchObject({ allowed: false, rule: 'day' })
    expect(await left(world)).toBe(50)
  })

  it('is given back where another rule denies only after it was looked at', async () => {
    // Whoever asks last finds the other rule empty.
    const over = (inner: Store & LeasePort) =>
      new ShardedStore(
        {
          ...inner,
          consume: (asked) =>
            inner.consume(
              asked.dryRun || asked.rules.length === 1 ? asked : { ...asked, costs: [1, 1000] },
            ),
        },
        { deadlineMs: 10_000 },
      )
    const world = worldOf({ hot: HOT, day: { scope: 'org', limits: '50/h' } }, { over })
    const request = { subject: { user: 'ada', org: 'acme' }, cost: 30 }
    expect(await only(world).check(request)).toMatchObject({ allowed: false, rule: 'day' })
    expect(await left(world)).toBe(80)
  })

  it('is answered again under its idempotency key, whatever is left', async () => {
    const world = worldOf({ hot: HOT })
    const request = { ...ADA, cost: 60, idempotencyKey: 'k' }
    const first = await only(world).check(request)
    expect(first).toMatchObject({ allowed: true, remaining: 20 })
    await only(world).check({ ...ADA, cost: 20 })
    expect(await only(world).check(request)).toMatchObject({ replayed: true, remaining: 20 })
    expect(await left(world)).toBe(0)
    expect(await only(world).refund(await only(world).check(request))).toEqual({ requests: 60 })
    expect(await left(world)).toBe(60)
    await expect(only(world).check({ ...request, cost: 61 })).rejects.toThrow('another request')
  })

  it('that one of the shards just holds is taken once, also under a key', async () => {
    for (let seed = 0; seed < 30; seed++) {
      // Seven shards hold 10, one 11.
      const world = worldOf({ hot: { ...HOT, limits: '81/h' } }, { seed })
      const request = { ...ADA, cost: 11, idempotencyKey: 'k' }
      expect(await only(world).check(request)).toMatchObject({ allowed: true, remaining: 70 })
      expect(await left(world)).toBe(70)
      expect(await only(world).refund(await only(world).check(request))).toEqual({ requests: 11 })
      expect(await left(world)).toBe(81)
    }
  })

  it('in shadow is counted while it is there, and only reported when it is not', async () => {
    const world = worldOf({ hot: { ...HOT, shadow: true } })
    for (const allowed of [true, false]) {
      const decision = await only(world).check({ ...ADA, cost: 50 })
      expect(decision.allowed).toBe(true)
      expect(decision.limits).toMatchObject([{ allowed, remaining: 30 }])
    }
  })

  it('together with small ones admits no more than the limit, and the sums are exact', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const chance = seeded(seed)
      const world = worldOf({ hot: HOT }, { instances: 3, seed })
      let used = 0
      for (let n = 0; n < 60; n++) {
        const cost = 1 + Math.floor(chance() * 25)
        const asker = world.limiters[n % 3]!
        const decision = await asker.check({ ...ADA, cost })
        if (decision.allowed) used += cost
        if (decision.allowed && chance() < 0.3) used -= (await asker.refund(decision))!['requests']!
        expect(await left(world)).toBe(80 - used)
      }
      expect(used).toBeLessThanOrEqual(80)
    }
  })
})
