/** Limiters whose rules are in shards over one memory store: so many instances, a clock that is moved, and a seeded choice. */
import { createLimiter, type Limiter, MemoryStore, type RulesDocument } from '../../src/index.js'
import { Deadlines } from '../../src/stores/deadlines.js'
import type { LeasingStore } from '../../src/stores/leasing.js'
import { ShardedStore } from '../../src/stores/sharded/sharded-store.js'
import type { Store } from '../../src/stores/store.js'

/** Numbers from 0 to 1, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface World {
  /** Milliseconds since the epoch; moved by the test. */
  now: number
  /** What was asked of the store below. */
  asks: number
  readonly store: MemoryStore
  readonly limiters: readonly Limiter[]
}

export interface WorldOptions {
  readonly instances?: number
  readonly seed?: number
  /** Puts something else between the limiters and the store. */
  readonly over?: (inner: LeasingStore, instance: number) => Store
}

export function worldOf(
  rules: RulesDocument['rules'],
  { instances = 1, seed = 1, over }: WorldOptions = {},
  more: RulesDocument = {},
): World {
  const store = new MemoryStore()
  const random = seeded(seed)
  const limiters: Limiter[] = []
  const world = { now: 1_790_000_000_000, asks: 0, store, limiters }
  for (let i = 0; i < instances; i++) {
    const inner = counting(world, store)
    const sharded = over?.(inner, i) ?? new ShardedStore(inner, { timers: new Deadlines(), random })
    const clock = () => world.now
    limiters.push(createLimiter({ ...more, rules: rules!, store: sharded, clock }))
  }
  return world
}

/** The store, and how often it is asked. */
function counting(world: World, store: MemoryStore): LeasingStore {
  return {
    decide: (transaction) => {
      world.asks++
      return store.decide(transaction)
    },
    change: (operations, moment) => store.change(operations, moment),
    use: (rules) => store.use(rules),
    close: () => store.close(),
    lease: () => {},
  }
}
