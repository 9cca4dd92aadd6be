/** leaky_bucket: the delay it asks for, the constant rate of releases, and the queue that can be full. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Deed, histories } from './histories.js'
import { amounts, buckets, windows, YEAR } from './limits.js'
import { ASKING } from './play.js'
import { GIVING, Replay } from './replay.js'
import { World } from './world.js'

describe('leaky_bucket', () => {
  it('delays and refuses every request as an exact queue does', async () => {
    await fc.assert(
      fc.asyncProperty(histories(buckets('leaky_bucket'), ASKING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('gives back, grants, resets and owes exactly', async () => {
    const limits = buckets('leaky_bucket', 5n, 10_000_000n)
    await fc.assert(
      fc.asyncProperty(histories(limits, GIVING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('does so also where a tier with another amount shares its counters', async () => {
    const limits = buckets('leaky_bucket', 5n, 10_000_000n)
    await fc.assert(
      fc.asyncProperty(histories(limits, GIVING), async (history) => {
        const { spec } = history
        await Replay.of(history, { pro: { ...spec, amount: spec.amount + 1n } })
      }),
      { numRuns: 250 },
    )
  })

  it('releases at a constant rate, however the requests come', async () => {
    await fc.assert(
      fc.asyncProperty(histories(buckets('leaky_bucket'), ASKING, 60), async (history) => {
        const { amount, window } = history.spec
        const { admissions } = await Replay.of(history)
        for (const [i, first] of admissions.entries()) {
          let released = 0n
          for (const [j, last] of admissions.entries()) {
            if (j <= i) continue
            released += admissions[j - 1]!.cost
            // A release is told in whole microseconds, rounded up: less than one may be missing.
            expect((last.releaseAt - first.releaseAt + 1n) * amount > released * window).toBe(true)
          }
        }
      }),
      { numRuns: 150 },
    )
  })

  it('never lets more wait than the queue has places', async () => {
    const deeds: readonly Deed[] = ['check', 'wait', 'await retry', 'strangers']
    await fc.assert(
      fc.asyncProperty(histories(buckets('leaky_bucket'), deeds, 60), async (history) => {
        const { admissions } = await Replay.of(history)
        for (const { at } of admissions) {
          const waiting = admissions.filter((other) => other.at <= at && other.releaseAt > at)
          const places = waiting.reduce((sum, { cost }) => sum + cost, 0n)
          expect(places).toBeLessThanOrEqual(history.spec.burst - 1n)
        }
      }),
      { numRuns: 150 },
    )
  })

  it('has as many waiting places as its amount unless told', () => {
    const cases = fc.record({ amount: amounts(999_999_999n), window: windows(YEAR) })
    fc.assert(
      fc.property(cases, ({ amount, window }) => {
        const duration = `${window / 1000n}ms`
        const limit = {
          algorithm: 'leaky_bucket',
          amount: Number(amount),
          window: duration,
        } as const
        const world = new World(limit, 0n)
        expect(world.check().limit).toBe(Number(amount + 1n))
        expect(world.check(amount).allowed).toBe(true)
        expect(world.check().allowed).toBe(false)
      }),
      { numRuns: 200 },
    )
  })
})
