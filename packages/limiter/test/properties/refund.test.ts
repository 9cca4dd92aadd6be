/** Refunds by receipt: what they can never bring about, whatever the algorithm. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectAlignedBound, expectSlidingBound } from './bounds.js'
import { type History, histories } from './histories.js'
import { buckets, type LimitSpec, limitOf, MINUTE, smallLimits } from './limits.js'
import { aligned } from './oracle-window.js'
import { FORWARD, playWithRefunds, refund, type Taken, TO_AND_FRO } from './play-with-refunds.js'
import { World } from './world.js'

const BUCKETS = ['token_bucket', 'gcra', 'leaky_bucket'] as const

/** The same requests, but what was given back had never been asked for. */
function playWithoutRefunded(history: History, taken: readonly Taken[]): World {
  const world = new World(limitOf(history.spec), history.start)
  for (const { at, cost, given } of taken) {
    world.now = at
    if (cost > given) expect(world.check(cost - given).allowed).toBe(true)
  }
  return world
}

function laterTimes({ window, amount, burst }: LimitSpec): bigint[] {
  const token = window / amount
  return [0n, 1n, token, 3n * token + 1n, window / 2n, window, (burst * window) / amount]
}

describe('a refund by receipt', () => {
  it.each([
    ['any limit, by a clock that goes forward', smallLimits(), FORWARD],
    // A window that a step back has left behind knows of the later one only through what was taken in it.
    ['a bucket, by a clock that also steps back', smallLimits(BUCKETS), TO_AND_FRO],
  ])('never leaves more than if it had not been taken: %s', async (_name, limits, deeds) => {
    await fc.assert(
      fc.asyncProperty(histories(limits, deeds), async (history) => {
        const { world, taken } = await playWithRefunds(history)
        const without = playWithoutRefunded(history, taken)
        for (const offset of laterTimes(history.spec)) {
          const left = world.peek(1n, world.now + offset).remaining!
          expect(left).toBeLessThanOrEqual(without.peek(1n, world.now + offset).remaining!)
        }
      }),
      { numRuns: 600 },
    )
  })

  it.each(['fixed_window', 'sliding_window_log', 'sliding_window_counter'] as const)(
    'leaves %s its bound for what was taken and not given back',
    async (algorithm) => {
      await fc.assert(
        fc.asyncProperty(histories(smallLimits([algorithm]), TO_AND_FRO), async (history) => {
          const { amount, window } = history.spec
          const { taken } = await playWithRefunds(history)
          const kept = taken.map(({ at, cost, given }) => ({ at, cost: cost - given }))
          if (algorithm === 'sliding_window_log') expectSlidingBound(kept, amount, window)
          else expectAlignedBound(kept, amount, aligned(window))
        }),
        { numRuns: 200 },
      )
    },
  )

  it('gives at most what was taken, however often it is asked', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), TO_AND_FRO), async (history) => {
        const { world, taken } = await playWithRefunds(history)
        for (const take of taken) {
          take.given += await refund(world, take, 1_000_000_000n)
          expect(take.given).toBeLessThanOrEqual(take.cost)
          expect(await refund(world, take, 1_000_000_000n)).toBe(0n)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('gives all of it back at the same instant', async () => {
    await fc.assert(
      fc.asyncProperty(histories(smallLimits(), FORWARD), async (history) => {
        const { world } = await playWithRefunds(history)
        const before = world.peek().remaining!
        const decision = world.check()
        expect(await world.limiter.refund(decision)).toEqual(
          decision.allowed ? { requests: 1 } : {},
        )
        expect(world.peek().remaining).toBe(before)
      }),
      { numRuns: 300 },
    )
  })

  it('gives nothing once time has repaid the take and others have taken all', async () => {
    await fc.assert(
      fc.asyncProperty(buckets('token_bucket', 5n), fc.nat({ max: 100 }), async (spec, percent) => {
        const world = new World(limitOf(spec), 1_780_000_000_000_000n)
        const cost = 1n + ((spec.burst - 1n) * BigInt(percent)) / 100n
        const decision = world.check(cost)
        world.now += (cost * spec.window) / spec.amount + 1n
        expect(world.check(spec.burst).allowed).toBe(true)
        expect(await world.limiter.refund(decision)).toEqual({ requests: 0 })
        expect(world.peek().remaining).toBe(0)
      }),
      { numRuns: 300 },
    )
  })

  it('gives nothing of what time has repaid sooner because another take was given back', async () => {
    await fc.assert(
      fc.asyncProperty(buckets('token_bucket', 5n), fc.nat({ max: 100 }), async (spec, percent) => {
        const world = new World(limitOf(spec), 1_780_000_000_000_000n)
        const cost = 1n + ((spec.burst - 2n) * BigInt(percent)) / 100n
        fc.pre(spec.burst >= 2n)
        const first = world.check(cost)
        const second = world.check(spec.burst - cost)
        expect(await world.limiter.refund(first)).toEqual({ requests: Number(cost) })
        world.now += ((spec.burst - cost) * spec.window) / spec.amount + 1n
        expect(world.check(spec.burst).allowed).toBe(true)
        expect(await world.limiter.refund(second)).toEqual({ requests: 0 })
      }),
      { numRuns: 300 },
    )
  })

  it('gives nothing for a dry run or a denial', async () => {
    await fc.assert(
      fc.asyncProperty(smallLimits(), async (spec) => {
        const world = new World(limitOf(spec), MINUTE)
        expect(await world.limiter.refund(world.peek())).toEqual({})
        world.check(spec.burst)
        expect(await world.limiter.refund(world.check())).toEqual({})
        expect(world.peek().remaining).toBe(0)
      }),
      { numRuns: 100 },
    )
  })
})
