/**
 * A full store whose changes are exported, and a store restored from them that has room for all keys. What
 * the restored one says of a key is at least what the key has used, and at most what the full one says: of
 * a key that had to go the full one knows only its sketch.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitText, type MemoryStore, memoryStore } from '../../src/index.js'

const START = 1_780_000_020_000
const USERS = 40

const step = fc.record({
  act: fc.constantFrom('check', 'check', 'check', 'check', 'flood', 'reset', 'export', 'compact'),
  user: fc.nat(USERS - 1),
  cost: fc.integer({ min: 1, max: 4 }),
  pull: fc.nat(4),
  moveMs: fc.oneof(fc.nat(20), fc.nat(20_000), fc.constant(0)),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

class Full {
  now = START
  readonly rules: { readonly r: { readonly scope: 'user'; readonly limits: LimitText } }
  readonly store = memoryStore({ maxKeys: 12 })
  readonly #limiter
  readonly #unbounded
  #running: Iterator<Uint8Array> | null = null
  #written: Uint8Array[] = []
  /** A whole state and the changes after it, whose ends were read. */
  #whole: Uint8Array[] = []
  #isBegun = false
  refused = 0

  constructor(limits: LimitText) {
    this.rules = { r: { scope: 'user', limits } }
    this.#limiter = this.#limiterOver(this.store)
    this.#unbounded = this.#limiterOver(memoryStore())
  }

  #limiterOver(store: MemoryStore) {
    return createLimiter({ rules: this.rules, store, clock: () => this.now })
  }

  async do({ act, user, cost, pull, moveMs }: Step): Promise<void> {
    this.now += moveMs
    this.#pull(pull)
    if (act === 'check') this.#check(user, cost)
    else if (act === 'flood') for (let i = 0; i < 6; i++) this.#check((user + i) % USERS, 1)
    else if (act === 'reset')
      for (const limiter of [this.#limiter, this.#unbounded])
        await limiter.reset({ user: `u${user}` })
    else if (act === 'export') this.#export()
    else this.store.compact(this.now)
  }

  /** What the full store lets pass is taken from the other one too. */
  #check(user: number, cost: number): void {
    const request = { subject: { user: `u${user}` }, cost }
    if (this.#limiter.checkSync(request).allowed)
      expect(this.#unbounded.checkSync(request).allowed).toBe(true)
  }

  #export(): void {
    if (this.#running !== null) return
    if (!this.#isBegun || !this.store.canExportChanges) {
      this.#whole = []
      this.#isBegun = true
      this.#running = this.store.export()
    } else this.#running = this.store.exportChanges()
  }

  #pull(pieces: number): void {
    try {
      for (let i = 0; i < pieces && this.#running !== null; i++) {
        const { done, value } = this.#running.next()
        if (done !== true) this.#written.push(value)
        else this.#end()
      }
    } catch (error) {
      expect(String(error)).toMatch(/a whole state must be exported/)
      this.refused++
      this.#written = []
      this.#running = null
      this.#export()
    }
  }

  #end(): void {
    this.#whole.push(...this.#written)
    this.#written = []
    this.#running = null
  }

  async expectRestored(): Promise<void> {
    this.#pull(Number.POSITIVE_INFINITY)
    this.#export()
    this.#pull(Number.POSITIVE_INFINITY)
    const store = memoryStore()
    store.import(this.#whole)
    const restored = this.#limiterOver(store)
    for (let i = 0; i < USERS; i++) {
      const request = { subject: { user: `u${i}` } }
      const [most, found, least] = [
        (await this.#unbounded.peek(request)).remaining!,
        (await restored.peek(request)).remaining!,
        (await this.#limiter.peek(request)).remaining!,
      ]
      expect(found).toBeLessThanOrEqual(most)
      expect(found).toBeGreaterThanOrEqual(least)
    }
  }
}

describe.each(['9/min', '7/min', '9/min fixed', '9/min sliding', '9/min exact'] as const)(
  'changes of a full store (%s)',
  (limit) => {
    it('leave out nothing that was used, and bring nothing back that was given back', async () => {
      const runs = Number(process.env['SLUICE_EVICTION_RUNS'] ?? 150)
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }),
          async (steps) => {
            const full = new Full(limit)
            for (const one of steps) await full.do(one)
            await full.expectRestored()
          },
        ),
        { numRuns: runs },
      )
    })
  },
)
