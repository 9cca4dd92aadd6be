/** Which rows of a store stay, and for how long, where others need their places. */
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitText, memoryStore } from '../../src/index.js'

const START = 1_780_000_020_000
const DAY_MS = 86_400_000

function bounded(limits: LimitText | LimitText[], maxKeys = 1_000_000) {
  const time = { now: START }
  const store = memoryStore({ maxKeys })
  const rules = { r: { scope: 'user', limits } } as const
  const limiter = createLimiter({ rules, store, clock: () => time.now })
  const check = (user: string, more = {}) => limiter.checkSync({ subject: { user }, ...more })
  return { time, store, limiter, check }
}

describe('a row that is empty', () => {
  it.each(['5 per 10s', '5 per 10s fixed', '5 per 10s exact', '5 per 10s sliding'] as const)(
    'of %s is kept for the minute by which the clock may step back',
    (limits) => {
      const { time, check } = bounded(limits)
      for (let i = 0; i < 200; i++) check(`u${i}`, { cost: 5 })
      // Two windows later nothing of them counts any more.
      time.now += 21_000
      for (let i = 0; i < 2000; i++) check(`other${i}`)
      time.now = START + 1000
      for (let i = 0; i < 200; i++) expect(check(`u${i}`, { cost: 5 }).allowed).toBe(false)
    },
  )

  it('gives its place to another, and what it kept beside it', () => {
    const { time, store, check } = bounded('5 per 10s exact')
    let most = 0
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 40; i++) check(`u${round}-${i}`)
      time.now += 120_000
      most = Math.max(most, store.size.bytes)
    }
    // Of 2400 logs there are some hundred at a time.
    expect(most).toBeLessThan(25_000)
  })
})

describe('in a full store', () => {
  it('what has used most stays, however its limit counts', () => {
    for (const limits of ['100/d', '100/d fixed', '100/d sliding', '100/d exact'] as const) {
      const { store, check } = bounded(limits, 4000)
      const heavy = Array.from({ length: 2000 }, (_, i) => `heavy${i}`)
      for (const user of heavy) check(user, { cost: 90 })
      for (let i = 0; i < 12_000; i++) check(`u${i}`)
      expect(store.size.evicted).toBeGreaterThan(8000)
      for (const user of heavy)
        expect(check(user, { dryRun: true }).used).toBeGreaterThanOrEqual(90)
      // A key whose row went shares what is said of it with others that come.
      const others = Array.from({ length: 500 }, (_, i) => check(`new${i}`, { dryRun: true }).used!)
      expect(others.filter((used) => used >= 90).length).toBeLessThan(5)
    }
  })

  it('a rule has a fair part of its rows, whatever other rules keep', async () => {
    const store = memoryStore({ maxKeys: 400 })
    const limiter = createLimiter({
      rules: { many: { scope: 'user', limits: '9/d' }, few: { scope: 'org', limits: '9/d' } },
      store,
      clock: () => START,
    })
    for (let i = 0; i < 1000; i++) limiter.checkSync({ subject: { user: `u${i}` } })
    const { evicted } = store.size
    for (let i = 0; i < 50; i++) limiter.checkSync({ subject: { org: `o${i}` } })
    expect(store.size.evicted).toBe(evicted)
  })

  it('a key that had to go comes back with all that it has used, to the microsecond', () => {
    const store = memoryStore({ maxKeys: 8 })
    let us = 1000 * START
    const rules = { r: { scope: 'user', limits: '7/min' } } as const
    const limiter = createLimiter({ rules, store, clock: () => us / 1000 })
    const users = Array.from({ length: 60 }, (_, i) => ({ subject: { user: `u${i}` } }))
    for (const user of users) limiter.checkSync({ ...user, cost: 6 })
    expect(store.size.evicted).toBeGreaterThan(40)
    // Six of seven in a minute are there again after 51428571.43 microseconds.
    us += 51_428_571
    for (const user of users)
      expect(limiter.checkSync({ ...user, cost: 7, dryRun: true }).allowed).toBe(false)
    us += 1
    for (const user of users)
      expect(limiter.checkSync({ ...user, cost: 7, dryRun: true }).allowed).toBe(true)
  })

  it.each(['5/min fixed', '5/min sliding', '5/min exact'] as const)(
    'a key of %s that had to go while the clock was ahead is not denied until that time comes',
    (limits) => {
      const { time, check } = bounded(limits, 8)
      time.now = START + DAY_MS
      for (let i = 0; i < 60; i++) check(`u${i}`, { cost: 5 })
      time.now = START
      for (let i = 0; i < 60; i++) check(`u${i}`, { dryRun: true })
      time.now += 120_000
      for (let i = 0; i < 60; i++) expect(check(`u${i}`, { dryRun: true }).allowed).toBe(true)
    },
  )
})

it('a sum of refunds stays while its row is there, also in a layout that is not current any more', async () => {
  const { time, store, limiter, check } = bounded('10/h')
  // So many that the table is in parts, which are brought to a new layout one by one.
  for (let i = 0; i < 9000; i++) check(`u${i}`)
  const given = Array.from({ length: 1023 }, (_, i) => `u${i}`)
  for (const user of given) await limiter.refund(check(user))
  time.now += 3_600_000
  const later = given.slice(0, 50).map((user) => check(user, { cost: 5 }))
  time.now += 120_000
  const rules = { r: { scope: 'user', limits: ['10/h', '100/d fixed'] } } as const
  limiter.setRules({ rules })
  // The sum that is one too many: others whose receipts are worth nothing may go.
  await limiter.refund(check('one more'))
  // Two minutes have repaid a part of one of five.
  for (const taken of later) expect(await limiter.refund(taken)).toEqual({ requests: 4 })
  expect(store.size.evicted).toBe(0)
})

it('a receipt of a time ahead is worth nothing when that time comes, though its row has gone meanwhile', async () => {
  const { time, store, limiter, check } = bounded('9/d')
  const users = Array.from({ length: 1023 }, (_, i) => `u${i}`)
  time.now = START + DAY_MS
  const taken = users.map((user) => check(user, { cost: 9 }))
  // The clock has stepped back: every row is restarted.
  time.now = START
  for (const user of users) check(user)
  time.now = START + DAY_MS + 120_000
  for (let i = 0; i < 10; i++) store.compact(time.now)
  expect(store.size.keys).toBe(0)
  // One sum of refunds more: those of receipts that are worth nothing may go.
  await limiter.refund(check('one more'))
  for (const user of users) check(user, { cost: 9 })
  for (const [i, user] of users.entries()) {
    await limiter.refund(taken[i]!)
    expect(check(user, { dryRun: true }).used).toBe(9)
  }
})

it('a key that shares what is known of another is not denied for longer than its limit could', async () => {
  const { limiter, check } = bounded('10/min', 8)
  for (let i = 0; i < 60; i++) {
    const reserved = await limiter.reserve({ subject: { user: `u${i}` } })
    await reserved.settle(100)
  }
  for (let i = 0; i < 60; i++) check(`other${i}`, { cost: 10 })
  // Of those whose rows stay, all of it is known: 91 tokens are missing.
  const waits = Array.from({ length: 60 }, (_, i) => {
    const decision = check(`u${i}`, { dryRun: true })
    return decision.allowed ? 0 : decision.retryAfterMs
  })
  expect(waits.filter((ms) => ms !== null && ms > 6000).length).toBeLessThanOrEqual(16)
})
