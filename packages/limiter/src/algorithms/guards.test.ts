/** Guards of the arithmetic that no run of requests in the property tests happens to need. */
import { describe, expect, it } from 'vitest'
import { LogRing } from '../stores/memory/side/log-ring.js'
import { current, decideTat, T, tat } from './bucket.js'
import { refundBucket } from './bucket-changes.js'
import {
  carryLeases,
  LEASE_PERIOD,
  leasable,
  leasedGoAt,
  leasedOut,
  reportLease,
  returnLease,
  rollLeases,
  settleLeases,
} from './leases.js'
import {
  BUCKET,
  FIXED_WINDOW,
  limitNumbers,
  SLIDING_COUNTER,
  SLIDING_LOG,
} from './limit-numbers.js'
import {
  chargeSlidingLog,
  decideSlidingLog,
  type LogEntries,
  refundSlidingLog,
} from './sliding-log.js'
import { NOT_NOW, YES } from './status.js'
import { STATUS } from './verdict.js'

const SECOND = 1_000_000
const START = 1_790_000_000 * SECOND
const NO_LOG = {} as LogEntries

/** Ten a second, ten at once. */
const TEN = limitNumbers(BUCKET, 10, SECOND, 10, false)

describe('a bucket whose amount changes', () => {
  it('is converted now where the new numbers take effect later', () => {
    // Half of ten are used; they are repaid at ten a second until now, and then at five a second.
    const five = { ...limitNumbers(BUCKET, 5, SECOND, 10, false), since: START + 400_000 }
    const row = [START + 500_000, 0, 10, START - 1]
    current(row, 0, five, START)
    expect(tat[0]).toBe(START + SECOND)
  })

  it('counts what is used of a token as used, rounded up', () => {
    // Five and a half of ten are used. At three a second that takes 1,833,333 and a third microseconds.
    const three = { ...limitNumbers(BUCKET, 3, SECOND, 10, false), since: START }
    current([START + 550_000, 0, 10, START], 0, three, START)
    const [t, f] = [tat[0]! - START, tat[1]!]
    expect(3 * t + f).toBeGreaterThanOrEqual(5_500_000)
    expect(t).toBeLessThan(1_833_336)
  })
})

describe('a bucket whose amount changes after its leases have ended', () => {
  it('refills from their end to the change at the old rate', () => {
    const burst = 100
    const old = limitNumbers(BUCKET, 100, 1000 * SECOND, burst, false)
    const period = START / LEASE_PERIOD
    // 25 are leased out, and end with the next period: then they count as spent.
    const end = (period + 2) * LEASE_PERIOD
    const changed = end + SECOND
    const faster = {
      ...limitNumbers(BUCKET, 10_000, 1000 * SECOND, burst, false),
      since: changed,
    }
    const row = [START + 250 * SECOND, 0, old.amount, START]
    settleLeases(row, 0, faster, [period, 25, 0], changed)
    // A tenth of a token has refilled; the rest takes 2.49 s at ten a second.
    expect(row[T]! - changed).toBeGreaterThanOrEqual(2.49 * SECOND)
    expect(row[T]! - changed).toBeLessThanOrEqual(2.5 * SECOND)
  })
})

describe('a log with stamps in the future, as leases leave them', () => {
  it('goes by the time, and not by its last stamp', () => {
    const limit = limitNumbers(SLIDING_LOG, 10, 100 * SECOND, 10, false)
    const log = new LogRing()
    // This one counts for half a second yet, the other was leased.
    log.push(START - 100 * SECOND + SECOND / 2, 9)
    log.push(START + SECOND, 1)
    const out: number[] = []
    decideSlidingLog([10, START], 0, limit, 1, START, out, 0, log)
    expect(out[STATUS]).toBe(NOT_NOW)
    decideSlidingLog([10, START], 0, limit, 1, START + SECOND / 2, out, 0, log)
    expect(out[STATUS]).toBe(YES)
  })
})

describe('a receipt of a bucket', () => {
  it('gives nothing where less was given back to the row than before the take: it was begun anew', () => {
    const row = [START + 500_000, 0, 10, START]
    const give = (since: number) =>
      refundBucket([...row], 0, TEN, 2, START, START + 500_000, 0, 10, since)
    expect([give(0), give(-1)]).toEqual([2, 0])
  })

  it('gives what time had left of the take at the last write, also by a clock that has stepped back', () => {
    const give = (now: number) =>
      refundBucket([START + 500_000, 0, 10, START], 0, TEN, 9, now, START + 500_000, 0, 10, 0)
    expect([give(START + 200_000), give(START), give(START - 300_000)]).toEqual([3, 5, 5])
  })

  it('gives nothing where the bucket is full: it was forgotten, and begun anew', () => {
    for (const full of [0, START - 1, START]) {
      const row = [full, 0, 10, START]
      expect(refundBucket(row, 0, TEN, 2, START, START + 500_000, 0, 10, 0)).toBe(0)
      expect(row).toEqual([full, 0, 10, START])
    }
  })
})

describe('a log', () => {
  it('gives back at most what its entry has', () => {
    const limit = limitNumbers(SLIDING_LOG, 10, SECOND, 10, false)
    const [row, entries] = [[0, 0], new LogRing()]
    chargeSlidingLog(row, 0, limit, 3, START, entries)
    chargeSlidingLog(row, 0, limit, 4, START + 1, entries)
    expect(refundSlidingLog(row, 0, limit, 5, START + 2, START, entries)).toBe(3)
    expect(row[0]).toBe(4)
  })

  it('of a large limit has at most an entry for each 1024th of its window, and one more', () => {
    const limit = limitNumbers(SLIDING_LOG, 20_000, SECOND, 20_000, false)
    const [row, entries] = [[0, 0], new LogRing()]
    for (let i = 0; i < 15_000; i++) chargeSlidingLog(row, 0, limit, 1, START + 100 * i, entries)
    expect(entries.count()).toBeLessThanOrEqual(1025)
  })
})

describe('the account of leases', () => {
  it('allows an eighth of what is left, and a quarter of the burst in all', () => {
    const limit = limitNumbers(BUCKET, 400, SECOND, 400, false)
    const most = (left: number, lease: number[], want = 1000) => leasable(limit, left, lease, want)
    expect([most(400, [7, 0, 0]), most(80, [7, 0, 0]), most(7, [7, 0, 0])]).toEqual([50, 10, 0])
    expect([most(400, [7, 40, 30]), most(400, [7, 60, 50])]).toEqual([30, 0])
    expect(most(400, [7, 0, 0], 20)).toBe(20)
  })

  it('keeps what is out when the clock steps back for as long as a holder may spend it, and no longer than another period', () => {
    for (const at of [0, 1, LEASE_PERIOD - 1]) {
      const outAfter = (us: number) => {
        const lease = [START / LEASE_PERIOD + 7200, 3, 2]
        carryLeases(lease, START + at)
        rollLeases(lease, START + at + us)
        return leasedOut(lease)
      }
      expect([outAfter(2 * LEASE_PERIOD - 1), outAfter(3 * LEASE_PERIOD)]).toEqual([5, 0])
    }
  })

  it('does not believe a report of more than is out of that period', () => {
    const lease = [7, 3, 2]
    expect([reportLease(lease, 7, 4), reportLease(lease, 6, 3), reportLease(lease, 5, 1)]).toEqual([
      false,
      false,
      false,
    ])
    expect(lease).toEqual([7, 3, 2])
    expect([reportLease(lease, 7, 3), reportLease(lease, 6, 2)]).toEqual([true, true])
    expect(lease).toEqual([7, 0, 0])
  })

  it.each([
    ['a fixed window', FIXED_WINDOW, [START, 5], 1],
    ['a sliding counter', SLIDING_COUNTER, [START, 0, 5], 2],
  ] as const)(
    'gives tokens of %s back only to the window that they were taken from',
    (_, kind, row, at) => {
      const limit = limitNumbers(kind, 10, SECOND, 10, false)
      const left = (grantedAt: number) => {
        const counted = [...row]
        returnLease(counted, 0, limit, 2, grantedAt, START + 1000, NO_LOG)
        return counted[at]
      }
      expect([left(START + 500), left(START - 500)]).toEqual([3, 5])
    },
  )

  it('names a retry at which the bucket admits, and before which it does not, also while leases are out', () => {
    const period = START / LEASE_PERIOD
    for (const [older, fresh] of [
      [0, 0],
      [0, 4],
      [4, 0],
      [3, 3],
    ] as const)
      for (const cost of [1, 5, 7, 8, 10]) {
        const lease = [period, fresh, older]
        const now = START + 100_000
        const row = [0, 0, 10, START]
        settleLeases(row, 0, TEN, lease, now)
        row[T] = Math.max(row[T]!, now + 900_000)
        const go = leasedGoAt([...row], 0, TEN, lease, cost, now)
        expect([admitsAt(row, lease, cost, go - 1), admitsAt(row, lease, cost, go)]).toEqual([
          false,
          true,
        ])
      }
  })
})

/** Whether a bucket with these leases admits then, if nothing is reported. */
function admitsAt(row: readonly number[], lease: readonly number[], cost: number, time: number) {
  const [then, account] = [[...row], [...lease]]
  settleLeases(then, 0, TEN, account, time)
  rollLeases(account, time)
  const out: number[] = [0, 0, 0, 0, 0, 0, 0]
  decideTat(then[0]!, then[1]!, TEN, cost, time, out, 0)
  return out[STATUS] === YES && leasedOut(account) + cost <= TEN.burst
}
