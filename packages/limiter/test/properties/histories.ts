/** Random histories of one subject under one limit: what happens, in order, scaled to the limit. */
import * as fc from 'fast-check'
import { least, most } from './fraction.js'
import { DAY, type LimitSpec, MINUTE, SECOND } from './limits.js'

export type Step =
  | { readonly does: 'check'; readonly cost: bigint }
  | { readonly does: 'wait'; readonly us: bigint }
  /** To the retry time of the last denial, or a little beside it. */
  | { readonly does: 'await retry'; readonly off: bigint }
  /** At most 60 s before the latest time there was. */
  | { readonly does: 'step back'; readonly us: bigint }
  | { readonly does: 'strangers'; readonly count: number }
  | { readonly does: 'refund'; readonly which: number; readonly amount: bigint }
  | { readonly does: 'grant'; readonly amount: bigint }
  | { readonly does: 'reset' }
  | { readonly does: 'reserve'; readonly estimate: bigint }
  | { readonly does: 'settle'; readonly which: number; readonly used: bigint }

export type Deed = Step['does']

export interface History {
  readonly spec: LimitSpec
  readonly start: bigint
  readonly steps: readonly Step[]
}

const MOST_COST = 1_000_000_000n

export function costs({ burst }: LimitSpec): fc.Arbitrary<bigint> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant(1n) },
    { weight: 3, arbitrary: fc.bigInt(1n, least(burst, 5n)) },
    { weight: 3, arbitrary: fc.bigInt(1n, burst) },
    { weight: 1, arbitrary: fc.constant(burst) },
    { weight: 1, arbitrary: fc.constant(least(burst + 1n, MOST_COST)) },
  )
}

export function waits({ amount, window, burst }: LimitSpec): fc.Arbitrary<bigint> {
  const token = window / amount
  const toFull = least((burst * window) / amount, 3n * 366n * DAY)
  return fc.oneof(
    fc.constantFrom(0n, 1n, 999n, 1000n, SECOND),
    fc.constantFrom(token, token + 1n, toFull, toFull + MINUTE, window, window + MINUTE),
    fc.bigInt(0n, 3n * token),
    fc.bigInt(0n, window),
    fc.bigInt(0n, 2n * window),
  )
}

/** Moments to start from: the epoch, a year like ours, and any other, to the microsecond. */
export const STARTS: fc.Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(0n, 1n, 1_780_000_000n * SECOND, 1_780_000_000_123_457n),
  fc.bigInt(0n, 1_900_000_000n * SECOND),
)

export function stepsBack(): fc.Arbitrary<bigint> {
  return fc.oneof(fc.constantFrom(1n, 1000n, SECOND, MINUTE), fc.bigInt(1n, MINUTE))
}

function stepOf(deed: Deed, spec: LimitSpec): fc.Arbitrary<Step> {
  const does = <D extends Deed>(deed: D) => fc.constant(deed)
  const which = fc.nat({ max: 30 })
  switch (deed) {
    case 'check':
      return fc.record({ does: does(deed), cost: costs(spec) })
    case 'wait':
      return fc.record({ does: does(deed), us: waits(spec) })
    case 'await retry':
      return fc.record({ does: does(deed), off: fc.constantFrom(-1n, 0n, 1n) })
    case 'step back':
      return fc.record({ does: does(deed), us: stepsBack() })
    case 'strangers':
      return fc.record({ does: does(deed), count: fc.integer({ min: 1, max: 6 }) })
    case 'refund':
      return fc.record({ does: does(deed), which, amount: costs(spec) })
    case 'grant':
      return fc.record({ does: does(deed), amount: costs(spec) })
    case 'reset':
      return fc.record({ does: does(deed) })
    case 'reserve':
      return fc.record({ does: does(deed), estimate: costs(spec) })
    case 'settle':
      return fc.record({ does: does(deed), which, used: fc.oneof(costs(spec), fc.constant(0n)) })
  }
}

const OFTEN: Partial<Record<Deed, number>> = { check: 8, wait: 4, 'await retry': 2 }

/** Histories made of these deeds; checks and waits come most often. */
export function histories(
  specs: fc.Arbitrary<LimitSpec>,
  deeds: readonly Deed[],
  maxLength = 40,
): fc.Arbitrary<History> {
  return specs.chain((spec) => {
    const steps = deeds.map((deed) => ({
      weight: OFTEN[deed] ?? 1,
      arbitrary: stepOf(deed, spec),
    }))
    return fc.record({
      spec: fc.constant(spec),
      start: STARTS,
      steps: fc.array(fc.oneof(...steps), { minLength: 1, maxLength, size: 'max' }),
    })
  })
}

/** Never before the epoch, and never more than 60 s before the latest time. */
export function steppedBack(now: bigint, latest: bigint, us: bigint): bigint {
  return most(0n, most(now - us, latest - MINUTE))
}
