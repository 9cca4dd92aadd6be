/** Idempotency keys: the first allowed answer again for 5 minutes, counted once; denials are not stored. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../src/index.js'
import { limitOf, MINUTE, oracleOf, SECOND, smallLimits } from './limits.js'
import { expectAnswer } from './replay.js'
import { World } from './world.js'

const STEPS = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    cost: fc.bigInt(1n, 3n),
    pause: fc.constantFrom(0n, 0n, SECOND, MINUTE, 5n * MINUTE - 1n, 5n * MINUTE + 1n),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

interface Stored {
  readonly decision: Decision
  readonly cost: bigint
  readonly at: bigint
}

function shown({ limit, remaining, resetAtMs, rule, delayMs, limits }: Decision): unknown {
  return { limit, remaining, resetAtMs, rule, delayMs, limits }
}

describe('an idempotency key', () => {
  it('brings the first allowed answer again for 5 minutes, and counts it once', () => {
    fc.assert(
      fc.property(smallLimits(), STEPS, (spec, steps) => {
        const world = new World(limitOf(spec), 1_780_000_000_123_457n)
        const oracle = oracleOf(spec)
        const stored = new Map<string, Stored>()
        for (const { key, cost, pause } of steps) {
          world.now += pause
          const { now } = world
          const ask = () => world.check(cost, { idempotencyKey: key })
          const known = stored.get(key)
          if (known !== undefined && now - known.at < 5n * MINUTE) {
            if (known.cost !== cost) {
              expect(ask).toThrow(expect.objectContaining({ code: 'idempotency_conflict' }))
              continue
            }
            const replayed = ask()
            expect(replayed.allowed && replayed.replayed).toBe(true)
            expect(shown(replayed)).toEqual(shown(known.decision))
            continue
          }
          const [fits, releaseAt] = [oracle.fits(cost, now, ''), oracle.releaseAt(now)]
          const decision = ask()
          if (fits) {
            oracle.take(cost, now, '')
            stored.set(key, { decision, cost, at: now })
          }
          expect(decision.replayed).toBe(false)
          expectAnswer(decision, oracle, cost, now, { fits, releaseAt })
        }
      }),
      { numRuns: 250 },
    )
  })

  it('lets what was taken be given back once, whichever of its answers is shown', async () => {
    await fc.assert(
      fc.asyncProperty(smallLimits(), fc.boolean(), async (spec, replayFirst) => {
        const world = new World(limitOf(spec), 1_780_000_000_123_457n)
        const half = (spec.burst + 1n) / 2n
        const taken = world.check(half).allowed ? spec.burst - half : 0n
        if (taken === 0n) return
        const first = world.check(taken, { idempotencyKey: 'key' })
        const second = world.check(taken, { idempotencyKey: 'key' })
        const answers = replayFirst ? [second, first] : [first, second]
        for (const answer of answers) await world.limiter.refund(answer)
        expect(world.peek().remaining).toBe(Number(taken))
      }),
      { numRuns: 200 },
    )
  })
})
