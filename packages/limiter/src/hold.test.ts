/** Until when a holder may believe that it holds. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from './create-limiter.js'
import type { Hold } from './hold.js'
import { MemoryStore } from './stores/memory/store.js'
import type { Changed, Operation } from './stores/operation.js'
import type { Store } from './stores/store.js'
import type { Moment, Transaction } from './stores/transaction.js'

const TIMEOUT_MS = 60_000
/** The holder's clock may be slower than the store's. */
const BELIEVED_MS = 0.995 * TIMEOUT_MS
const RENEWED_AT_MS = 0.3 * BELIEVED_MS

/** A memory store that answers late, and changes that answer what the test says. */
class DistantStore implements Store {
  readonly #memory = new MemoryStore()
  decideMs = 0
  changeMs = 0
  /** Null: what was done. */
  outcome: Changed | null = null
  renewals = 0
  releases = 0

  async decide(transaction: Transaction) {
    const answer = this.#memory.decide(transaction)
    await pass(this.decideMs)
    return answer
  }

  async change(operations: readonly Operation[], moment: Moment): Promise<Changed[]> {
    this.renewals += operations.filter(({ kind }) => kind === 'renew').length
    this.releases += operations.filter(({ kind }) => kind === 'release').length
    const changed = this.#memory.change(operations, moment)
    const { outcome } = this
    await pass(this.changeMs)
    return outcome === null ? changed : operations.map(() => outcome)
  }

  use(): void {}
  close(): void {}
}

async function pass(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
}

let store: DistantStore

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'],
    now: 1_780_000_000_000,
  })
  store = new DistantStore()
})
afterEach(() => void vi.useRealTimers())

async function take(): Promise<Hold> {
  const rules = { r: { scope: 'user', limits: '1 concurrent for 60s' } } as const
  const taken = createLimiter({ rules, store }).hold({ subject: { user: 'ada' } })
  await vi.advanceTimersByTimeAsync(store.decideMs)
  return taken
}

/** Time passes until so many milliseconds after the start of the test. */
async function moveTo(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(1_780_000_000_000 + ms - Date.now())
}

describe('a hold', () => {
  it('whose renewals have unknown outcomes is lost before its time-out, counted from when it was asked for', async () => {
    store.decideMs = 3000
    store.outcome = 'unknown'
    const hold = await take()
    await moveTo(BELIEVED_MS - 10)
    expect(hold.lost).toBe(false)
    await moveTo(BELIEVED_MS + 1)
    expect(hold.lost).toBe(true)
    expect(hold.signal.aborted).toBe(true)
  })

  it('lives on from when its renewal was asked for', async () => {
    store.changeMs = 5000
    const hold = await take()
    await moveTo(RENEWED_AT_MS + 1)
    store.outcome = 'unknown'
    await moveTo(RENEWED_AT_MS + BELIEVED_MS - 10)
    expect(hold.lost).toBe(false)
    await moveTo(RENEWED_AT_MS + BELIEVED_MS + 1)
    expect(hold.lost).toBe(true)
  })

  it('is renewed early enough that two renewals may fail', async () => {
    store.outcome = 'not_done'
    const hold = await take()
    await moveTo(2 * RENEWED_AT_MS + 1)
    expect(store.renewals).toBe(2)
    store.outcome = null
    store.changeMs = 1000
    await moveTo(TIMEOUT_MS + 1)
    expect(hold.lost).toBe(false)
  })

  it('has time for a third renewal although two fail slowly', async () => {
    store.outcome = 'not_done'
    store.changeMs = 5000
    const hold = await take()
    await moveTo(2 * RENEWED_AT_MS + 6000)
    expect(store.renewals).toBe(2)
    store.outcome = null
    await moveTo(TIMEOUT_MS + 1)
    expect([store.renewals, hold.lost]).toEqual([3, false])
  })

  it('is not renewed at the moment at which it is lost', async () => {
    store.outcome = 'not_done'
    const hold = await take()
    await moveTo(BELIEVED_MS - 10)
    expect(store.renewals).toBe(3)
    store.outcome = null
    await moveTo(BELIEVED_MS + 1)
    expect([store.renewals, hold.lost]).toEqual([3, true])
  })

  it('that was lost before its renewal was answered is released', async () => {
    store.changeMs = 50_000
    const hold = await take()
    await moveTo(BELIEVED_MS + 1)
    expect([hold.lost, store.releases]).toEqual([true, 0])
    await moveTo(RENEWED_AT_MS + 50_001)
    expect(store.releases).toBe(1)
  })

  it('is lost as soon as the store says that it has ended', async () => {
    const hold = await take()
    store.outcome = 0
    await moveTo(RENEWED_AT_MS + 1)
    expect(hold.lost).toBe(true)
    await moveTo(3 * TIMEOUT_MS)
    expect(store.renewals).toBe(1)
    expect(await hold.release()).toBe(false)
  })

  it('that was released is renewed no more', async () => {
    const hold = await take()
    expect(await hold.release()).toBe(true)
    await moveTo(3 * TIMEOUT_MS)
    expect([store.renewals, hold.lost]).toEqual([0, false])
  })
})
