/** The state of an answer: throttled when denied, warning from 80 % used until below 70 %. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LimitSpec, limitOf, SECOND } from './limits.js'
import { World } from './world.js'

const STEPS = fc.array(
  fc.record({ cost: fc.bigInt(1n, 6n), pause: fc.oneof(fc.constant(0n), fc.bigInt(0n, SECOND)) }),
  { minLength: 1, maxLength: 60, size: 'max' },
)

const SPECS: fc.Arbitrary<LimitSpec> = fc
  .record({ amount: fc.bigInt(1n, 40n), burst: fc.bigInt(1n, 40n) })
  .map((numbers) => ({ algorithm: 'token_bucket', window: 5n * SECOND, ...numbers }))

describe('state', () => {
  it('warns from 80 % used until below 70 %, and says throttled of every no', () => {
    fc.assert(
      fc.property(SPECS, STEPS, (spec, steps) => {
        const world = new World(limitOf(spec), 1_780_000_000_000_000n)
        let warned = false
        for (const { cost, pause } of steps) {
          world.now += pause
          const { allowed, remaining, state } = world.check(cost)
          if (!allowed) {
            expect(state).toBe('throttled')
            continue
          }
          const used = spec.burst - BigInt(remaining!)
          if (10n * used >= 8n * spec.burst) warned = true
          else if (10n * used < 7n * spec.burst) warned = false
          expect(state).toBe(warned ? 'warning' : 'normal')
        }
      }),
      { numRuns: 250 },
    )
  })
})
