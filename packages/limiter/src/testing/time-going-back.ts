/** A clock that steps back by up to a minute mints nothing. */
import assert from 'node:assert/strict'
import { DAY_MS } from '../limits/duration.js'
import type { LimitText } from '../limits/limit-text.js'
import { ADA, type Chapter, FIVES, type Open, START, type Trial } from './trial.js'

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

/** The clock jumps a day ahead, something is taken there, and it steps back. */
async function jumpAndBack(trial: Trial, take: () => Promise<unknown>): Promise<void> {
  trial.now += DAY_MS
  await take()
  trial.now -= DAY_MS
}

const startsAnew = LIMITS.map((limit) => [
  `${limit}: after a day ahead and back, what is used is used, and no longer than that`,
  async (open: Open) => {
    const trial = open(limit)
    await trial.take(ADA)
    await jumpAndBack(trial, () => trial.take({ ...ADA, cost: 5 }))
    const { retryAfterMs } = await trial.deny(ADA)
    const longest = limit === '5 per calendar day' ? DAY_MS : 20_000
    assert.ok(retryAfterMs! <= longest, `${retryAfterMs} ms`)
    trial.now += retryAfterMs!
    await trial.take(ADA)
  },
])

const partly = LIMITS.map((limit) => [
  `${limit}: what was not used then is there`,
  async (open: Open) => {
    const trial = open(limit)
    await jumpAndBack(trial, () => trial.take({ ...ADA, cost: 2 }))
    assert.deepEqual(await trial.left(ADA), [3])
    await trial.take({ ...ADA, cost: 3 })
    await trial.deny(ADA)
  },
])

const worthless = Object.values(FIVES).map((limit) => [
  `${limit}: receipts from before and from then give nothing, also when that time comes`,
  async (open: Open) => {
    const trial = open(limit)
    const receipts = [await trial.take(ADA)]
    const start = trial.now
    await jumpAndBack(trial, async () => {
      for (let i = 0; i < 5; i++) receipts.push(await trial.take(ADA))
    })
    await trial.deny(ADA)
    const refundAll = async () => {
      for (const receipt of receipts)
        assert.equal((await trial.limiter.refund(receipt))?.['requests'] ?? 0, 0)
    }
    await refundAll()
    await trial.deny(ADA)
    trial.now = start + DAY_MS - 20_000
    await trial.take({ ...ADA, cost: 5 })
    trial.now = start + DAY_MS
    await trial.check({ ...ADA, cost: 5 })
    await refundAll()
    await trial.deny(ADA)
  },
])

export const timeGoingBack: Chapter = {
  ...Object.fromEntries([
    ...stays,
    ...remembered,
    ...oscillates,
    ...startsAnew,
    ...partly,
    ...worthless,
  ]),

  'a clock that jumps to and fro admits no more than its way ahead would': async (open) => {
    const trial = open(['5 per 10s', '5 per 10s fixed', '5 per 10s exact', '5 per 10s sliding'])
    for (const ms of [61_000, 3_600_000]) {
      const user = { subject: { user: `jumps-${ms}` } }
      let passed = 0
      for (let i = 0; i < 10; i++) {
        trial.now = START + (i % 2 === 0 ? 0 : ms)
        for (let n = 0; n < 8; n++) if ((await trial.check(user)).allowed) passed++
      }
      // Full at first, and once after each of the five ways ahead.
      assert.ok(passed <= 30, `${passed} passed`)
    }
  },

  'an answer under an idempotency key is not replayed for a day': async (open) => {
    const trial = open('5/h')
    const asked = { ...ADA, idempotencyKey: 'k' }
    await jumpAndBack(trial, () => trial.take(asked))
    assert.equal((await trial.take(asked)).replayed, false)
    assert.equal((await trial.take(asked)).replayed, true)
  },

  'a hold that was renewed then ends as one that is taken now': async (open) => {
    const trial = open('1 concurrent for 10s')
    const { hold } = await trial.take(ADA)
    for (let at = 0; at < 200_000; at += 9000) {
      trial.now += 9000
      assert.notEqual(await trial.limiter.renew(hold!), null)
    }
    trial.now = START
    assert.ok((await trial.deny(ADA)).retryAfterMs! <= 10_000)
  },

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
