/** A limiter to which things happen, whose store is exported meanwhile and at last restored beside it. */
import fc from 'fast-check'
import {
  createLimiter,
  type Decision,
  type HoldTicket,
  type MemoryStore,
  memoryStore,
  type RulesDocument,
} from '../../src/index.js'
import { StoreState } from '../../src/state.js'
import { BothStores } from './both-stores.js'

export const START = 1_780_000_000_000

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

export const step = fc.record({
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
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A limiter to which things happen, whose store is exported piece by piece meanwhile. */
export class World {
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
      this.#running = new StoreState(this.store).export()
    } else this.#running = new StoreState(this.store).exportChanges()
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
    new StoreState(restored).import(this.#written)
    this.#both.twin = restored
  }
}
