/** A whole export and the changes after it: the store that reads them answers like the one that wrote them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  type Decision,
  type HoldTicket,
  type LimitText,
  type MemoryStore,
  memoryStore,
  type RulesDocument,
  SluiceError,
} from '../../src/index.js'
import { BothStores } from './both-stores.js'

const START = 1_780_000_000_000

/** Narrow rows and wide ones, with buckets and without, with and without something beside, and layouts in between. */
const DOCUMENTS: readonly RulesDocument[] = [
  { rules: { r: { scope: 'user', limits: '7/min' }, s: { scope: 'org', limits: '20/h' } } },
  { rules: { r: { scope: 'user', limits: ['7/min', '20/h fixed'] } } },
  {
    rules: {
      r: { scope: 'user', limits: ['9/min', '5 per 10s sliding'], tiers: { pro: '50/min' } },
      s: { scope: 'org', limits: '8/h fixed', tiers: { pro: '20/h fixed' } },
    },
  },
  {
    rules: {
      r: { scope: 'user', limits: ['20/h exact', '3 concurrent for 60s', '7/min'] },
      s: {
        scope: 'org',
        limits: ['8/h fixed', '2 concurrent for 5m'],
        tiers: { pro: '9/h fixed' },
      },
    },
  },
  {
    rules: {
      r: { scope: 'user', limits: ['20/h exact', '3 concurrent for 60s'] },
      t: { scope: 'user', limits: '4/min', shadow: true, additive: true },
    },
  },
]

const step = fc.record({
  act: fc.constantFrom(
    ...(['check', 'check', 'check', 'check', 'refund', 'grant', 'reset', 'settle'] as const),
    ...(['renew', 'release', 'release', 'rules', 'rules', 'export', 'compact'] as const),
  ),
  user: fc.nat(5),
  org: fc.nat(2),
  pro: fc.boolean(),
  amount: fc.integer({ min: 1, max: 4 }),
  pick: fc.nat(1000),
  moveMs: fc.oneof(fc.integer({ min: -20_000, max: 20_000 }), fc.nat(200_000), fc.constant(0)),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A limiter to which things happen, whose store is exported piece by piece meanwhile. */
class World {
  readonly store: MemoryStore
  readonly #both: BothStores
  readonly #limiter
  readonly #decisions: Decision[] = []
  readonly #holds: HoldTicket[] = []
  readonly #written: Uint8Array[] = []
  #running: Iterator<Uint8Array> | null = null
  #now = START
  #latest = START

  constructor(store = memoryStore()) {
    this.store = store
    this.#both = new BothStores(store)
    this.#limiter = createLimiter({
      ...DOCUMENTS[0]!,
      rules: DOCUMENTS[0]!.rules!,
      store: this.#both,
      clock: () => this.#now,
    })
  }

  async do({ act, user, org, pro, amount, pick, moveMs }: Step): Promise<void> {
    // At most a minute behind the latest time there was.
    this.#now = Math.max(this.#latest - 60_000, this.#now + moveMs)
    this.#latest = Math.max(this.#latest, this.#now)
    this.#pull(pick % 4)
    const subject = { user: `u${user}`, org: `o${org}` }
    const request = { subject, cost: amount, ...(pro ? { tier: 'pro' } : {}) }
    const limiter = this.#limiter
    if (act === 'check') {
      const decision = await limiter.check(request)
      this.#decisions.push(decision)
      if (decision.allowed && decision.hold !== null) this.#holds.push(decision.hold)
    } else if (act === 'refund' && this.#decisions.length > 0)
      await limiter.refund(this.#decisions[pick % this.#decisions.length]!, amount)
    else if (act === 'grant') await limiter.refund(request)
    else if (act === 'reset') await limiter.reset(subject)
    else if (act === 'settle') {
      const reservation = await limiter.reserve({ ...request, cost: 2 })
      if (reservation.allowed) await reservation.settle(amount)
    } else if (act === 'renew' && this.#holds.length > 0)
      await limiter.renew(this.#holds.at(-1 - (pick % Math.min(4, this.#holds.length)))!)
    else if (act === 'release' && this.#holds.length > 0)
      await limiter.release(this.#holds.at(-1 - (pick % Math.min(4, this.#holds.length)))!)
    else if (act === 'rules') limiter.setRules(DOCUMENTS[pick % DOCUMENTS.length]!)
    else if (act === 'export') this.#export(pick % 5 === 0)
    else if (act === 'compact') this.store.compact(this.#now)
  }

  #export(isWhole: boolean): void {
    if (this.#running !== null) return
    if (isWhole || this.#written.length === 0) {
      this.#written.length = 0
      this.#running = this.store.export()
    } else this.#running = this.store.exportChanges()
  }

  #pull(pieces: number): void {
    for (let i = 0; i < pieces && this.#running !== null; i++) {
      const { done, value } = this.#running.next()
      if (done === true) this.#running = null
      else this.#written.push(value)
    }
  }

  /** From here on everything is asked of the restored store too. */
  restart(): void {
    this.#pull(Number.POSITIVE_INFINITY)
    for (const isWhole of [false, false]) {
      this.#export(isWhole)
      this.#pull(Number.POSITIVE_INFINITY)
    }
    const restored = memoryStore()
    restored.import(this.#written)
    this.#both.twin = restored
  }
}

describe('changes exported after a whole state', () => {
  it('leave nothing out, whatever happens and however clocks jump', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 120, size: 'max' }),
        fc.array(step, { minLength: 10, maxLength: 40 }),
        async (before, after) => {
          const world = new World()
          for (const one of before) await world.do(one)
          world.restart()
          for (const one of after) if (one.act !== 'export') await world.do(one)
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('leave nothing out where an empty row was reset, which another store has forgotten', async () => {
    const step = { user: 0, org: 0, pro: false, amount: 1, pick: 0, moveMs: 0 }
    const rules = (number: number): Step => ({ ...step, act: 'rules', pick: number })
    const world = new World()
    const before = [
      { ...step, act: 'check' },
      rules(2),
      { ...step, act: 'grant', org: 1 },
      { ...step, act: 'check' },
    ] as const
    for (const one of before) await world.do(one)
    world.restart()
    const after = [
      { ...step, act: 'compact' },
      { ...step, act: 'reset', org: 1 },
      { ...step, act: 'check', org: 1 },
      rules(0),
      { ...step, act: 'check', org: 2 },
      rules(2),
      { ...step, act: 'settle', org: 1 },
      { ...step, act: 'refund', pick: 2 },
    ] as const
    for (const one of after) await world.do(one)
  })

  it('say that a row is gone where nothing could be given back to it since', async () => {
    let now = START
    const store = memoryStore()
    const rules = { r: { scope: 'user', limits: '10/d' } } as const
    const limiter = createLimiter({ rules, store, clock: () => now })
    const subject = { user: 'ada' }
    const written = [...store.export()]
    await limiter.check({ subject, cost: 10 })
    written.push(...store.exportChanges())
    await limiter.reset(subject)
    now += 3_600_000
    store.compact(now)
    await limiter.refund({ subject })
    written.push(...store.exportChanges())
    const restored = memoryStore()
    restored.import(written)
    const after = createLimiter({ rules, store: restored, clock: () => now })
    expect((await after.peek({ subject })).remaining).toBe(10)
  })

  it('have a row that was written, and then moved to another layout without being written', async () => {
    const step = { user: 0, org: 0, pro: false, amount: 1, pick: 0, moveMs: 0 }
    const steps = (...all: Partial<Step>[]) => all.map((one) => ({ ...step, ...one }) as Step)
    const world = new World()
    const before = steps(
      { act: 'export' },
      { act: 'check' },
      { act: 'rules', pick: 238 },
      { act: 'check', pick: 401 },
      { act: 'check', org: 1, pick: 89 },
      { act: 'check', pick: 211 },
      { act: 'check', pick: 395 },
      { act: 'grant', org: 1 },
      { act: 'rules', pick: 387 },
      { act: 'check', pick: 375 },
      { act: 'check', pick: 363 },
      { act: 'grant', org: 1 },
      { act: 'check' },
    )
    for (const one of before) await world.do(one)
    world.restart()
    for (const one of steps({ act: 'check' }, { act: 'check', org: 1 })) await world.do(one)
  })

  it('have the holds that were released, though that writes no row', async () => {
    const store = memoryStore()
    const rules = { r: { scope: 'user', limits: ['1 concurrent for 60s', '100/h'] } } as const
    const limiter = createLimiter({ rules, store, clock: () => START })
    const { hold } = await limiter.check({ subject: { user: 'ada' } })
    const written = [...store.export()]
    await limiter.release(hold!)
    written.push(...store.exportChanges())
    const restored = memoryStore()
    restored.import(written)
    const after = createLimiter({ rules, store: restored, clock: () => START })
    expect((await after.check({ subject: { user: 'ada' } })).allowed).toBe(true)
  })

  it('have the rows that were moved to a layout without being written', async () => {
    const store = memoryStore()
    const layout = (i: number): { rules: NonNullable<RulesDocument['rules']> } => ({
      rules: { r: { scope: 'user', limits: ['100/h', `1000 per ${i + 1}d fixed`] } },
    })
    const limiter = createLimiter({ ...layout(0), store, clock: () => START })
    limiter.checkSync({ subject: { user: 'ada' }, cost: 40 })
    const written = [...store.export()]
    for (let i = 1; i < 7; i++) {
      limiter.setRules(layout(i))
      limiter.checkSync({ subject: { user: 'someone else' } })
      written.push(...store.exportChanges())
    }
    const restored = memoryStore()
    restored.import(written)
    const after = createLimiter({ ...layout(6), store: restored, clock: () => START })
    expect((await after.peek({ subject: { user: 'ada' } })).limits[0]!.remaining).toBe(60)
  })

  it('are not needed for a row that moves to another layout while the whole state is exported', async () => {
    for (let pulled = 0; pulled < 12; pulled++) {
      const store = memoryStore()
      const rules = { r: { scope: 'user', limits: '100/h' } } as const
      const limiter = createLimiter({ rules, store, clock: () => START })
      limiter.checkSync({ subject: { user: 'ada' }, cost: 40 })
      const written: Uint8Array[] = []
      const exported = store.export()
      for (let i = 0; i < pulled; i++) written.push(exported.next().value ?? new Uint8Array())
      const changed = { r: { scope: 'user', limits: ['100/h', '1000/d'] } } as const
      limiter.setRules({ rules: changed })
      limiter.checkSync({ subject: { user: 'ada' } })
      written.push(...exported)
      const restored = memoryStore()
      restored.import(written)
      const after = createLimiter({ rules: changed, store: restored, clock: () => START })
      const { limits } = await after.peek({ subject: { user: 'ada' } })
      expect(limits[0]!.remaining).toBeLessThanOrEqual(60)
    }
  })

  it('are only what was written since', () => {
    let now = START
    const store = memoryStore()
    const rules = { r: { scope: 'user', limits: '100/h' } } as const
    const limiter = createLimiter({ rules, store, clock: () => now })
    for (let i = 0; i < 20_000; i++) limiter.checkSync({ subject: { user: `u${i}` } })
    const whole = size(store.export())
    expect(size(store.exportChanges())).toBe(0)
    now += 1
    for (let i = 0; i < 200; i++) limiter.checkSync({ subject: { user: `u${i}` } })
    const changes = size(store.exportChanges())
    expect(changes).toBeGreaterThan(200 * 24)
    expect(changes).toBeLessThan(whole / 50)
    expect(size(store.exportChanges())).toBe(0)
  })

  it('are refused after an export that was not read to its end, and without one', () => {
    const { store } = new World()
    expect(() => store.exportChanges()).toThrow(SluiceError)
    store.export().next()
    expect(() => store.exportChanges()).toThrow(/to its end/)
    for (const _ of store.export());
    expect([...store.exportChanges()].every(({ length }) => length === 0)).toBe(true)
  })

  it('are refused where one of them is missing, or comes twice', () => {
    const store = memoryStore()
    const rules = { r: { scope: 'user', limits: '100/h' } } as const
    const limiter = createLimiter({ rules, store, clock: () => START })
    const exported = [[...store.export()]]
    for (let i = 0; i < 3; i++) {
      limiter.checkSync({ subject: { user: `u${i}` } })
      exported.push([...store.exportChanges()])
    }
    const load = (...which: number[]) =>
      memoryStore().import(which.flatMap((index) => exported[index]!))
    load(0, 1, 2, 3)
    load(0, 1)
    for (const wrong of [[0, 2], [0, 1, 1], [1], [0, 1, 3], [0, 0]])
      expect(() => load(...wrong)).toThrow(/cannot be read/)
  })

  it.each(['5/min', '7/min', '5/min fixed', '5/min sliding', '5/min exact'] as const)(
    'let nobody past %s by flooding a full store and waiting for its restart',
    (limit) => expectNoResetByFlood(limit),
  )
})

function size(pieces: Iterable<Uint8Array>): number {
  let bytes = 0
  for (const { length } of pieces) bytes += length
  return bytes
}

/** The store is restarted all the time, and full; a key is never admitted more often than without either. */
function expectNoResetByFlood(limit: LimitText): void {
  const rules = { guard: { scope: 'user', limits: limit } } as const
  let now = 1_780_000_020_000
  const clock = () => now
  const unbounded = createLimiter({ rules, clock })
  let store = memoryStore({ maxKeys: 50 })
  let limiter = createLimiter({ rules, store, clock })
  let written = [...store.export()]
  const counts = new Map<string, [number, number]>()
  let random = 42
  for (let i = 0; i < 12_000; i++) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
    now += random % 7
    const user = `u${(random >>> 8) % 400}`
    const count = counts.get(user) ?? [0, 0]
    counts.set(user, count)
    if (limiter.checkSync({ subject: { user } }).allowed) count[0]++
    if (unbounded.checkSync({ subject: { user } }).allowed) count[1]++
    if (i % 40 === 39) written.push(...store.exportChanges())
    if (i % 400 !== 399) continue
    store = memoryStore({ maxKeys: 50 })
    store.import(written)
    expect(store.size.keys).toBeLessThanOrEqual(64)
    limiter = createLimiter({ rules, store, clock })
    written = [...store.export()]
  }
  for (const [bounded, atMost] of counts.values()) expect(bounded).toBeLessThanOrEqual(atMost)
}
