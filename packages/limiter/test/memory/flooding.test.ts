/** A bounded store under attack: nobody resets his own limit by flooding it with other keys. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitText, memoryStore } from '../../src/index.js'

const MAX_KEYS = 4000

/**
 * The attacker exhausts his limit as A, and comes back as A every second of a minute in which he floods
 * the store with other keys. A hundred innocents ask meanwhile, three times each.
 */
function attack(limit: LimitText, flood: number, maxKeys: number) {
  let now = 1_780_000_020_000
  const store = memoryStore({ maxKeys })
  const rules = { guard: { scope: 'ip', limits: limit } } as const
  const limiter = createLimiter({ rules, store, clock: () => now })
  const ask = (user: number) => limiter.checkSync({ subject: { ip: address(user) } }).allowed
  const answers = { attacker: 0, innocentDenied: 0, floodDenied: 0 }
  for (let i = 0; i < 20; i++) if (ask(1)) answers.attacker++
  for (let second = 0; second < 60; second++) {
    now += 1000
    for (let i = 0; i < flood / 60; i++) {
      if (!ask(1000 + second * (flood / 60) + i)) answers.floodDenied++
    }
    for (let i = 0; i < 5; i++) if (ask(1)) answers.attacker++
    for (let i = 0; i < 5; i++) {
      if (!ask(2_000_000 + ((second * 5 + i) % 100))) answers.innocentDenied++
    }
  }
  return { ...answers, ...store.size }
}

function address(user: number): string {
  return `10.${(user >> 16) & 255}.${(user >> 8) & 255}.${user & 255}`
}

describe('a flood of keys', () => {
  // Buckets forget as time passes; the others only with their window, so a flood weighs more on them.
  it.each([
    ['10/min', 30],
    ['10/min smooth 10', 30],
    ['7/min', 20],
    ['10/min fixed', 6],
    ['10/min sliding', 6],
    ['10/min exact', 6],
  ] as const)('does not let an attacker past %s, and denies hardly anyone else', (limit, times) => {
    const flood = times * MAX_KEYS
    const bounded = attack(limit, flood, MAX_KEYS)
    const unbounded = attack(limit, flood, 1_000_000)
    expect(bounded.evicted).toBeGreaterThan(flood / 2)
    expect(bounded.keys).toBeLessThanOrEqual(MAX_KEYS)
    expect(unbounded.evicted).toBe(0)
    expect(bounded.attacker).toBeLessThanOrEqual(unbounded.attacker)
    expect(bounded.attacker).toBeGreaterThan(0)
    expect(bounded.innocentDenied).toBeLessThanOrEqual(0.02 * 300)
    expect(bounded.floodDenied).toBeLessThanOrEqual(0.02 * flood)
  })

  it('never admits a key more often than an unbounded store does, whatever else is asked', () => {
    const limits = ['5/min', '5/min fixed', '5/min sliding', '5/min exact'] as const
    for (const limit of limits) {
      const admitted = [50, 100_000].map((maxKeys) => {
        let now = 1_780_000_020_000
        const limiter = createLimiter({
          rules: { guard: { scope: 'user', limits: limit } },
          store: memoryStore({ maxKeys }),
          clock: () => now,
        })
        const counts = new Map<string, number>()
        let random = 42
        for (let i = 0; i < 20_000; i++) {
          random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
          now += random % 7
          const user = `u${(random >>> 8) % 400}`
          if (limiter.checkSync({ subject: { user } }).allowed)
            counts.set(user, (counts.get(user) ?? 0) + 1)
        }
        return counts
      })
      const [bounded, unbounded] = admitted as [Map<string, number>, Map<string, number>]
      for (const [user, count] of bounded)
        expect(count).toBeLessThanOrEqual(unbounded.get(user) ?? 0)
    }
  })

  it('keeps a row that holds something', async () => {
    const store = memoryStore({ maxKeys: 64 })
    const rules = { jobs: { scope: 'user', limits: ['1 concurrent for 60s', '9/h'] } } as const
    const limiter = createLimiter({ rules, store, clock: () => 1_780_000_000_000 })
    const held = await limiter.check({ subject: { user: 'ada' } })
    expect(held.hold).not.toBeNull()
    // Others have used more, so without her hold hers would be the first to go.
    for (let i = 0; i < 5000; i++) {
      const decision = await limiter.check({ subject: { user: `flood-${Math.floor(i / 2)}` } })
      if (decision.hold !== null) await limiter.release(decision.hold)
    }
    expect(store.size.evicted).toBeGreaterThan(1000)
    expect((await limiter.peek({ subject: { user: 'ada' } })).allowed).toBe(false)
    expect(store.size.keys).toBeLessThanOrEqual(80)
  })

  it('of one rule leaves the keys of another alone', () => {
    const store = memoryStore({ maxKeys: 1000 })
    const limiter = createLimiter({
      rules: {
        login: { scope: 'user', resource: '/login', limits: '1/h' },
        search: { scope: 'ip', resource: '/search', limits: '100/h' },
      },
      store,
      clock: () => 1_780_000_000_000,
    })
    for (let i = 0; i < 200; i++)
      limiter.checkSync({ subject: { user: `u${i}` }, resource: '/login' })
    for (let i = 0; i < 50_000; i++)
      limiter.checkSync({ subject: { ip: address(i) }, resource: '/search' })
    for (let i = 0; i < 200; i++) {
      const again = limiter.checkSync({ subject: { user: `u${i}` }, resource: '/login' })
      expect(again.allowed).toBe(false)
    }
    expect(store.size.keys).toBeLessThanOrEqual(1250)
  })
})
