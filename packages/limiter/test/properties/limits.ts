/** Random limits: the everyday ones, the extremes of the stated ranges, and amounts that divide no window. */
import * as fc from 'fast-check'
import type { Algorithm, LimitObject } from '../../src/index.js'
import { least } from './fraction.js'
import type { Oracle } from './oracle.js'
import { BucketOracle } from './oracle-bucket.js'
import { CounterOracle } from './oracle-counter.js'
import { HoldsOracle } from './oracle-holds.js'
import { LogOracle } from './oracle-log.js'
import { aligned, WindowOracle } from './oracle-window.js'

/** A limit in exact numbers; the window in microseconds. */
export interface LimitSpec {
  readonly algorithm: Algorithm
  readonly amount: bigint
  readonly window: bigint
  /** What a full counter holds. */
  readonly burst: bigint
}

export const SECOND = 1_000_000n
export const MINUTE = 60n * SECOND
export const HOUR = 60n * MINUTE
export const DAY = 24n * HOUR
export const YEAR = 366n * DAY
const MOST = 1_000_000_000n

export function limitOf({ algorithm, amount, window, burst }: LimitSpec): LimitObject {
  const duration = `${window / 1000n}ms`
  const base = { algorithm, amount: Number(amount) }
  if (algorithm === 'concurrency') return { ...base, algorithm, timeout: duration }
  if (algorithm === 'leaky_bucket') return { ...base, window: duration, queue: Number(burst - 1n) }
  if (algorithm === 'token_bucket' || algorithm === 'gcra')
    return { ...base, window: duration, burst: Number(burst) }
  return { ...base, window: duration }
}

export function oracleOf(spec: LimitSpec): Oracle {
  const { algorithm, amount, window } = spec
  switch (algorithm) {
    case 'token_bucket':
    case 'gcra':
      return new BucketOracle(spec)
    case 'leaky_bucket':
      return new BucketOracle({ ...spec, queues: true })
    case 'fixed_window':
      return new WindowOracle(amount, aligned(window))
    case 'sliding_window_log':
      return new LogOracle(amount, window)
    case 'sliding_window_counter':
      return new CounterOracle(amount, window)
    case 'concurrency':
      return new HoldsOracle(amount, window)
  }
}

export function windows(longest = YEAR): fc.Arbitrary<bigint> {
  const milliseconds = fc.oneof(
    fc.constantFrom(1000n, 1001n, 1999n, 10_000n, 60_000n, 3_600_000n, 86_400_000n),
    fc.bigInt(1000n, 10_000n),
    fc.bigInt(1000n, longest / 1000n),
    fc.constant(longest / 1000n),
  )
  return milliseconds.map((ms) => least(ms * 1000n, longest))
}

export function amounts(largest = MOST): fc.Arbitrary<bigint> {
  const amount = fc.oneof(
    { weight: 3, arbitrary: fc.bigInt(1n, 12n) },
    { weight: 2, arbitrary: fc.constantFrom(1n, 7n, 10n, 100n, 997n, 1000n, 65_536n) },
    { weight: 1, arbitrary: fc.constantFrom(999_999_937n, MOST - 1n, MOST) },
    { weight: 1, arbitrary: fc.bigInt(1n, MOST) },
  )
  return amount.map((n) => least(n, largest))
}

/**
 * Buckets that fill within `years`. Up to 100 are allowed; the default leaves room for histories that
 * go on for decades, a small number for debts.
 */
export function buckets(
  algorithm: 'token_bucket' | 'gcra' | 'leaky_bucket',
  years = 40n,
  largest = MOST,
): fc.Arbitrary<LimitSpec> {
  const whole = amounts(largest)
  return fc
    .record({ amount: whole, window: windows(), burst: fc.option(whole) })
    .map(({ amount, window, burst }) => {
      const capacity = least(burst ?? amount, (years * YEAR * amount) / window)
      return { algorithm, amount, window, burst: capacity }
    })
    .filter(({ burst }) => burst >= 1n)
}

/** Limits whose counter holds their amount. */
export function plainLimits(
  algorithm: 'fixed_window' | 'sliding_window_log' | 'sliding_window_counter',
  largest = MOST,
): fc.Arbitrary<LimitSpec> {
  return fc
    .record({ amount: amounts(largest), window: windows() })
    .map(({ amount, window }) => ({ algorithm, amount, window, burst: amount }))
}

export function concurrencyLimits(): fc.Arbitrary<LimitSpec> {
  return fc
    .record({ amount: fc.bigInt(1n, 9n), window: windows(DAY) })
    .map((numbers) => ({ algorithm: 'concurrency', burst: numbers.amount, ...numbers }))
}

/** Any limit with an exact oracle, small enough that a few requests fill it. */
export function smallLimits(
  algorithms: readonly Algorithm[] = [
    'token_bucket',
    'gcra',
    'leaky_bucket',
    'fixed_window',
    'sliding_window_log',
    'sliding_window_counter',
  ],
): fc.Arbitrary<LimitSpec> {
  return fc
    .record({
      algorithm: fc.constantFrom(...algorithms),
      amount: fc.bigInt(1n, 12n),
      window: windows(HOUR),
      burst: fc.bigInt(1n, 12n),
    })
    .map((spec) => {
      const isBucket = ['token_bucket', 'gcra', 'leaky_bucket'].includes(spec.algorithm)
      return isBucket ? spec : { ...spec, burst: spec.amount }
    })
}
