/** A rule whose limit changes under way: its numbers, its window, its algorithm. */
import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Algorithm } from '../../src/index.js'
import { type Deed, histories } from './histories.js'
import { type LimitSpec, limitOf, oracleOf, smallLimits } from './limits.js'
import { Play } from './play.js'
import { expectAnswer, GIVING, Replay } from './replay.js'

const COUNTING: readonly Algorithm[] = [
  'fixed_window',
  'sliding_window_log',
  'sliding_window_counter',
]
const ASKING: readonly Deed[] = ['check', 'wait', 'await retry', 'strangers']

/** Two histories, one after the other, and what changes between them. */
function turns(specs: fc.Arbitrary<LimitSpec>, deeds: readonly Deed[]) {
  return histories(specs, deeds, 20).chain((history) =>
    fc.record({
      history: fc.constant(history),
      next: fc.array(fc.constantFrom(...history.steps), { maxLength: 20 }),
      amount: fc.bigInt(1n, 12n),
    }),
  )
}

describe('a change of numbers', () => {
  it('keeps every count, and holds it against the new amount', async () => {
    await fc.assert(
      fc.asyncProperty(turns(smallLimits(COUNTING), GIVING), async ({ history, next, amount }) => {
        const replay = await Replay.of(history)
        replay.world.setLimits(limitOf({ ...history.spec, amount, burst: amount }))
        replay.oracle.limit = amount
        for (const step of next) await replay.do(step)
      }),
      { numRuns: 250 },
    )
  })

  it('of the burst alone leaves a bucket’s use to the microsecond', async () => {
    const specs = smallLimits(['token_bucket', 'gcra', 'leaky_bucket'])
    await fc.assert(
      fc.asyncProperty(turns(specs, GIVING), async ({ history, next, amount: burst }) => {
        const replay = await Replay.of(history)
        replay.world.setLimits(limitOf({ ...history.spec, burst }))
        replay.oracle.limit = burst
        for (const step of next) await replay.do(step)
      }),
      { numRuns: 250 },
    )
  })
})

describe('a change of window or algorithm', () => {
  it('starts that limit anew', () => {
    const cases = fc.record({ history: histories(smallLimits(), ASKING), other: smallLimits() })
    fc.assert(
      fc.property(cases, ({ history, other }) => {
        const { algorithm, window } = history.spec
        fc.pre(algorithm !== other.algorithm || window !== other.window)
        const play = new Play(history)
        for (const step of history.steps) play.do(step)
        play.world.setLimits(limitOf(other))
        expectAnswer(play.world.peek(other.burst), oracleOf(other), other.burst, play.world.now)
      }),
      { numRuns: 300 },
    )
  })
})
