/** Export and import of a memory store's state: it decides as if it had never been away. */
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  type MemoryStore,
  memoryStore,
  type RulesDocument,
  SluiceError,
} from '../../src/index.js'
import { StoreState } from '../../src/state.js'

const START = 1_780_000_000_000
const RULES = {
  rules: {
    many: {
      scope: 'user',
      limits: ['7/min', '100 per 5m sliding', '20/h exact', '50/d fixed', '3 concurrent for 10m'],
    },
    tiered: { scope: 'org', limits: '10/h', tiers: { pro: '50/h' } },
  },
} as const satisfies RulesDocument

function joined(store: MemoryStore): Uint8Array {
  return Buffer.concat([...new StoreState(store).export()])
}

function used(users: number) {
  let now = START
  const store = memoryStore()
  const limiter = createLimiter({ ...RULES, store, clock: () => now })
  for (let i = 0; i < users; i++) {
    now += 10
    limiter.checkSync({ subject: { user: `u${i % 50}`, org: `o${i % 9}` } })
  }
  return { store, limiter, now }
}

describe('a memory store', () => {
  it('answers the same after export and import', async () => {
    const { store, limiter, now } = used(300)
    const restored = memoryStore()
    new StoreState(restored).import([joined(store)])
    const other = createLimiter({ ...RULES, store: restored, clock: () => now + 1000 })
    const same = createLimiter({ ...RULES, store, clock: () => now + 1000 })
    for (let i = 0; i < 60; i++) {
      for (const tier of [{}, { tier: 'pro' }]) {
        const request = { subject: { user: `u${i}`, org: `o${i % 12}` }, ...tier }
        expect((await other.peek(request)).limits).toEqual((await same.peek(request)).limits)
      }
    }
    expect(restored.size.keys).toBe(store.size.keys)
    await limiter.close()
  })

  it('keeps what was imported until rules are known, and then forgets what they do not have', async () => {
    const { store, now } = used(300)
    const restored = memoryStore()
    new StoreState(restored).import([joined(store)])
    const limiter = createLimiter({ rules: {}, store: restored, clock: () => now })
    expect(restored.size.keys).toBe(store.size.keys)
    limiter.setRules(RULES)
    const request = { subject: { user: 'u1', org: 'o1' } }
    const same = createLimiter({ ...RULES, store, clock: () => now })
    expect((await limiter.peek(request)).limits).toEqual((await same.peek(request)).limits)
    limiter.setRules({ rules: {} })
    expect(restored.size.keys).toBe(0)
  })

  it('imports bytes however they were cut', () => {
    const { store } = used(40)
    const bytes = joined(store)
    for (const length of [1, 7, 1000, bytes.length]) {
      const pieces: Uint8Array[] = []
      for (let at = 0; at < bytes.length; at += length) pieces.push(bytes.subarray(at, at + length))
      const restored = memoryStore()
      new StoreState(restored).import(pieces)
      expect(restored.size.keys).toBe(store.size.keys)
    }
  })

  it('carries use over into rules that changed meanwhile', async () => {
    const { store, now } = used(300)
    const restored = memoryStore()
    new StoreState(restored).import(new StoreState(store).export())
    const rules = { many: { scope: 'user', limits: ['1/s', '20/h exact'] } } as const
    const [before, after] = [store, restored].map((of) =>
      createLimiter({ rules, store: of, clock: () => now }),
    )
    const request = { subject: { user: 'u1' } }
    const decision = await after!.peek(request)
    expect(decision.limits[1]!.remaining).toBeLessThan(20)
    expect(decision.limits).toEqual((await before!.peek(request)).limits)
  })

  it('lets no receipt give back twice across an export', async () => {
    const { store, now } = used(1)
    const clock = () => now
    const first = createLimiter({ ...RULES, store, clock })
    const decision = await first.check({ subject: { org: 'acme' } })
    await first.refund(decision)
    const restored = memoryStore()
    new StoreState(restored).import(new StoreState(store).export())
    const second = createLimiter({ ...RULES, store: restored, clock })
    const later = await second.check({ subject: { org: 'acme' } })
    expect(later.remaining).toBe(9)
    expect(await second.refund(later)).toEqual({ requests: 1 })
    expect((await second.peek({ subject: { org: 'acme' } })).remaining).toBe(10)
  })

  it.each([
    ['cut short', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 1)],
    ['without its end', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 36)],
    ['with one byte changed', (bytes: Uint8Array) => bytes.map((b, i) => (i === 200 ? b ^ 1 : b))],
    ['that is empty', () => new Uint8Array()],
    ['that is something else', () => Buffer.from('hello, this is no snapshot at all')],
  ])('refuses a state %s', (_, damage) => {
    const bytes = damage(Uint8Array.from(joined(used(40).store)))
    const restored = memoryStore()
    expect(() => new StoreState(restored).import([bytes])).toThrow(SluiceError)
    expect(restored.size.keys).toBe(0)
  })

  it('refuses to import after it was used', () => {
    const { store } = used(1)
    expect(() => new StoreState(store).import(new StoreState(used(1).store).export())).toThrow(
      /before the store is used/,
    )
  })
})
