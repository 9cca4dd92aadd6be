/** A clock that steps back by up to a minute mints nothing. */
import assert from 'node:assert/strict'
import type { LimitText } from '../limits/limit-text.js'
import { ADA, type Chapter, FIVES, type Open, START } from './trial.js'

const LIMITS: readonly LimitText[] = [
  ...Object.values(FIVES),
  '5 per calendar day',
  '5 concurrent for 10s',
]

const stays = LIMITS.map((limit) => [
  `${limit}: what is used stays used`,
  async (open: Open) => {
    const trial = open(limit)
    await trial.take({ ...ADA, cost: 5 })
    for (const ms of [0.001, 1000, 58_999]) {
      trial.now -= ms
      assert.deepEqual(await trial.left(ADA), [0])
      await trial.deny(ADA)
    }
  },
])

const remembered = LIMITS.map((limit) => [
  `${limit}: a counter that is empty is remembered for a minute`,
  async (open: Open) => {
    const trial = open(limit)
    const decision = await trial.take({ ...ADA, cost: 5 })
    const emptyAt = decision.limits[0]!.resetAtMs
    trial.now = emptyAt - 1000
    const [before] = await trial.left(ADA)
    trial.now = emptyAt + 58_000
    for (let i = 0; i < 20; i++) await trial.check({ subject: { user: `stranger-${i}` } })
    trial.now = emptyAt - 1000
    assert.deepEqual(await trial.left(ADA), [before])
  },
])

const oscillates = Object.values(FIVES).map((limit) => [
  `${limit}: an oscillating clock admits no more than its latest time would`,
  async (open: Open) => {
    const trial = open(limit)
    let passed = 0
    for (let i = 0; i < 40; i++) {
      trial.now = START + (i % 2 === 0 ? 0 : 9000)
      if ((await trial.check(ADA)).allowed) passed++
    }
    assert.ok(passed <= 9, `${passed} passed`)
    trial.now = START + 9000
    await trial.deny({ ...ADA, cost: 5 })
  },
])

export const timeGoingBack: Chapter = {
  ...Object.fromEntries([...stays, ...remembered, ...oscillates]),

  'what was taken at the earlier time can be given back': async (open) => {
    const trial = open(['5/h', '5/h fixed', '5/h exact', '5/h sliding'])
    await trial.take(ADA)
    trial.now -= 30_000
    const decision = await trial.take({ ...ADA, cost: 2 })
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 2 })
    trial.now += 30_000
    assert.deepEqual(await trial.left(ADA), [4, 4, 4, 4])
  },

  'giving back gives no more than the later time had left of it': async (open) => {
    const trial = open('6/min')
    const decision = await trial.take({ ...ADA, cost: 6 })
    trial.now += 30_000
    await trial.take({ ...ADA, cost: 3 })
    trial.now -= 30_000
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 3 })
  },
}
