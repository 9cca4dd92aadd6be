/** token_bucket and gcra against an exact bucket, and the bound that they promise for every span. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectRateBound } from './bounds.js'
import { least } from './fraction.js'
import { costs, type Deed, histories, waits } from './histories.js'
import { amounts, buckets, DAY, limitOf, oracleOf, windows, YEAR } from './limits.js'
import { ASKING } from './play.js'
import { GIVING, Replay } from './replay.js'
import { World } from './world.js'

describe.each(['token_bucket', 'gcra'] as const)('%s', (algorithm) => {
  it('answers every request as an exact bucket does', async () => {
    await fc.assert(
      fc.asyncProperty(histories(buckets(algorithm), ASKING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('gives back, grants, resets and owes exactly', async () => {
    const limits = buckets(algorithm, 5n, 10_000_000n)
    await fc.assert(
      fc.asyncProperty(histories(limits, GIVING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('does so also where a tier with another amount shares its counters', async () => {
    const limits = buckets(algorithm, 5n, 10_000_000n)
    await fc.assert(
      fc.asyncProperty(histories(limits, GIVING), async (history) => {
        const { spec } = history
        await Replay.of(history, { pro: { ...spec, amount: spec.amount + 1n } })
      }),
      { numRuns: 250 },
    )
  })

  it('admits at most the burst, and what the rate brings, in any span', async () => {
    await fc.assert(
      fc.asyncProperty(histories(buckets(algorithm), ASKING, 60), async (history) => {
        const { admissions } = await Replay.of(history)
        expectRateBound(admissions, history.spec)
      }),
      { numRuns: 150 },
    )
  })

  it('keeps that bound for what was taken and not given back', async () => {
    const deeds: readonly Deed[] = [...ASKING, 'refund']
    await fc.assert(
      fc.asyncProperty(histories(buckets(algorithm), deeds, 60), async (history) => {
        const { admissions } = await Replay.of(history)
        expectRateBound(admissions, history.spec)
      }),
      { numRuns: 150 },
    )
  })
})

describe('a bucket at the edge of the stated range', () => {
  it('is exact also where it takes 100 years to fill', async () => {
    const cases = fc
      .record({ amount: fc.bigInt(1n, 1000n), window: windows() })
      .map(({ amount, window }) => {
        const burst = least((100n * YEAR * amount) / window, 1_000_000_000n)
        return { algorithm: 'token_bucket', amount, window, burst } as const
      })
      .chain((spec) => {
        const ask = fc.record({ cost: costs(spec), us: fc.bigInt(0n, DAY) })
        return fc.record({ spec: fc.constant(spec), asks: fc.array(ask, { maxLength: 30 }) })
      })
    await fc.assert(
      fc.asyncProperty(cases, async ({ spec, asks }) => {
        const start = 1_780_000_000_123_457n
        const replay = new Replay(new World(limitOf(spec), start), oracleOf(spec))
        for (const { cost, us } of asks) {
          await replay.do({ does: 'wait', us })
          await replay.do({ does: 'check', cost })
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('gcra without a burst', () => {
  it('spaces requests evenly', () => {
    const cases = fc.record({ amount: amounts(), window: windows() }).chain(({ amount, window }) =>
      fc.record({
        amount: fc.constant(amount),
        window: fc.constant(window),
        pauses: fc.array(waits({ algorithm: 'gcra', amount, window, burst: 1n })),
      }),
    )
    fc.assert(
      fc.property(cases, ({ amount, window, pauses }) => {
        const duration = `${window / 1000n}ms`
        const limit = { algorithm: 'gcra', amount: Number(amount), window: duration } as const
        const world = new World(limit, 1_780_000_000_000_000n)
        let last: bigint | undefined
        for (const pause of pauses) {
          world.now += pause
          const spaced = last === undefined || (world.now - last) * amount >= window
          const { allowed, limit } = world.check()
          expect({ allowed, limit }).toEqual({ allowed: spaced, limit: 1 })
          if (allowed) last = world.now
        }
      }),
      { numRuns: 300 },
    )
  })
})
