/** A shadow rule is counted and reported, never enforced. */
import assert from 'node:assert/strict'
import { ADA, type Chapter, EVERY_FIVE } from './trial.js'

const RULES = {
  rules: {
    user: { scope: 'user', limits: '3/h' },
    trial: {
      scope: 'user',
      shadow: true,
      additive: true,
      limits: ['5/h', '2/h fixed', '4/h exact'],
    },
  },
} as const

export const shadowRules: Chapter = {
  'it counts beside what is enforced, and is told apart': async (open) => {
    const trial = open(RULES)
    const { limits, rule, remaining } = await trial.take(ADA)
    assert.deepEqual([rule, remaining], ['user', 2])
    assert.deepEqual(
      limits.map(({ rule, shadow, remaining }) => [rule, shadow, remaining]),
      [
        ['user', false, 2],
        ['trial', true, 4],
        ['trial', true, 1],
        ['trial', true, 3],
      ],
    )
  },

  'a shadow limit that would deny lets pass, and is not charged': async (open) => {
    const trial = open(RULES)
    await trial.take({ ...ADA, cost: 2 })
    const third = await trial.take(ADA)
    assert.deepEqual(
      third.limits.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 0],
        [true, 2],
        [false, 0],
        [true, 1],
      ],
    )
    assert.deepEqual([third.rule, third.allowed], ['user', true])
  },

  'an enforced denial charges no shadow limit': async (open) => {
    const trial = open(RULES)
    await trial.take({ ...ADA, cost: 3 })
    const before = await trial.outlook(ADA)
    await trial.deny(ADA)
    assert.deepEqual(await trial.outlook(ADA), before)
  },

  'alone it never denies and gives no numbers on top': async (open) => {
    const trial = open({ rules: { trial: { scope: 'user', shadow: true, limits: EVERY_FIVE } } })
    for (let i = 0; i < 12; i++) {
      const { allowed, limit, remaining, delayMs } = await trial.check(ADA)
      assert.deepEqual([allowed, limit, remaining, delayMs], [true, null, null, 0])
    }
    assert.deepEqual(
      await trial.left(ADA),
      EVERY_FIVE.map(() => 0),
    )
  },

  'giving back gives back what it was charged, and no more': async (open) => {
    const trial = open(RULES)
    await trial.take({ ...ADA, cost: 2 })
    const decision = await trial.take(ADA)
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 1 })
    assert.deepEqual(await trial.left(ADA), [1, 3, 0, 2])
  },

  'a shadow hold is never in the way': async (open) => {
    const trial = open({
      rules: {
        own: { scope: 'user', limits: '3 concurrent for 60s' },
        trial: { scope: 'user', shadow: true, additive: true, limits: '1 concurrent for 60s' },
      },
    })
    const { hold } = await trial.take({ ...ADA, holdId: 'a' })
    const other = await trial.take({ ...ADA, holdId: 'b' })
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [1, 0])
    assert.equal(await trial.limiter.release(other.hold!), true)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [2, 0])
    assert.equal(await trial.limiter.release(hold!), true)
    assert.deepEqual(await trial.left({ ...ADA, holdId: 'z' }), [3, 1])
  },

  'a rollout enforces for a part of the subjects, and counts them all alike': async (open) => {
    const partly = { scope: 'user', limits: '2/h', rollout: 50 } as const
    const trial = open({ rules: { partly } })
    const users = Array.from({ length: 40 }, (_, i) => `u${i}`)
    const denied: string[] = []
    for (const user of users) {
      await trial.take({ subject: { user }, cost: 2 })
      const { allowed, limits } = await trial.check({ subject: { user } })
      if (!allowed) denied.push(user)
      assert.deepEqual([limits[0]!.shadow, limits[0]!.remaining], [allowed, 0])
    }
    assert.ok(denied.length > 8 && denied.length < 32, `${denied.length} of 40`)
    trial.limiter.setRules({ rules: { partly: { ...partly, rollout: 100 } } })
    for (const user of users) await trial.deny({ subject: { user } })
  },
}
