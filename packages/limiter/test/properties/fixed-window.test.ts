/** fixed_window against counts per window, and its promise for each aligned window. */
import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { expectAlignedBound } from './bounds.js'
import { histories } from './histories.js'
import { plainLimits } from './limits.js'
import { aligned } from './oracle-window.js'
import { ASKING, play } from './play.js'
import { GIVING, Replay } from './replay.js'

describe('fixed_window', () => {
  it('answers every request as a count per window does', async () => {
    await fc.assert(
      fc.asyncProperty(histories(plainLimits('fixed_window'), ASKING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('gives back, grants, resets and owes exactly', async () => {
    const limits = plainLimits('fixed_window', 10_000_000n)
    await fc.assert(
      fc.asyncProperty(histories(limits, GIVING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('admits at most the limit in each aligned window', () => {
    fc.assert(
      fc.property(histories(plainLimits('fixed_window'), ASKING, 80), (history) => {
        const { amount, window } = history.spec
        expectAlignedBound(play(history).admissions, amount, aligned(window))
      }),
      { numRuns: 300 },
    )
  })
})
