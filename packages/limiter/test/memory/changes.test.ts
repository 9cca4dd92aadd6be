/** A whole export and the changes after it: the store that reads them answers like the one that wrote them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  type LimitText,
  memoryStore,
  type RulesDocument,
  SluiceError,
} from '../../src/index.js'
import { StoreState } from '../../src/state.js'
import { START, type Step, step, World } from './changing-world.js'

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
    const written = [...new StoreState(store).export()]
    await limiter.check({ subject, cost: 10 })
    written.push(...new StoreState(store).exportChanges())
    await limiter.reset(subject)
    now += 3_600_000
    store.compact(now)
    await limiter.refund({ subject })
    written.push(...new StoreState(store).exportChanges())
    const restored = memoryStore()
    new StoreState(restored).import(written)
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

  describe('answer the same whether a row that says nothing is still there or was dropped', () => {
    const step = { user: 0, org: 0, pro: false, amount: 1, pick: 0, moveMs: 0 }
    const steps = (...all: Partial<Step>[]) => all.map((one) => ({ ...step, ...one }) as Step)
    /** Only the first store drops rows when it is told to. */
    async function run(before: Step[], after: Step[]) {
      const world = new World()
      for (const one of before) await world.do(one)
      world.restart()
      for (const one of after) await world.do(one)
    }

    it('where the clock has stepped back behind its last write', () =>
      run(
        steps({ act: 'check' }, { act: 'check', moveMs: -60_000 }),
        steps(
          { act: 'reset' },
          { act: 'grant', moveMs: 100_000 },
          { act: 'compact' },
          { act: 'settle', moveMs: -60_000 },
        ),
      ))

    it('where its limit went and came back, and the clock has stepped back behind its last write', () =>
      run(
        steps(
          { act: 'check', user: 2 },
          { act: 'rules', pick: 4 },
          { act: 'check' },
          { act: 'rules', pick: 0 },
          { act: 'check' },
        ),
        steps({ act: 'settle', user: 2, moveMs: -8572 }),
      ))

    it('where it is reset, and a receipt of an earlier counter comes back', () =>
      run(
        steps(
          { act: 'check' },
          { act: 'rules', pick: 2 },
          { act: 'check' },
          { act: 'rules', pick: 1 },
          { act: 'check' },
          { act: 'check', user: 3 },
          { act: 'rules', pick: 0 },
          { act: 'check' },
        ),
        steps(
          { act: 'rules', pick: 1 },
          { act: 'check' },
          { act: 'compact', moveMs: 109_000 },
          { act: 'reset', user: 3 },
          { act: 'check', user: 3 },
          { act: 'refund', pick: 3 },
        ),
      ))

    it('where slower rules came that nobody has asked for yet', () =>
      run(
        steps({ act: 'rules', pick: 2 }),
        steps(
          { act: 'check', amount: 4 },
          { act: 'rules', pick: 0 },
          { act: 'compact', moveMs: 91_000 },
          { act: 'check', moveMs: -60_000 },
        ),
      ))
  })

  it('have the holds that were released, though that writes no row', async () => {
    const store = memoryStore()
    const rules = { r: { scope: 'user', limits: ['1 concurrent for 60s', '100/h'] } } as const
    const limiter = createLimiter({ rules, store, clock: () => START })
    const { hold } = await limiter.check({ subject: { user: 'ada' } })
    const written = [...new StoreState(store).export()]
    await limiter.release(hold!)
    written.push(...new StoreState(store).exportChanges())
    const restored = memoryStore()
    new StoreState(restored).import(written)
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
    const written = [...new StoreState(store).export()]
    for (let i = 1; i < 7; i++) {
      limiter.setRules(layout(i))
      limiter.checkSync({ subject: { user: 'someone else' } })
      written.push(...new StoreState(store).exportChanges())
    }
    const restored = memoryStore()
    new StoreState(restored).import(written)
    const after = createLimiter({ ...layout(6), store: restored, clock: () => START })
    expect((await after.peek({ subject: { user: 'ada' } })).limits[0]!.remaining).toBe(60)
  })

  it('have a row that was written before its rule had its first bucket', async () => {
    const store = memoryStore()
    const rules = (limits: LimitText[]) => ({ rules: { r: { scope: 'user', limits } as const } })
    const limiter = createLimiter({ ...rules(['10/d exact']), store, clock: () => START })
    const subject = { user: 'ada' }
    limiter.checkSync({ subject })
    const pieces = [...new StoreState(store).export()]
    limiter.checkSync({ subject })
    const later = rules(['10/d exact', '10/d'])
    limiter.setRules(later)
    // Brings the row to the new layout without writing it.
    await limiter.peek({ subject })
    pieces.push(...new StoreState(store).exportChanges())
    const copy = memoryStore()
    new StoreState(copy).import(pieces)
    const restored = createLimiter({ ...later, store: copy, clock: () => START })
    expect((await restored.peek({ subject })).used).toBe(2)
  })

  it('are not needed for a row that moves to another layout while the whole state is exported', async () => {
    for (let pulled = 0; pulled < 12; pulled++) {
      const store = memoryStore()
      const rules = { r: { scope: 'user', limits: '100/h' } } as const
      const limiter = createLimiter({ rules, store, clock: () => START })
      limiter.checkSync({ subject: { user: 'ada' }, cost: 40 })
      const written: Uint8Array[] = []
      const exported = new StoreState(store).export()
      for (let i = 0; i < pulled; i++) written.push(exported.next().value ?? new Uint8Array())
      const changed = { r: { scope: 'user', limits: ['100/h', '1000/d'] } } as const
      limiter.setRules({ rules: changed })
      limiter.checkSync({ subject: { user: 'ada' } })
      written.push(...exported)
      const restored = memoryStore()
      new StoreState(restored).import(written)
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
    const whole = size(new StoreState(store).export())
    expect(size(new StoreState(store).exportChanges())).toBe(0)
    now += 1
    for (let i = 0; i < 200; i++) limiter.checkSync({ subject: { user: `u${i}` } })
    const changes = size(new StoreState(store).exportChanges())
    expect(changes).toBeGreaterThan(200 * 24)
    expect(changes).toBeLessThan(whole / 50)
    expect(size(new StoreState(store).exportChanges())).toBe(0)
  })

  it('are refused after an export that was not read to its end, and without one', () => {
    const { store } = new World()
    expect(() => new StoreState(store).exportChanges()).toThrow(SluiceError)
    new StoreState(store).export().next()
    expect(() => new StoreState(store).exportChanges()).toThrow(/to its end/)
    for (const _ of new StoreState(store).export());
    expect([...new StoreState(store).exportChanges()].every(({ length }) => length === 0)).toBe(
      true,
    )
  })

  it('are refused where one of them is missing, or comes twice', () => {
    const store = memoryStore()
    const rules = { r: { scope: 'user', limits: '100/h' } } as const
    const limiter = createLimiter({ rules, store, clock: () => START })
    const exported = [[...new StoreState(store).export()]]
    for (let i = 0; i < 3; i++) {
      limiter.checkSync({ subject: { user: `u${i}` } })
      exported.push([...new StoreState(store).exportChanges()])
    }
    const load = (...which: number[]) =>
      new StoreState(memoryStore()).import(which.flatMap((index) => exported[index]!))
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
  let written = [...new StoreState(store).export()]
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
    if (i % 40 === 39) written.push(...new StoreState(store).exportChanges())
    if (i % 400 !== 399) continue
    store = memoryStore({ maxKeys: 50 })
    new StoreState(store).import(written)
    expect(store.size.keys).toBeLessThanOrEqual(64)
    limiter = createLimiter({ rules, store, clock })
    written = [...new StoreState(store).export()]
  }
  for (const [bounded, atMost] of counts.values()) expect(bounded).toBeLessThanOrEqual(atMost)
}
