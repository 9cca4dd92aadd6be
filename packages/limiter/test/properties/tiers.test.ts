/** Tiers and overrides of one rule: the same counter with other numbers. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LimitSpec, limitOf, MINUTE, oracleOf, smallLimits } from './limits.js'
import { expectAnswer } from './replay.js'
import { SUBJECT, World } from './world.js'

describe('tiers and overrides', () => {
  const cases = fc.record({
    spec: smallLimits(['fixed_window', 'sliding_window_log', 'sliding_window_counter']),
    pro: fc.bigInt(1n, 20n),
    override: fc.bigInt(1n, 20n),
    steps: fc.array(
      fc.record({
        cost: fc.bigInt(1n, 4n),
        tier: fc.constantFrom(undefined, 'pro'),
        wait: fc.oneof(fc.constant(0n), fc.bigInt(0n, MINUTE)),
      }),
      { maxLength: 40, size: 'max' },
    ),
  })

  function limitsOf(spec: LimitSpec, amount: bigint) {
    return limitOf({ ...spec, amount, burst: amount })
  }

  it('of one rule are the same counter with other numbers', () => {
    fc.assert(
      fc.property(cases, fc.nat({ max: 40 }), ({ spec, pro, override, steps }, until) => {
        const world = new World(limitOf(spec), 1_780_000_000_000_000n)
        const oracle = oracleOf(spec)
        const ends = world.now + BigInt(until) * MINUTE
        const overrides =
          until === 0
            ? []
            : [
                {
                  scope: 'user',
                  value: SUBJECT.user,
                  rule: 'rule',
                  limits: limitsOf(spec, override),
                  until: new Date(Number(ends / 1000n)),
                },
              ]
        const tiers = { pro: limitsOf(spec, pro) }
        world.limiter.setRules({
          rules: { rule: { scope: 'user', limits: limitOf(spec), tiers } },
          overrides,
        })
        for (const { cost, tier, wait } of steps) {
          world.now += wait
          const { now } = world
          oracle.limit = now < ends ? override : tier === 'pro' ? pro : spec.amount
          const fits = oracle.fits(cost, now, '')
          const decision = world.check(cost, tier === undefined ? {} : { tier })
          if (fits) oracle.take(cost, now, '')
          expectAnswer(decision, oracle, cost, now, { fits })
        }
      }),
      { numRuns: 250 },
    )
  })

  it('are all emptied by a reset', async () => {
    const buckets = fc.record({ own: fc.bigInt(1n, 1000n), pro: fc.bigInt(1n, 1000n) })
    await fc.assert(
      fc.asyncProperty(buckets, fc.bigInt(0n, MINUTE), async ({ own, pro }, wait) => {
        const bucket = (amount: bigint) =>
          limitOf({ algorithm: 'token_bucket', amount, window: MINUTE, burst: 10n })
        const world = new World(bucket(own), 1_780_000_000_000_000n)
        const tiers = { pro: bucket(pro) }
        world.limiter.setRules({ rules: { rule: { scope: 'user', limits: bucket(own), tiers } } })
        for (const tier of ['pro', undefined]) {
          const more = tier === undefined ? {} : { tier }
          world.check(10n, more)
          world.now += wait
          const inUse = world.peek(1n, world.now, more).remaining! < 10
          const reset = await world.reset()
          if (inUse) expect(reset).toBe(1)
          expect(world.peek(1n, world.now, more).remaining).toBe(10)
        }
      }),
      { numRuns: 300 },
    )
  })
})
