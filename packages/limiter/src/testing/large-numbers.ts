/** Nothing drifts and nothing is rounded, up to the ends of the stated ranges. */
import assert from 'node:assert/strict'
import { DAY_MS } from '../limits/duration.js'
import type { LimitText } from '../limits/limit-text.js'
import { ADA, type Chapter, type Open, START } from './trial.js'

const LARGE: readonly LimitText[] = [
  '1000000000 per 366d',
  '999999937 per 366d',
  '1000000000 per 366d fixed',
  '1000000000 per 366d sliding',
  '1000000000 per 366d exact',
  '999999937 per 1001ms',
]

const counted = LARGE.map((limit) => [
  `${limit}: counted to the last token`,
  async (open: Open) => {
    const trial = open(limit)
    const [full] = await trial.left(ADA)
    await trial.take({ ...ADA, costs: { requests: full! - 1 } })
    assert.deepEqual(await trial.left(ADA), [1])
    await trial.take(ADA)
    await trial.awaitRetry(ADA)
  },
])

export const largeNumbers: Chapter = {
  ...Object.fromEntries(counted),

  'a bucket refills to the microsecond': async (open) => {
    const trial = open('1000/s')
    trial.now = START + 0.123
    assert.equal((await trial.take(ADA)).resetAtMs, START + 2)
    trial.now = START + 1.122
    assert.deepEqual(await trial.left(ADA), [999])
    trial.now = START + 1.123
    assert.deepEqual(await trial.left(ADA), [1000])
  },

  'a rate that divides no window gains nothing over many takes': async (open) => {
    const trial = open('7 per 1s')
    await trial.take({ ...ADA, cost: 7 })
    let passed = 0
    for (let i = 0; i < 100; i++) {
      trial.now += 100
      while ((await trial.check(ADA)).allowed) passed++
    }
    assert.equal(passed, 70)
  },

  'a log of large limits keeps its promise': async (open) => {
    const trial = open('20000 per 10s exact')
    for (let i = 0; i < 20; i++) {
      await trial.take({ ...ADA, cost: 1000 })
      trial.now += 100
    }
    await trial.deny(ADA)
    trial.now = START + 9999
    await trial.deny(ADA)
    trial.now = START + 10_020
    await trial.take({ ...ADA, cost: 1000 })
    await trial.deny(ADA)
  },

  'a log of many entries is read in order, refunded in the middle and trimmed': async (open) => {
    const trial = open('100 per 10s exact')
    const decisions = []
    for (let i = 0; i < 100; i++) {
      decisions.push(await trial.take(ADA))
      trial.now += 50
    }
    assert.equal((await trial.deny({ ...ADA, cost: 70 })).retryAfterMs, 5000 + 69 * 50)
    assert.deepEqual(await trial.limiter.refund(decisions[40]!), { requests: 1 })
    assert.equal((await trial.deny({ ...ADA, cost: 70 })).retryAfterMs, 5000 + 69 * 50)
    trial.now = START + 10_000 + 59 * 50
    assert.deepEqual(await trial.left(ADA), [60])
    await trial.take({ ...ADA, cost: 60 })
    assert.equal((await trial.deny(ADA)).retryAfterMs, 50)
  },

  'a row is kept for as long as it says anything: a year': async (open) => {
    const trial = open(['1 per 366d', '1 per 366d exact', '1 per 366d fixed'])
    await trial.take(ADA)
    trial.now += 365 * DAY_MS
    assert.deepEqual((await trial.left(ADA)).slice(0, 2), [0, 0])
    await trial.deny(ADA)
  },
}
