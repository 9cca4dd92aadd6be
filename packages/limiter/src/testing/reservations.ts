/** An estimate is corrected once: what was too much comes back, what was too little is taken, into debt. */
import assert from 'node:assert/strict'
import { ADA, type Chapter, FIVES, type Open, START } from './trial.js'

const less = Object.values(FIVES).map((limit) => [
  `${limit}: what an estimate took too much comes back`,
  async (open: Open) => {
    const trial = open(limit)
    const call = await trial.limiter.reserve({ ...ADA, cost: 4 })
    assert.deepEqual(await call.settle(1), { givenBack: { requests: 3 }, taken: {} })
    assert.deepEqual(await call.settle(4), { givenBack: { requests: 3 }, taken: {} })
    assert.deepEqual(await trial.left(ADA), [4])
  },
])

const more = Object.values(FIVES).map((limit) => [
  `${limit}: what it took too little is taken, though it be debt`,
  async (open: Open) => {
    const trial = open(limit)
    const call = await trial.limiter.reserve({ ...ADA, cost: 3 })
    assert.deepEqual(await call.settle(4), { givenBack: {}, taken: { requests: 1 } })
    assert.deepEqual(await trial.left(ADA), [1])
    const next = await trial.limiter.reserve(ADA)
    assert.deepEqual(await next.settle(4), { givenBack: {}, taken: { requests: 3 } })
    assert.deepEqual(await trial.left(ADA), [0])
    await trial.awaitRetry(ADA)
  },
])

export const reservations: Chapter = {
  ...Object.fromEntries([...less, ...more]),

  'debt delays later requests by as long as it takes to repay': async (open) => {
    const trial = open('5 per 10s')
    const call = await trial.limiter.reserve({ ...ADA, cost: 5 })
    await call.settle(15)
    assert.equal((await trial.deny(ADA)).retryAfterMs, 22_000)
    assert.equal((await trial.limiter.peek(ADA)).resetAtMs, START + 30_000)
    trial.now += 21_999
    await trial.deny(ADA)
    trial.now += 1
    await trial.take(ADA)
  },

  'every limit of every rule is settled, by unit': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', unit: 'tokens', limits: ['1000/h', '5000/d fixed'] },
        org: { scope: 'org', unit: 'tokens', limits: '9000/h exact' },
        calls: { scope: 'user', additive: true, limits: '9/h sliding' },
      },
    })
    const request = { subject: { user: 'ada', org: 'acme' }, costs: { requests: 1, tokens: 400 } }
    const call = await trial.limiter.reserve(request)
    const settled = await call.settle({ tokens: 1400 })
    assert.deepEqual(settled, { givenBack: {}, taken: { tokens: 1000 } })
    const limits = await trial.limits(request)
    const left = Object.fromEntries(limits.map((each) => [each.limit, each.remaining]))
    assert.deepEqual(left, { 1000: 0, 5000: 3600, 9000: 7600, 9: 8 })
  },

  'unsettled, the estimate stands': async (open) => {
    const trial = open('5/h')
    {
      await using call = await trial.limiter.reserve({ ...ADA, cost: 2 })
      assert.equal(call.allowed, true)
    }
    assert.deepEqual(await trial.left(ADA), [3])
  },

  'a denied estimate takes nothing and settles nothing': async (open) => {
    const trial = open('5/h')
    await trial.take({ ...ADA, cost: 4 })
    const call = await trial.limiter.reserve({ ...ADA, cost: 2 })
    assert.equal(call.allowed, false)
    assert.deepEqual(await call.settle(9), { givenBack: {}, taken: {} })
    assert.deepEqual(await trial.left(ADA), [1])
  },

  'a reset forgives debt': async (open) => {
    const trial = open(['5 per 10s', '5 per 10s fixed', '5 per 10s exact'])
    const call = await trial.limiter.reserve({ ...ADA, cost: 5 })
    await call.settle(50)
    assert.equal(await trial.limiter.reset({ user: 'ada' }), 1)
    assert.deepEqual(await trial.left(ADA), [5, 5, 5])
  },
}
