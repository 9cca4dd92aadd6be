/** What is counted, against exact counters: in debt however large, and while a limit is lowered and raised. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/index.js'
import { least } from './fraction.js'
import { histories } from './histories.js'
import { buckets, type LimitSpec, limitOf, MINUTE, oracleOf, smallLimits, YEAR } from './limits.js'
import { GIVING, Replay } from './replay.js'
import { World } from './world.js'

const START = 1_780_000_000_123_457n
const MOST_COST = 1_000_000_000n

/** Used and left make the limit; above it, nothing is left. */
function expectSum({ limit, used, remaining }: Decision): void {
  expect(Number.isSafeInteger(used)).toBe(true)
  expect(used).toBeGreaterThanOrEqual(0)
  if (used! > limit!) expect(remaining).toBe(0)
  else expect(used! + remaining!).toBe(limit)
}

/** Uses so much, of which more than a burst is debt. */
async function use(world: World, { burst }: LimitSpec, amount: bigint): Promise<void> {
  const estimate = least(burst, amount)
  const reservation = await world.reserve(estimate)
  expect(reservation.allowed).toBe(true)
  await reservation.settle(Number(amount))
}

describe('what is used', () => {
  it('makes the limit with what is left, unless it is more than the limit', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), GIVING), async ({ spec, start, steps }) => {
        const world = new World(limitOf(spec), start)
        const replay = new Replay(world, oracleOf(spec))
        for (const step of steps) {
          await replay.do(step)
          expectSum(world.peek())
          expectSum(world.peek(spec.burst + 1n))
        }
      }),
      { numRuns: 300 },
    )
  })

  it.each(['token_bucket', 'gcra', 'leaky_bucket'] as const)(
    'is exact in a large debt of a %s',
    async (algorithm) => {
      const cases = buckets(algorithm, 5n).chain((spec) => {
        // All of it is repaid within 80 years, and the rest of the range is for the waits.
        const most = least(MOST_COST, (80n * YEAR * spec.amount) / spec.window)
        return fc.record({
          spec: fc.constant(spec),
          amount: fc.oneof(fc.bigInt(1n, most), fc.bigInt(most / 2n + 1n, most)),
          waits: fc.array(fc.oneof(fc.bigInt(0n, 3n * MINUTE), fc.bigInt(0n, YEAR)), {
            maxLength: 6,
          }),
          back: fc.bigInt(0n, MINUTE),
        })
      })
      await fc.assert(
        fc.asyncProperty(cases, async ({ spec, amount, waits, back }) => {
          const world = new World(limitOf(spec), START)
          const oracle = oracleOf(spec)
          await use(world, spec, amount)
          oracle.charge(amount, START)
          for (const us of [0n, ...waits]) {
            world.now += us
            for (const now of [world.now, world.now - back]) {
              const { used, remaining } = world.peek(1n, now)
              expect(used).toBe(Number(oracle.used(now)))
              expect(remaining).toBe(Number(oracle.remaining(now)))
            }
          }
        }),
        { numRuns: 300 },
      )
    },
  )

  it('stays the same number when the amount is lowered and raised', async () => {
    const cases = smallLimits().chain((spec) =>
      fc.record({
        spec: fc.constant(spec),
        amount: fc.bigInt(1n, 3n * spec.burst),
        changes: fc.array(fc.record({ amount: fc.bigInt(1n, 40n), burst: fc.bigInt(1n, 40n) }), {
          minLength: 1,
          maxLength: 5,
        }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ({ spec, amount, changes }) => {
        const world = new World(limitOf(spec), START)
        await use(world, spec, amount)
        expect(world.peek().used).toBe(Number(amount))
        const isBucket = ['token_bucket', 'gcra', 'leaky_bucket'].includes(spec.algorithm)
        for (const change of changes) {
          const burst = isBucket ? change.burst : change.amount
          world.setLimits(limitOf({ ...spec, amount: change.amount, burst }))
          const decision = world.peek()
          expect(decision).toMatchObject({ limit: Number(burst), used: Number(amount) })
          expectSum(decision)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('grows by what a request costs, and by nothing where it is denied', () => {
    const cases = fc.record({ spec: smallLimits(), costs: fc.array(fc.bigInt(1n, 5n)) })
    fc.assert(
      fc.property(cases, ({ spec, costs }) => {
        const world = new World(limitOf(spec), START)
        let counted = 0n
        for (const cost of costs) {
          const decision = world.check(cost)
          if (decision.allowed) counted += cost
          expect(decision.used).toBe(Number(counted))
        }
      }),
      { numRuns: 300 },
    )
  })
})
