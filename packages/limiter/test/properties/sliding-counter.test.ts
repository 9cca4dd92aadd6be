/** sliding_window_counter against its definition, and the bounds that are stated for it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectAlignedBound, expectSlidingBound } from './bounds.js'
import { histories } from './histories.js'
import { plainLimits, windows } from './limits.js'
import { aligned } from './oracle-window.js'
import { ASKING, play } from './play.js'
import { GIVING, Replay } from './replay.js'

const LIMITS = plainLimits('sliding_window_counter')

describe('sliding_window_counter', () => {
  it('answers every request as two weighted counts do', async () => {
    await fc.assert(
      fc.asyncProperty(histories(LIMITS, ASKING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('gives back, grants, resets and owes exactly', async () => {
    const limits = plainLimits('sliding_window_counter', 10_000_000n)
    await fc.assert(
      fc.asyncProperty(histories(limits, GIVING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('admits at most the limit in each aligned window', () => {
    fc.assert(
      fc.property(histories(LIMITS, ASKING, 80), (history) => {
        const { amount, window } = history.spec
        expectAlignedBound(play(history).admissions, amount, aligned(window))
      }),
      { numRuns: 300 },
    )
  })

  it('admits less than twice the limit in every window, wherever it starts', () => {
    fc.assert(
      fc.property(histories(LIMITS, ASKING, 80), (history) => {
        const { amount, window } = history.spec
        expectSlidingBound(play(history).admissions, 2n * amount - 1n, window)
      }),
      { numRuns: 300 },
    )
  })

  it('stays below twice the limit under the worst load: all at the end, then a trickle', () => {
    const cases = fc.record({ amount: fc.bigInt(1n, 40n), window: windows() })
    fc.assert(
      fc.property(cases, ({ amount, window }) => {
        const spec = { algorithm: 'sliding_window_counter', amount, window, burst: amount } as const
        const end = 100n * window
        const { world } = play({ spec, start: end - 1n, steps: [] })
        const admissions = [{ at: world.now, cost: amount }]
        expect(world.check(amount).allowed).toBe(true)
        for (let i = 0n; i < 4n * amount; i++) {
          world.now = end + (window * i) / (4n * amount)
          if (world.check().allowed) admissions.push({ at: world.now, cost: 1n })
        }
        expectSlidingBound(admissions, 2n * amount - 1n, window)
        if (amount > 20n) expect(admissions.length - 1).toBeGreaterThan(Number(amount) * 0.7)
      }),
      { numRuns: 100 },
    )
  })
})
