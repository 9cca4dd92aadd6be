/** The promises as sums over what was admitted, without any model of how a limiter decides. */
import { expect } from 'vitest'
import { most } from './fraction.js'
import type { LimitSpec } from './limits.js'
import type { WindowOf } from './oracle-window.js'

export interface Admission {
  readonly at: bigint
  readonly cost: bigint
}

/** Admitted in any span ≤ burst + rate · span; a clock that steps back makes the span no longer. */
export function expectRateBound(
  admissions: readonly Admission[],
  { amount, window, burst }: Pick<LimitSpec, 'amount' | 'window' | 'burst'>,
): void {
  for (const [i, { at: from }] of admissions.entries()) {
    let sum = 0n
    for (const { at: to, cost } of admissions.slice(i)) {
      sum += cost
      const span = most(0n, to - from)
      expect(sum * window <= burst * window + amount * span).toBe(true)
    }
  }
}

/** Every admission at the latest time that any admission had by then. */
function neverBack(admissions: readonly Admission[]): Admission[] {
  let latest = 0n
  return admissions.map(({ at, cost }) => {
    latest = most(latest, at)
    return { at: latest, cost }
  })
}

/** Admitted in each aligned window ≤ limit; after a step back the later window is charged. */
export function expectAlignedBound(
  admissions: readonly Admission[],
  limit: bigint,
  windowOf: WindowOf,
): void {
  const sums = new Map<bigint, bigint>()
  for (const { at, cost } of neverBack(admissions)) {
    const { start } = windowOf(at)
    const sum = (sums.get(start) ?? 0n) + cost
    sums.set(start, sum)
    expect(sum).toBeLessThanOrEqual(limit)
  }
}

/** Admitted in every window, wherever it starts, ≤ `atMost`: it is enough to start one at each admission. */
export function expectSlidingBound(
  admissions: readonly Admission[],
  atMost: bigint,
  window: bigint,
): void {
  const stamped = neverBack(admissions)
  for (const { at: from } of stamped) {
    const within = stamped.filter(({ at }) => at >= from && at < from + window)
    expect(within.reduce((sum, { cost }) => sum + cost, 0n)).toBeLessThanOrEqual(atMost)
  }
}
