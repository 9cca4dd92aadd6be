/** What is used of a rule in shards: every take, debt and grant, wherever it is counted. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { worldOf } from './over-memory.js'

const ADA = { subject: { user: 'ada' } }
const LIMIT = 80

type Step =
  | { readonly does: 'check'; readonly cost: number }
  | { readonly does: 'overrun'; readonly more: number }
  | { readonly does: 'grant'; readonly cost: number }
  | { readonly does: 'change'; readonly limit: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('check' as const),
      cost: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('overrun' as const),
      more: fc.integer({ min: 1, max: 60 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('grant' as const),
      cost: fc.integer({ min: 1, max: 30 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('change' as const),
      limit: fc.integer({ min: 40, max: 120 }),
    }),
  },
)

const rulesOf = (limit: number) => ({
  hot: { scope: 'user', limits: `${limit}/h fixed` as const, shards: 4 },
})

/** Of a fixed window every step is a whole number, so the sum of them is the oracle. */
it('is the sum of what was taken, in debt and after changes, of quotas and of checks', async () => {
  let debts = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const world = worldOf(rulesOf(LIMIT))
      const [limiter] = world.limiters as [(typeof world.limiters)[0]]
      let used = 0
      for (const each of steps) {
        if (each.does === 'check') {
          const costs = { requests: each.cost }
          const decision = await limiter.check({ ...ADA, costs })
          if (decision.allowed) used += each.cost
          expect(decision.used).toBe(used)
        } else if (each.does === 'overrun') {
          const reservation = await limiter.reserve(ADA)
          if (!reservation.allowed) continue
          await reservation.settle(1 + each.more)
          used += 1 + each.more
        } else if (each.does === 'grant') {
          const granted = await limiter.refund({ ...ADA, cost: each.cost })
          used -= granted!['requests'] ?? 0
        } else limiter.setRules({ rules: rulesOf(each.limit) })
        const quota = await limiter.peek(ADA)
        expect(quota.used).toBe(used)
        if (used + quota.remaining! > quota.limit!) debts++
      }
    }),
    { numRuns: 300 },
  )
  expect(debts).toBeGreaterThan(100)
})

it('is the same whatever cost is asked for', async () => {
  const world = worldOf(rulesOf(LIMIT))
  const [limiter] = world.limiters as [(typeof world.limiters)[0]]
  for (let n = 0; n < 64; n++) await limiter.check(ADA)
  expect(await limiter.peek(ADA)).toMatchObject({ allowed: true, used: 64, remaining: 16 })
  // Four are left in every shard.
  const denied = await limiter.peek({ ...ADA, cost: 5 })
  expect(denied).toMatchObject({ used: 64 })
})
