/** Memory is given back for counters that say nothing any more, whatever happened to the rules meanwhile. */
import { expect, it } from 'vitest'
import { createLimiter, type Limiter, memoryStore } from '../../src/index.js'
import { StoreState } from '../../src/state.js'

const START = 1_780_000_000_000
const HOUR = 3_600_000
const MINUTE = 60_000

const rulesOf = (short: '10 per 1s' | '20 per 1s' | '10 per 2s') => ({
  short: { scope: 'user', resource: '/short', limits: short } as const,
  long: { scope: 'user', resource: '/long', limits: '10/h' } as const,
})

type Store = ReturnType<typeof memoryStore>

function flood(limiter: Limiter, users: number): void {
  for (let i = 0; i < users; i++)
    limiter.checkSync({ subject: { user: `user-${i}` }, resource: '/short' })
}

/** As often as a server does it within a minute, at least. */
function compactAll(store: Store, now: number): void {
  for (let i = 0; i < 50; i++) store.compact(now)
}

it.each<[string, ReturnType<typeof rulesOf>]>([
  ['the same', rulesOf('10 per 1s')],
  ['another amount', rulesOf('20 per 1s')],
  ['another window', rulesOf('10 per 2s')],
])('of an idle rule, after rules were set: %s', (_name, next) => {
  let now = START
  const store = memoryStore()
  const limiter = createLimiter({ rules: rulesOf('10 per 1s'), store, clock: () => now })
  flood(limiter, 3000)
  limiter.setRules({ rules: next })
  now += HOUR
  compactAll(store, now)
  now += 5 * MINUTE
  compactAll(store, now)
  expect(store.size.keys).toBe(0)
})

it('of an earlier layout, though nobody asks any more', () => {
  let now = START
  const store = memoryStore()
  const limiter = createLimiter({ rules: rulesOf('10 per 1s'), store, clock: () => now })
  flood(limiter, 3000)
  limiter.setRules({ rules: rulesOf('10 per 2s') })
  limiter.checkSync({ subject: { user: 'someone else' }, resource: '/short' })
  expect(store.size.keys).toBe(3001)
  now += HOUR
  compactAll(store, now)
  expect(store.size.keys).toBe(0)
})

it('of an idle rule, after a restart', () => {
  let now = START
  const rules = rulesOf('10 per 1s')
  const before = memoryStore()
  flood(createLimiter({ rules, store: before, clock: () => now }), 3000)
  const store = memoryStore()
  new StoreState(store).import(new StoreState(before).export())
  const limiter = createLimiter({ rules, store, clock: () => now })
  expect(store.size.keys).toBe(3000)
  now += HOUR
  compactAll(store, now)
  expect(store.size.keys).toBe(0)
  expect(limiter.checkSync({ subject: { user: 'user-1' }, resource: '/short' }).remaining).toBe(9)
})

it('of holds, as soon as they are released', async () => {
  let now = START
  const store = memoryStore()
  const rules = { renders: { scope: 'user', limits: '2 concurrent for 60s' } } as const
  const limiter = createLimiter({ rules, store, clock: () => now })
  for (let i = 0; i < 5000; i++) {
    now += 1
    const { hold } = await limiter.check({ subject: { user: `user-${i}` } })
    expect(await limiter.release(hold!)).toBe(true)
  }
  compactAll(store, now)
  expect(store.size.keys).toBeLessThan(10)
})

it('of the logs of a limit that is gone', () => {
  const now = START
  const store = memoryStore()
  const rules = { r: { scope: 'user', limits: ['100/h exact', '100/h'] } } as const
  const limiter = createLimiter({ rules, store, clock: () => now })
  const flooded = (limits: '100/h') => {
    const fresh = memoryStore()
    flood(
      createLimiter({ rules: { r: { scope: 'user', limits } }, store: fresh, clock: () => now }),
      20_000,
    )
    compactAll(fresh, now)
    return fresh.size.bytes
  }
  flood(limiter, 20_000)
  limiter.setRules({ rules: { r: { scope: 'user', limits: '100/h' } } })
  limiter.checkSync({ subject: { user: 'someone else' } })
  compactAll(store, now)
  expect(store.size.keys).toBe(20_001)
  // A place for each log is kept, for the next one.
  expect(store.size.bytes).toBeLessThan(flooded('100/h') + 8 * 20_000 + 100_000)
})
