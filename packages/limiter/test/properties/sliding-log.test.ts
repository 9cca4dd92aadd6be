/** sliding_window_log against a plain list, and its promise for every window, in cells too. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectSlidingBound } from './bounds.js'
import { histories } from './histories.js'
import { type LimitSpec, limitOf, MINUTE, plainLimits, windows } from './limits.js'
import { ASKING, play } from './play.js'
import { GIVING, Replay } from './replay.js'
import { World } from './world.js'

const EXACT = plainLimits('sliding_window_log', 10_000n)

/** Larger ones are kept in cells of a 1024th of the window. */
const IN_CELLS: fc.Arbitrary<LimitSpec> = fc
  .record({
    amount: fc.oneof(fc.constantFrom(10_001n, 999_999_937n), fc.bigInt(10_001n, 10n ** 9n)),
    window: windows(),
  })
  .map((numbers) => ({ algorithm: 'sliding_window_log', burst: numbers.amount, ...numbers }))

describe('sliding_window_log', () => {
  it('answers every request as a plain list does', async () => {
    await fc.assert(
      fc.asyncProperty(histories(EXACT, ASKING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it('gives back, grants, resets and owes exactly', async () => {
    await fc.assert(
      fc.asyncProperty(histories(EXACT, GIVING), async (history) => {
        await Replay.of(history)
      }),
      { numRuns: 250 },
    )
  })

  it.each([
    ['an exact log', EXACT],
    ['a log in cells', IN_CELLS],
  ])('admits at most the limit in every window, wherever it starts: %s', (_name, limits) => {
    fc.assert(
      fc.property(histories(limits, ASKING, 80), (history) => {
        const { amount, window } = history.spec
        expectSlidingBound(play(history).admissions, amount, window)
      }),
      { numRuns: 300 },
    )
  })

  it('still counts, for a clock that steps back, what a denial has seen leave', () => {
    const cases = EXACT.filter(({ amount }) => amount > 1n)
    fc.assert(
      fc.property(cases, fc.bigInt(1n, MINUTE), (spec, back) => {
        const start = 1_780_000_000_123_457n
        const world = new World(limitOf(spec), start)
        world.check(spec.amount - 1n)
        world.now = start + spec.window - 1n
        world.check()
        world.now = start + spec.window
        expect(world.check(spec.amount).allowed).toBe(false)
        world.now -= back
        expect(world.check().allowed).toBe(false)
      }),
      { numRuns: 200 },
    )
  })

  it('is late by at most a cell where it keeps cells', () => {
    fc.assert(
      fc.property(IN_CELLS, (spec) => {
        const world = new World(limitOf(spec), 1_780_000_000_123_457n)
        expect(world.check(spec.amount).allowed).toBe(true)
        const denied = world.check()
        const cell = (spec.window + 1023n) / 1024n
        const retryAfterUs = BigInt(denied.allowed ? 0 : denied.retryAfterMs!) * 1000n
        expect(retryAfterUs).toBeGreaterThanOrEqual(spec.window)
        expect(retryAfterUs).toBeLessThanOrEqual(spec.window + cell + 1000n)
      }),
      { numRuns: 200 },
    )
  })
})
