/** The memory store as it grows, shrinks and forgets: exact at every size, and never larger than it need be. */
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'

const START = 1_780_000_000_000

describe('a memory store', () => {
  it('counts every key exactly while it grows past divisions and rebuilds', () => {
    const store = memoryStore()
    const limiter = createLimiter({
      rules: { r: { scope: 'user', limits: ['5/h', '7/h fixed'] } },
      store,
      clock: () => START,
    })
    const keys = 30_000
    for (let round = 1; round <= 6; round++) {
      for (let i = 0; i < keys; i++) {
        const decision = limiter.checkSync({ subject: { user: `user-${i}` } })
        expect(decision.allowed).toBe(round <= 5)
        expect(decision.remaining).toBe(Math.max(0, 5 - round))
      }
    }
    expect(store.size.keys).toBe(keys)
    expect(store.size.evicted).toBe(0)
  })

  it('reuses rows that have been empty for a minute, without a timer', () => {
    let now = START
    const store = memoryStore()
    const limiter = createLimiter({
      rules: { r: { scope: 'user', limits: '10/s' } },
      store,
      clock: () => now,
    })
    for (let i = 0; i < 400_000; i++) {
      now += 10
      limiter.checkSync({ subject: { user: `user-${i}` } })
    }
    // At any time about 6,100 keys are within their second and the minute after it.
    expect(store.size.keys).toBeLessThan(60_000)
  })

  it('gives memory back when asked to', () => {
    let now = START
    const store = memoryStore()
    const limiter = createLimiter({
      rules: { r: { scope: 'user', limits: '10/s' } },
      store,
      clock: () => now,
    })
    for (let i = 0; i < 100_000; i++) limiter.checkSync({ subject: { user: `user-${i}` } })
    const { bytes } = store.size
    now += 120_000
    for (let i = 0; i < 512; i++) store.compact(now)
    expect(store.size.keys).toBe(0)
    expect(store.size.bytes).toBeLessThan(bytes / 50)
  })

  it('holds a key with one limit in 110 bytes and less', () => {
    for (const [limit, keys] of [
      ['1000/h', 1_000_000],
      ['7/h', 300_000],
    ] as const) {
      const store = memoryStore({ maxKeys: 2_000_000 })
      const limiter = createLimiter({
        rules: { r: { scope: 'user', limits: limit } },
        store,
        clock: () => START,
      })
      for (let i = 0; i < keys; i++) limiter.checkSync({ subject: { user: `user-${i}` } })
      expect(store.size.keys).toBe(keys)
      expect(store.size.bytes / keys).toBeLessThan(110)
    }
  })

  it('forgets the rows of a rule that is gone', () => {
    const store = memoryStore()
    const limiter = createLimiter({
      rules: { a: { scope: 'user', limits: '1/h' } },
      store,
      clock: () => START,
    })
    limiter.checkSync({ subject: { user: 'ada' } })
    expect(store.size.keys).toBe(1)
    limiter.setRules({ rules: { b: { scope: 'user', limits: '1/h' } } })
    expect(store.size.keys).toBe(0)
    limiter.setRules({ rules: { a: { scope: 'user', limits: '1/h' } } })
    expect(limiter.checkSync({ subject: { user: 'ada' } }).allowed).toBe(true)
  })

  it('bounds what it remembers of refunds', async () => {
    let now = START
    const store = memoryStore({ maxKeys: 2000 })
    const limiter = createLimiter({
      rules: { r: { scope: 'user', limits: '10/d' } },
      store,
      clock: () => now,
    })
    const sizes: number[] = []
    for (let i = 0; i < 20_000; i++) {
      now += 1
      const decision = limiter.checkSync({ subject: { user: `user-${i}` } })
      await limiter.refund(decision)
      if (i % 5000 === 4999) sizes.push(store.size.bytes)
    }
    expect(sizes.at(-1)).toBeLessThan(3 * sizes[0]!)
    const decision = limiter.checkSync({ subject: { user: 'late' } })
    expect(await limiter.refund(decision)).toEqual({ requests: 1 })
  })
})
