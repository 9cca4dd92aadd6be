/** What an answer says is exact: how much is left, when to come back, when all is back. */
import assert from 'node:assert/strict'
import type { Decision } from '../decision.js'
import type { LimitText } from '../limits/limit-text.js'
import { ADA, type Chapter, FIVES, type Open, START, type Trial } from './trial.js'

/** Windows and amounts that divide each other, and others. */
const LIMITS: readonly LimitText[] = [
  ...Object.values(FIVES),
  '7 per 10s',
  '7 per 10s smooth 2',
  '7 per 10s queue 3',
  '3 per 1001ms',
  '3 per 1001ms fixed',
  '3 per 1001ms exact',
  '3 per 1001ms sliding',
  '11 per 1h burst 4',
  '5 per calendar day in Europe/Berlin',
]

async function fill(trial: Trial): Promise<void> {
  const [left] = await trial.left(ADA)
  if (left !== 0) await trial.take({ ...ADA, cost: left! })
}

function numbersOf({ limit, remaining, resetAtMs, delayMs }: Decision): unknown {
  return { limit, remaining, resetAtMs, delayMs }
}

const retries = LIMITS.map((limit) => [
  `${limit}: denied a millisecond before the retry time, allowed then`,
  async (open: Open) => {
    const trial = open(limit)
    trial.now += 123.457
    for (const cost of [1, 2, 1]) {
      await fill(trial)
      await trial.awaitRetry({ ...ADA, cost })
    }
  },
])

const remainders = LIMITS.map((limit) => [
  `${limit}: n left means that n more pass`,
  async (open: Open) => {
    const trial = open(limit)
    for (const ms of [0, 700.001, 1501, 333.333]) {
      trial.now += ms
      const [left] = await trial.left(ADA)
      for (let i = 0; i < left!; i++) await trial.take(ADA)
      await trial.deny(ADA)
    }
  },
])

export const numbersOfAnswers: Chapter = {
  ...Object.fromEntries([...retries, ...remainders]),

  'a token bucket says what it holds and when it is full again': async (open) => {
    const trial = open('5 per 10s')
    const decision = await trial.take({ ...ADA, cost: 2 })
    assert.deepEqual(numbersOf(decision), {
      limit: 5,
      remaining: 3,
      resetAtMs: START + 4000,
      delayMs: 0,
    })
    trial.now += 2000
    assert.deepEqual(await trial.left(ADA), [4])
  },

  'a leaky bucket says how long to hold a request': async (open) => {
    const trial = open('1/s queue 2')
    const delays = []
    for (let i = 0; i < 3; i++) delays.push((await trial.take(ADA)).delayMs)
    assert.deepEqual(delays, [0, 1000, 2000])
    assert.equal((await trial.deny(ADA)).retryAfterMs, 1000)
  },

  'a fixed window says its end, and counts anew after it': async (open) => {
    const trial = open('5 per 10s fixed')
    trial.now = START + 3000
    const decision = await trial.take({ ...ADA, cost: 4 })
    assert.deepEqual(numbersOf(decision), {
      limit: 5,
      remaining: 1,
      resetAtMs: START + 10_000,
      delayMs: 0,
    })
    trial.now = START + 10_000
    assert.deepEqual(await trial.left(ADA), [5])
  },

  'a log counts each request for one window, wherever it starts': async (open) => {
    const trial = open('3 per 10s exact')
    for (const ms of [0, 4000, 4000]) {
      trial.now += ms
      await trial.take(ADA)
    }
    assert.equal((await trial.deny(ADA)).retryAfterMs, 2000)
    assert.equal((await trial.deny({ ...ADA, cost: 2 })).retryAfterMs, 6000)
    assert.equal((await trial.deny(ADA)).resetAtMs, START + 18_000)
    trial.now += 2000
    await trial.take(ADA)
    await trial.deny(ADA)
  },

  'a sliding counter weighs the window before': async (open) => {
    const trial = open('10 per 10s sliding')
    await trial.take({ ...ADA, cost: 10 })
    trial.now = START + 14_999
    assert.deepEqual(await trial.left(ADA), [4])
    trial.now = START + 15_001
    assert.deepEqual(await trial.left(ADA), [5])
    trial.now = START + 20_000
    assert.deepEqual(await trial.left(ADA), [10])
  },

  'on top is the limit that blocks longest, else the one with the least left': async (open) => {
    const trial = open(['4 per 10s', '9 per 1h fixed', '20 per 1h exact'])
    assert.equal((await trial.take(ADA)).limit, 4)
    trial.now += 10_000
    await trial.take({ ...ADA, cost: 4 })
    trial.now += 10_000
    const third = await trial.take({ ...ADA, cost: 4 })
    assert.deepEqual([third.limit, third.remaining], [4, 0])
    const denied = await trial.deny(ADA)
    assert.deepEqual([denied.limit, denied.limits.length], [9, 3])
  },

  'a cost above what the smallest shard holds never passes': async (open) => {
    const limits: LimitText[] = ['42 per 10s', '99 per 1h fixed', '99 per 1h exact']
    const shadow = { scope: 'user', limits, shards: 4, additive: true, shadow: true } as const
    const trial = open({ rules: { hot: { scope: 'user', limits, shards: 4 }, shadow } })
    for (const dryRun of [true, false]) {
      const denied = await trial.deny({ ...ADA, cost: 11, dryRun })
      assert.deepEqual(
        [denied.reason, denied.retryAfterMs, denied.limit],
        ['too_expensive', null, 42],
      )
      const told = denied.limits.map(({ allowed, retryAfterMs }) => [allowed, retryAfterMs])
      const one = [
        [false, null],
        [true, null],
        [true, null],
      ]
      assert.deepEqual(told, [...one, ...one])
    }
    assert.deepEqual(await trial.left(ADA), [42, 99, 99, 42, 99, 99])
    await trial.take({ ...ADA, cost: 10 })
    assert.deepEqual(await trial.left(ADA), [32, 89, 89, 32, 89, 89])
  },
}
