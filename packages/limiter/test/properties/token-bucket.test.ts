/** token_bucket and gcra against an exact bucket, and the bound that they promise for every span. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectRateBound } from './bounds.js'
import { type Deed, histories, waits } from './histories.js'
import { amounts, buckets, windows } from './limits.js'
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
