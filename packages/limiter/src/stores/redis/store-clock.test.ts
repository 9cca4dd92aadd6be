import { beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreClock } from './store-clock.js'

const START = 1_790_000_000_000_000
const AHEAD = 5_000_000

let clock: StoreClock
let steady = 0
beforeEach(() => {
  clock = new StoreClock(null)
  vi.spyOn(performance, 'now').mockImplementation(() => steady)
  return () => vi.restoreAllMocks()
})

/** A call that waits here first, and then takes half of `travelMs` each way. `late`: it was asked earlier than it seems. */
function call({ travelMs = 1, waitedMs = 0, lateMs = 0, ahead = AHEAD } = {}): void {
  const askedAt = steady
  const asked = START + 1000 * steady
  steady += waitedMs + travelMs / 2
  const said = START + 1000 * steady + ahead
  steady += travelMs / 2
  clock.answered(asked - 1000 * lateMs, askedAt, said)
}

const ahead = () => clock.reading!.aheadMs

describe("how far the store's clock is ahead", () => {
  it('is measured with every call', () => {
    expect(clock.reading).toBe(null)
    call()
    expect(clock.reading).toEqual({ aheadMs: 5000, uncertainMs: 0.5 })
  })

  it('is not moved by what a request waited here before its call was sent', () => {
    call()
    call({ waitedMs: 80 })
    expect(clock.reading).toEqual({ aheadMs: 5000, uncertainMs: 0.5 })
  })

  it('includes the truth where the first call waited', () => {
    call({ waitedMs: 80 })
    const { aheadMs, uncertainMs } = clock.reading!
    expect(Math.abs(aheadMs - 5000)).toBeLessThanOrEqual(uncertainMs)
  })

  it('is not moved by one request that was asked earlier than it seems', () => {
    call()
    call({ lateMs: 60 })
    expect(ahead()).toBe(5000)
    call({ lateMs: 30 })
    expect(ahead()).toBe(5000)
    call()
    expect(ahead()).toBe(5000)
  })

  it('is not moved by two such requests with another call between them', () => {
    call()
    for (let i = 0; i < 3; i++) {
      call({ lateMs: 60 })
      call({ travelMs: 2 })
    }
    expect(ahead()).toBe(5000)
  })

  it('is measured anew where slow calls between could mean both times', () => {
    call()
    for (let i = 0; i < 2; i++) {
      call({ ahead: AHEAD + 20_000 })
      call({ ahead: AHEAD + 20_000, travelMs: 100 })
    }
    expect(ahead()).toBeCloseTo(5020, 0)
  })

  it.each([30_000, -30_000, 3])(
    'is measured anew after two calls where a clock stepped by %i ms',
    (ms) => {
      call()
      call({ ahead: AHEAD + 1000 * ms })
      expect(ahead()).toBe(5000)
      call({ ahead: AHEAD + 1000 * ms })
      expect(ahead()).toBeCloseTo(5000 + ms, 0)
    },
  )
})
