/** Reserve and settle: an estimate corrected once; an overrun is debt that delays exactly. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { least } from './fraction.js'
import { limitOf, MINUTE, oracleOf, smallLimits } from './limits.js'
import { expectAnswer } from './replay.js'
import { World } from './world.js'

const CASES = smallLimits().chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    estimate: fc.bigInt(1n, spec.burst),
    used: fc.bigInt(0n, 3n * spec.burst),
    others: fc.bigInt(0n, spec.burst),
    pause: fc.oneof(fc.constant(0n), fc.bigInt(0n, 2n * spec.window)),
  }),
)

const START = 1_780_000_000_123_457n

describe('a reservation', () => {
  it('gives back what it did not use, or delays others by what it used beyond', async () => {
    await fc.assert(
      fc.asyncProperty(CASES, async ({ spec, estimate, used, others, pause }) => {
        const world = new World(limitOf(spec), START)
        const oracle = oracleOf(spec)
        const reservation = await world.reserve(estimate)
        const giveBack = oracle.take(estimate, START, '')
        if (others > 0n && world.check(others).allowed) oracle.take(others, START, '')
        world.now += pause
        const settlement = await reservation.settle(Number(used))
        if (used < estimate) {
          const given = giveBack(estimate - used, world.now)
          expect(settlement).toEqual({ givenBack: { requests: Number(given) }, taken: {} })
        } else if (used > estimate) {
          oracle.charge(used - estimate, world.now)
          const taken = { requests: Number(used - estimate) }
          expect(settlement).toEqual({ givenBack: {}, taken })
        }
        for (const cost of [1n, spec.burst]) expectAnswer(world.peek(cost), oracle, cost, world.now)
      }),
      { numRuns: 300 },
    )
  })

  it('in debt denies until exactly the time it says, then admits', async () => {
    await fc.assert(
      fc.asyncProperty(CASES, async ({ spec, estimate, used, pause }) => {
        const world = new World(limitOf(spec), START)
        const reservation = await world.reserve(estimate)
        world.now += least(pause, spec.window)
        await reservation.settle(Number(spec.burst + used))
        const denied = world.check()
        if (denied.allowed) return
        const retryAt = world.now + BigInt(denied.retryAfterMs!) * 1000n
        world.now = retryAt - 1000n
        expect(world.check().allowed).toBe(false)
        world.now = retryAt
        expect(world.check().allowed).toBe(true)
      }),
      { numRuns: 250 },
    )
  })

  it('is settled once: settling again answers the same and changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(CASES, fc.bigInt(0n, 20n), async ({ spec, estimate, used }, again) => {
        const world = new World(limitOf(spec), START)
        const reservation = await world.reserve(estimate)
        const settlement = await reservation.settle(Number(used))
        const { remaining, resetAtMs } = world.peek()
        expect(await reservation.settle(Number(again))).toEqual(settlement)
        expect(world.peek()).toMatchObject({ remaining, resetAtMs })
      }),
      { numRuns: 200 },
    )
  })

  it('stands as estimated where nobody settles it', async () => {
    await fc.assert(
      fc.asyncProperty(CASES, async ({ spec, estimate }) => {
        const [reserved, checked] = [
          new World(limitOf(spec), START),
          new World(limitOf(spec), START),
        ]
        {
          await using reservation = await reserved.reserve(estimate)
          expect(reservation.allowed).toBe(true)
        }
        checked.check(estimate)
        const { remaining, resetAtMs } = checked.peek()
        expect(reserved.peek()).toMatchObject({ remaining, resetAtMs })
      }),
      { numRuns: 200 },
    )
  })

  it('that was denied took nothing, and settling it takes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(CASES, async ({ spec, estimate, used }) => {
        const world = new World(limitOf(spec), MINUTE)
        world.check(spec.burst)
        const { resetAtMs } = world.peek()
        const reservation = await world.reserve(estimate)
        expect(reservation.allowed).toBe(false)
        expect(await reservation.settle(Number(used))).toEqual({ givenBack: {}, taken: {} })
        expect(world.peek().resetAtMs).toBe(resetAtMs)
      }),
      { numRuns: 200 },
    )
  })
})
