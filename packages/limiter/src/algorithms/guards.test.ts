/** Guards of the arithmetic that no run of requests in the property tests happens to need. */
import { describe, expect, it } from 'vitest'
import { current, decideTat, T, tat } from './bucket.js'
import { refundBucket } from './bucket-changes.js'
import {
  LEASE_PERIOD,
  leasedGoAt,
  leasedOut,
  reportLease,
  returnLease,
  rollLeases,
  settleLeases,
} from './leases.js'
import { BUCKET, FIXED_WINDOW, limitNumbers, SLIDING_COUNTER } from './limit-numbers.js'
import type { LogEntries } from './sliding-log.js'
import { YES } from './status.js'
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
})

describe('a receipt of a bucket', () => {
  it('gives nothing where less was given back to the row than before the take: it was begun anew', () => {
    const row = [START + 500_000, 0, 10, START]
    const give = (since: number) =>
      refundBucket([...row], 0, TEN, 2, START, START + 500_000, 0, 10, since)
    expect([give(0), give(-1)]).toEqual([2, 0])
  })
})

describe('the account of leases', () => {
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
