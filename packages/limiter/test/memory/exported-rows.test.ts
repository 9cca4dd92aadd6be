/** What is in the changes that a store exports: rows that are gone by then, and writes at earlier times. */
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createLimiter, type LimitText, memoryStore } from '../../src/index.js'
import { StoreState } from '../../src/state.js'

const START = 1_780_000_020_000
const ADA = { subject: { user: 'ada' } }

function exporting(...limits: LimitText[]) {
  const time = { now: START }
  const store = memoryStore()
  const rules = { r: { scope: 'user', limits } } as const
  const limiter = createLimiter({ rules, store, clock: () => time.now })
  const pieces: Uint8Array[] = []
  const others = (count: number) => {
    for (let i = 0; i < count; i++) limiter.checkSync({ subject: { user: `u${time.now}-${i}` } })
  }
  /** A store with what was exported, under the same rules or others. */
  const restored = (...after: LimitText[]) => {
    const copy = memoryStore()
    new StoreState(copy).import(pieces)
    const rules = { r: { scope: 'user', limits: after.length > 0 ? after : limits } } as const
    return createLimiter({ rules, store: copy, clock: () => time.now })
  }
  return { time, store, limiter, pieces, others, restored }
}

describe('changes exported after a whole state', () => {
  it('have a hold that was released before others came', async () => {
    const { time, store, limiter, pieces, others, restored } = exporting('1 concurrent for 1h')
    const { hold } = await limiter.check({ ...ADA, holdId: 'a' })
    pieces.push(...new StoreState(store).export())
    time.now += 1000
    await limiter.release(hold!)
    others(200)
    pieces.push(...new StoreState(store).exportChanges())
    const { allowed } = await restored().check({ ...ADA, holdId: 'b' })
    expect(allowed).toBe(true)
  })

  it('have a write at an earlier time than another', () => {
    const { time, store, limiter, pieces, restored } = exporting('9/d fixed')
    limiter.checkSync({ subject: { user: 'bob' } })
    pieces.push(...new StoreState(store).export())
    limiter.checkSync({ subject: { user: 'bob' } })
    time.now -= 5000
    limiter.checkSync(ADA)
    pieces.push(...new StoreState(store).exportChanges())
    expect(restored().checkSync({ ...ADA, dryRun: true }).used).toBe(1)
  })

  it('have rows that were reset, though others came while they were read', async () => {
    const { time, store, limiter, pieces, others, restored } = exporting('9/d')
    // So many that the table is in parts, which are read one by one.
    const users = Array.from({ length: 9000 }, (_, i) => `u${i}`)
    for (const user of users) limiter.checkSync({ subject: { user }, cost: 9 })
    pieces.push(...new StoreState(store).export())
    time.now += 1000
    for (const user of users) await limiter.reset({ user })
    const changes = new StoreState(store).exportChanges()
    for (let i = 0; i < 40; i++) pieces.push(changes.next().value ?? new Uint8Array())
    time.now += 61_000
    others(30_000)
    pieces.push(...changes)
    const after = restored()
    for (const user of users)
      expect(after.checkSync({ subject: { user }, dryRun: true }).used).toBe(0)
  })

  it('have what was given back, so that older receipts give nothing twice', async () => {
    const { store, limiter, pieces, restored } = exporting('9/d')
    const taken = limiter.checkSync({ ...ADA, cost: 9 })
    pieces.push(...new StoreState(store).export())
    await limiter.reset({ user: 'ada' })
    limiter.checkSync({ ...ADA, cost: 9 })
    pieces.push(...new StoreState(store).exportChanges())
    const after = restored()
    await after.refund(taken)
    expect(after.checkSync({ ...ADA, dryRun: true }).used).toBe(9)
  })

  it('have a row that was moved to a layout with a bucket, and to another one', () => {
    const { store, limiter, pieces, restored } = exporting('9/d exact')
    limiter.checkSync(ADA)
    pieces.push(...new StoreState(store).export())
    limiter.checkSync(ADA)
    const last: LimitText[] = ['9/d exact', '9/d', '99 per 7d fixed']
    for (const limits of [last.slice(0, 2), last]) {
      limiter.setRules({ rules: { r: { scope: 'user', limits } } })
      limiter.checkSync({ ...ADA, dryRun: true })
    }
    pieces.push(...new StoreState(store).exportChanges())
    expect(restored(...last).checkSync({ ...ADA, dryRun: true }).used).toBe(2)
  })

  it('are refused after changes that were not read to their end', () => {
    const { store, limiter } = exporting('9/d')
    for (const _ of new StoreState(store).export());
    limiter.checkSync(ADA)
    expect(new StoreState(store).canExportChanges).toBe(true)
    new StoreState(store).exportChanges().next()
    expect(new StoreState(store).canExportChanges).toBe(false)
    expect(() => new StoreState(store).exportChanges()).toThrow(/to its end/)
  })

  it('are not waited for by a store from which none are taken any more', () => {
    const { time, store, others } = exporting('9 per 10s')
    for (const _ of new StoreState(store).export());
    others(50)
    time.now += 120_000
    const keep = () => store.compact(time.now)
    for (let i = 0; i < 100; i++) keep()
    expect(store.size.keys).toBe(50)
    for (let i = 0; i < 1200; i++) keep()
    expect(new StoreState(store).canExportChanges).toBe(false)
    expect(store.size.keys).toBe(0)
  })

  it('are not of another state', () => {
    const [one, other] = [exporting('9/d'), exporting('9/d')]
    for (const { store, limiter, pieces } of [one, other]) {
      pieces.push(...new StoreState(store).export())
      limiter.checkSync(ADA)
    }
    const pieces = [...one.pieces, ...new StoreState(other.store).exportChanges()]
    expect(() => new StoreState(memoryStore()).import(pieces)).toThrow(/cannot be read/)
  })

  it('have nothing of a rule that is gone, also when it comes back', () => {
    const { store, limiter, pieces, restored } = exporting('9/d')
    limiter.checkSync(ADA)
    pieces.push(...new StoreState(store).export())
    limiter.setRules({ rules: { other: { scope: 'user', limits: '9/d' } } })
    pieces.push(...new StoreState(store).exportChanges())
    expect(restored().checkSync({ ...ADA, dryRun: true }).used).toBe(0)
  })
})

it('a whole state has what was used by keys that had to go', () => {
  const rules = { r: { scope: 'user', limits: '9/d' } } as const
  const store = memoryStore({ maxKeys: 8 })
  const limiter = createLimiter({ rules, store, clock: () => START })
  const users = Array.from({ length: 60 }, (_, i) => ({ subject: { user: `u${i}` } }))
  for (const user of users) limiter.checkSync({ ...user, cost: 9 })
  const copy = memoryStore({ maxKeys: 8 })
  new StoreState(copy).import(new StoreState(store).export())
  const after = createLimiter({ rules, store: copy, clock: () => START })
  for (const user of users) expect(after.checkSync({ ...user, dryRun: true }).allowed).toBe(false)
})

it('a state of a version that is not known is refused, and says of which it is', () => {
  const { store, limiter } = exporting('9/d')
  limiter.checkSync(ADA)
  const [start, ...rest] = [...new StoreState(store).export()].filter(({ length }) => length > 0)
  // A length, a checksum, and a line.
  const line = Buffer.from(start!).subarray(8).toString().replace('"version":3', '"version":4')
  const head = Buffer.alloc(8)
  head.writeUInt32BE(line.length, 0)
  head.writeUInt32BE(crc32(line), 4)
  const pieces = [head, Buffer.from(line), ...rest]
  expect(() => new StoreState(memoryStore()).import(pieces)).toThrow(/of version 4, not 3/)
})
