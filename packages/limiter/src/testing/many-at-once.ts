/** Checks that are asked for in one turn are decided one after the other, in their order. */
import assert from 'node:assert/strict'
import { ADA, type Chapter, FIVES, type Open } from './trial.js'

const exactly = Object.values(FIVES).map((limit) => [
  `${limit}: of 200 at once, as many pass as there is room for`,
  async (open: Open) => {
    const trial = open(limit)
    const decisions = await Promise.all(Array.from({ length: 200 }, () => trial.check(ADA)))
    const passed = decisions.filter(({ allowed }) => allowed)
    assert.deepEqual(
      passed.map(({ remaining }) => remaining),
      [4, 3, 2, 1, 0],
    )
    assert.deepEqual(decisions.slice(0, 5), passed)
  },
])

export const manyAtOnce: Chapter = {
  ...Object.fromEntries(exactly),

  'each of many subjects has its own': async (open) => {
    const trial = open(['2/h', '2/h exact'])
    const asked = Array.from({ length: 300 }, (_, i) => ({ subject: { user: `user-${i % 100}` } }))
    const decisions = await Promise.all(asked.map((request) => trial.check(request)))
    assert.deepEqual(
      decisions.map(({ allowed }) => allowed),
      asked.map((_, i) => i < 200),
    )
  },

  'different requests in one turn are each answered as if alone': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: ['10/h', '10 concurrent for 60s'] },
        tokens: { scope: 'user', additive: true, unit: 'tokens', limits: '100/h exact' },
      },
    })
    const [one, two, dry, three, key, again] = await Promise.all([
      trial.check(ADA),
      trial.check({ ...ADA, costs: { requests: 2, tokens: 60 } }),
      trial.limiter.peek({ ...ADA, cost: 7 }),
      trial.check({ ...ADA, costs: { tokens: 41 } }),
      trial.check({ ...ADA, idempotencyKey: 'k', holdId: 'h' }),
      trial.check({ ...ADA, idempotencyKey: 'k', holdId: 'h' }),
    ])
    assert.deepEqual(
      [one, two, dry, three, key, again].map(({ allowed, remaining, replayed }) => ({
        allowed,
        remaining,
        replayed,
      })),
      [
        { allowed: true, remaining: 9, replayed: false },
        { allowed: true, remaining: 40, replayed: false },
        { allowed: true, remaining: 7, replayed: false },
        { allowed: false, remaining: 40, replayed: false },
        { allowed: true, remaining: 6, replayed: false },
        { allowed: true, remaining: 6, replayed: true },
      ],
    )
  },

  'takes and refunds at once leave what was taken and not given back': async (open) => {
    const trial = open(['50/h', '50/h exact', '50/h fixed', '50/h sliding'])
    const decisions = await Promise.all(Array.from({ length: 50 }, () => trial.take(ADA)))
    const given = await Promise.all(
      decisions.slice(0, 20).map((decision) => trial.limiter.refund(decision)),
    )
    assert.deepEqual(
      given,
      given.map(() => ({ requests: 1 })),
    )
    assert.deepEqual(await trial.left(ADA), [20, 20, 20, 20])
  },
}
