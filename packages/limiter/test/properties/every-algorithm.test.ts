/** What holds for every algorithm that counts, asked of the limiter itself, without an oracle. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/index.js'
import { least } from './fraction.js'
import { costs, histories } from './histories.js'
import { amounts, buckets, type LimitSpec, plainLimits, windows } from './limits.js'
import { ASKING, Play, play } from './play.js'
import { LAST_EXACT, SUBJECT, type World } from './world.js'

const LIMITS: Record<string, fc.Arbitrary<LimitSpec>> = {
  token_bucket: buckets('token_bucket'),
  gcra: buckets('gcra'),
  leaky_bucket: buckets('leaky_bucket'),
  fixed_window: plainLimits('fixed_window'),
  sliding_window_log: plainLimits('sliding_window_log', 10_000n),
  'sliding_window_log in cells': fc
    .record({ amount: amounts(), window: windows() })
    .map(({ amount: n, window }) => {
      const amount = least(n + 10_000n, 1_000_000_000n)
      return { algorithm: 'sliding_window_log', amount, window, burst: amount }
    }),
  sliding_window_counter: plainLimits('sliding_window_counter'),
}

const RUNS = { numRuns: 200 }

/** Everything an answer says, but the state, which is remembered apart. */
function numbersOf(decision: Decision): unknown {
  const { allowed, limit, remaining, resetAtMs, delayMs, limits } = decision
  return { allowed, limit, remaining, resetAtMs, delayMs, limits }
}

function expectExactRetry(world: World, cost: bigint, retryAfterMs: number): void {
  const retryAt = world.now + BigInt(retryAfterMs) * 1000n
  if (retryAt > LAST_EXACT) return
  expect(retryAfterMs).toBeGreaterThan(0)
  expect(world.peek(cost, retryAt - 1000n).allowed).toBe(false)
  expect(world.peek(cost, retryAt).allowed).toBe(true)
}

describe.each(Object.entries(LIMITS))('%s', (_name, limits) => {
  it('denies until exactly the promised time, then admits', () => {
    fc.assert(
      fc.property(histories(limits, ASKING), (history) => {
        play(history, (world, decision, cost) => {
          if (decision.allowed || decision.retryAfterMs === null) return
          expectExactRetry(world, cost, decision.retryAfterMs)
        })
      }),
      RUNS,
    )
  })

  it('admits alone a request that comes back when it was told, and not one that comes earlier', () => {
    const cases = histories(limits, ASKING).chain((history) =>
      fc.record({ history: fc.constant(history), cost: costs(history.spec) }),
    )
    fc.assert(
      fc.property(cases, ({ history, cost }) => {
        const { world } = play(history)
        const first = world.check(cost)
        if (first.allowed || first.retryAfterMs === null) return
        const retryAt = world.now + BigInt(first.retryAfterMs) * 1000n
        if (retryAt > LAST_EXACT) return
        world.now = retryAt - 1000n
        expect(world.check(cost).allowed).toBe(false)
        world.now = retryAt
        expect(world.check(cost).allowed).toBe(true)
      }),
      RUNS,
    )
  })

  it('lets as many more pass at that instant as it says remain, and no more', () => {
    fc.assert(
      fc.property(histories(limits, ASKING), (history) => {
        const { world } = play(history, (world, { remaining }) => {
          const left = BigInt(remaining!)
          if (left > 0n) expect(world.peek(left).allowed).toBe(true)
          if (left < history.spec.burst) expect(world.peek(left + 1n).allowed).toBe(false)
        })
        const left = world.peek().remaining!
        if (left > 100) return
        for (let i = 0; i < left; i++) expect(world.check().allowed).toBe(true)
        expect(world.check().allowed).toBe(false)
      }),
      RUNS,
    )
  })

  it('tells by a peek what a check then answers', async () => {
    const cases = histories(limits, ASKING).chain((history) =>
      fc.record({ history: fc.constant(history), cost: costs(history.spec) }),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ({ history, cost }) => {
        const { world } = play(history)
        const request = { subject: SUBJECT, costs: { requests: Number(cost) } }
        const peeked = await world.limiter.peek(request)
        const checked = world.check(cost)
        expect(peeked.receipt).toBeNull()
        expect(peeked.delayMs).toBe(checked.delayMs)
        if (!checked.allowed) expect(numbersOf(peeked)).toEqual(numbersOf(checked))
        else expect(checked.remaining).toBe(peeked.remaining! - Number(cost))
        expect(peeked.allowed).toBe(checked.allowed)
      }),
      RUNS,
    )
  })

  it('is changed by no dry run', () => {
    fc.assert(
      fc.property(histories(limits, ASKING), (history) => {
        const [plain, peeked] = [new Play(history), new Play(history)]
        const { window, burst } = history.spec
        for (const step of history.steps) {
          const { world } = peeked
          for (const at of [world.now, world.now + window, world.now + 2n * window + 1n]) {
            for (const cost of [1n, burst]) world.peek(cost, at)
          }
          const [expected, answered] = [plain.do(step), peeked.do(step)]
          if (expected !== undefined) expect(numbersOf(answered!)).toEqual(numbersOf(expected))
        }
      }),
      RUNS,
    )
  })

  it('is changed and postponed by no denial', () => {
    fc.assert(
      fc.property(histories(limits, ASKING), (history) => {
        const [hasty, patient] = [new Play(history), new Play(history)]
        for (const step of history.steps) {
          const decision = hasty.do(step)
          patient.world.now = hasty.world.now
          if (step.does !== 'check' || decision?.allowed !== true) continue
          expect(numbersOf(patient.world.check(step.cost))).toEqual(numbersOf(decision))
        }
        const [expected, answered] = [patient.world.peek(), hasty.world.peek()]
        expect(numbersOf(answered)).toEqual(numbersOf(expected))
      }),
      RUNS,
    )
  })

  it('tells a cost above the capacity apart from one that does not fit now', () => {
    fc.assert(
      fc.property(histories(limits, ASKING), (history) => {
        play(history, (_world, decision, cost) => {
          if (cost > history.spec.burst) {
            expect(decision).toMatchObject({ reason: 'too_expensive', retryAfterMs: null })
          } else if (!decision.allowed) {
            expect(decision.reason).toBe('limited')
            expect(decision.retryAfterMs).toBeGreaterThan(0)
          }
        })
      }),
      RUNS,
    )
  })
})
