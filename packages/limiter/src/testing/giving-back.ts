/** By receipt at most what was taken, once, and what time has left of it; without one at most what is used. */
import assert from 'node:assert/strict'
import { ADA, BOB, type Chapter, EVERY_FIVE, FIVES, type Open } from './trial.js'

const { leaky_bucket: _, ...UNQUEUED } = FIVES

const once = Object.values(FIVES).map((limit) => [
  `${limit}: a receipt gives back what was taken, once`,
  async (open: Open) => {
    const trial = open(limit)
    await trial.take(ADA)
    const decision = await trial.take({ ...ADA, cost: 3 })
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 3 })
    assert.deepEqual(await trial.limiter.refund(decision), {})
    assert.deepEqual(await trial.left(ADA), [4])
    assert.deepEqual(await trial.left(BOB), [5])
  },
])

const parts = Object.values(UNQUEUED).map((limit) => [
  `${limit}: it may be given back in parts`,
  async (open: Open) => {
    const trial = open(limit)
    const decision = await trial.take({ ...ADA, cost: 3 })
    await trial.take({ ...ADA, cost: 2 })
    assert.deepEqual(await trial.limiter.refund(decision, 2), { requests: 2 })
    assert.deepEqual(await trial.limiter.refund(decision, 2), { requests: 1 })
    assert.deepEqual(await trial.limiter.refund(decision, 2), {})
    assert.deepEqual(await trial.left(ADA), [3])
  },
])

const late = Object.values(FIVES).map((limit) => [
  `${limit}: what time has given back is not given again`,
  async (open: Open) => {
    const trial = open(limit)
    const decision = await trial.take({ ...ADA, cost: 5 })
    trial.now += 20_000
    await trial.take({ ...ADA, cost: 5 })
    const given = await trial.limiter.refund(decision)
    assert.equal(given?.['requests'] ?? 0, 0)
    assert.deepEqual(await trial.left(ADA), [0])
  },
])

const granted = Object.values(FIVES).map((limit) => [
  `${limit}: a grant gives at most what is used`,
  async (open: Open) => {
    const trial = open(limit)
    await trial.take({ ...ADA, cost: 3 })
    assert.deepEqual(await trial.limiter.refund({ ...ADA, cost: 2 }), { requests: 2 })
    assert.deepEqual(await trial.left(ADA), [4])
    assert.deepEqual(await trial.limiter.refund({ ...ADA, cost: 4 }), { requests: 1 })
    assert.deepEqual(await trial.left(ADA), [5])
    assert.deepEqual(await trial.limiter.refund({ ...ADA, cost: 4 }), { requests: 0 })
    await trial.take({ ...ADA, cost: 5 })
    await trial.deny(ADA)
  },
])

export const givingBack: Chapter = {
  ...Object.fromEntries([...once, ...parts, ...late, ...granted]),

  'a bucket’s receipt gives what time has left of the take': async (open) => {
    const trial = open('5 per 10s')
    const decision = await trial.take({ ...ADA, cost: 5 })
    trial.now += 4001
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 2 })
    assert.deepEqual(await trial.left(ADA), [4])
  },

  'refunds move other takes up the queue, so that two give no more than both took': async (
    open,
  ) => {
    const trial = open('5 per 10s')
    const one = await trial.take({ ...ADA, cost: 3 })
    const two = await trial.take({ ...ADA, cost: 2 })
    trial.now += 4000
    assert.deepEqual(await trial.limiter.refund(one), { requests: 1 })
    assert.deepEqual(await trial.limiter.refund(two), { requests: 2 })
    assert.deepEqual(await trial.left(ADA), [5])
  },

  'every limit of every rule is given back to': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: EVERY_FIVE },
        org: { scope: 'org', limits: ['9/h', '9/h exact'] },
      },
    })
    const request = { subject: { user: 'ada', org: 'acme' } }
    const decision = await trial.take({ ...request, cost: 4 })
    assert.deepEqual(await trial.limiter.refund(decision, 3), { requests: 3 })
    const lefts = [...EVERY_FIVE.map(() => 4), 8, 8]
    assert.deepEqual(await trial.left(request), lefts)
  },

  'amounts are given back by unit': async (open) => {
    const trial = open({
      rules: {
        calls: { scope: 'user', limits: '5/h' },
        tokens: { scope: 'user', unit: 'tokens', additive: true, limits: '1000/h fixed' },
      },
    })
    const request = { ...ADA, costs: { requests: 2, tokens: 300 } }
    const decision = await trial.take(request)
    assert.deepEqual(await trial.limiter.refund(decision, { tokens: 100 }), { tokens: 100 })
    assert.deepEqual(await trial.left(request), [3, 800])
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 2, tokens: 200 })
    assert.deepEqual(await trial.left(request), [5, 1000])
  },

  'a denial and a dry run have nothing to give back': async (open) => {
    const trial = open('5/h')
    const dry = await trial.limiter.peek(ADA)
    await trial.take({ ...ADA, cost: 5 })
    assert.deepEqual(await trial.limiter.refund(dry), {})
    assert.deepEqual(await trial.limiter.refund(await trial.deny(ADA)), {})
    assert.deepEqual(await trial.left(ADA), [0])
  },

  'a reset gives back all, and voids every receipt from before': async (open) => {
    const trial = open(EVERY_FIVE)
    const decision = await trial.take({ ...ADA, cost: 4 })
    await trial.take({ ...BOB, cost: 2 })
    assert.equal(await trial.limiter.reset({ user: 'ada' }), 1)
    assert.deepEqual(
      await trial.left(ADA),
      EVERY_FIVE.map(() => 5),
    )
    assert.equal(await trial.limiter.reset({ user: 'ada' }), 0)
    await trial.take({ ...ADA, cost: 3 })
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 0 })
    assert.deepEqual(
      await trial.left(ADA),
      EVERY_FIVE.map(() => 2),
    )
    assert.deepEqual(
      await trial.left(BOB),
      EVERY_FIVE.map(() => 3),
    )
  },

  'a reset of one rule leaves the others, and says how many counters were in use': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: '5/h' },
        more: { scope: 'user', limits: '9/h exact', additive: true },
        org: { scope: 'org', limits: '7/h fixed' },
      },
    })
    const request = { subject: { user: 'ada', org: 'acme' } }
    await trial.take({ ...request, cost: 2 })
    assert.equal(await trial.limiter.reset(request.subject, { rule: 'more' }), 1)
    assert.deepEqual(await trial.left(request), [3, 9, 5])
    assert.equal(await trial.limiter.reset(request.subject), 2)
    assert.deepEqual(await trial.left(request), [5, 9, 7])
  },
}
