/** The same key and request within 5 minutes: the first allowed answer again, counted once. */
import assert from 'node:assert/strict'
import type { Decision } from '../decision.js'
import { ADA, BOB, type Chapter, EVERY_FIVE } from './trial.js'

const KEYED = { ...ADA, idempotencyKey: 'k' }
const BOTH = { subject: { user: 'ada', org: 'acme' }, idempotencyKey: 'k' }

function saidBy(decision: Decision): unknown {
  const { limit, remaining, resetAtMs, rule, scope, delayMs, limits } = decision
  return { limit, remaining, resetAtMs, rule, scope, delayMs, limits }
}

export const idempotencyKeys: Chapter = {
  'the first allowed answer is given again, as it was, and counted once': async (open) => {
    const trial = open([...EVERY_FIVE, '5 per calendar day in Asia/Tokyo'])
    const first = await trial.take(KEYED)
    assert.equal(first.replayed, false)
    trial.now += 1000
    await trial.take({ ...ADA, cost: 2 })
    const again = await trial.take(KEYED)
    assert.equal(again.replayed, true)
    assert.deepEqual(saidBy(again), saidBy(first))
    assert.equal((await trial.left(ADA))[3], 2)
  },

  'it is given again whatever the limits have left by then': async (open) => {
    const trial = open('2/h')
    await trial.take(KEYED)
    await trial.take(ADA)
    await trial.deny(ADA)
    await trial.take(KEYED)
  },

  'a key is remembered for 5 minutes, to the millisecond': async (open) => {
    const trial = open('5/h fixed')
    await trial.take(KEYED)
    trial.now += 299_999
    assert.equal((await trial.take(KEYED)).replayed, true)
    trial.now += 1
    assert.equal((await trial.take(KEYED)).replayed, false)
    assert.deepEqual(await trial.left(ADA), [3])
  },

  'denials are not stored': async (open) => {
    const trial = open('2 per 10s')
    await trial.take({ ...ADA, cost: 2 })
    const denied = await trial.deny(KEYED)
    trial.now += denied.retryAfterMs!
    const allowed = await trial.take(KEYED)
    assert.equal(allowed.replayed, false)
    assert.equal((await trial.take(KEYED)).replayed, true)
  },

  'a dry run is neither stored nor replayed': async (open) => {
    const trial = open('5/h')
    await trial.limiter.peek(KEYED)
    assert.equal((await trial.take(KEYED)).replayed, false)
    await trial.take(ADA)
    assert.deepEqual(await trial.left(KEYED), [3])
  },

  'another request under the same key is a conflict, and takes nothing': async (open) => {
    const trial = open('5/h')
    await trial.take(KEYED)
    const others = [
      { ...KEYED, cost: 2 },
      { ...KEYED, resource: '/other' },
      { ...KEYED, tier: 'pro' },
    ]
    for (const request of others)
      await assert.rejects(trial.check(request), { code: 'idempotency_conflict' })
    assert.deepEqual(await trial.left(ADA), [4])
  },

  'a key is its subject’s alone': async (open) => {
    const trial = open('5/h')
    await trial.take(KEYED)
    assert.equal((await trial.take({ ...BOB, idempotencyKey: 'k' })).replayed, false)
    assert.equal((await trial.take({ ...ADA, idempotencyKey: 'K' })).replayed, false)
  },

  'several rules and scopes are counted once': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: ['5/h', '5/h exact'] },
        org: { scope: 'org', limits: '5/h fixed' },
        all: { scope: 'global', limits: '9/h sliding' },
      },
    })
    const first = await trial.take({ ...BOTH, cost: 2 })
    const again = await trial.take({ ...BOTH, cost: 2 })
    assert.equal(again.replayed, true)
    assert.deepEqual(saidBy(again), saidBy(first))
    await assert.rejects(trial.check(BOTH), { code: 'idempotency_conflict' })
    const left = await trial.left(BOTH)
    assert.deepEqual(left, [3, 3, 3, 7])
    await trial.take({ ...BOTH, cost: 3, idempotencyKey: 'l' })
    await trial.deny({ ...BOTH, idempotencyKey: 'm' })
    await trial.limiter.reset({ user: 'ada', org: 'acme' })
    assert.equal((await trial.take({ ...BOTH, idempotencyKey: 'm' })).replayed, false)
  },

  'of the same request many times at once one is counted': async (open) => {
    const trial = open('5/h')
    const decisions = await Promise.all(Array.from({ length: 30 }, () => trial.check(KEYED)))
    assert.equal(decisions.filter(({ replayed }) => !replayed).length, 1)
    assert.ok(decisions.every(({ allowed, remaining }) => allowed && remaining === 4))
    assert.deepEqual(await trial.left(ADA), [4])
  },

  'a replayed answer gives back what the first took, once': async (open) => {
    const trial = open(['5/h', '5/h exact'])
    const first = await trial.take({ ...KEYED, cost: 3 })
    const again = await trial.take({ ...KEYED, cost: 3 })
    assert.deepEqual(await trial.limiter.refund(again), { requests: 3 })
    assert.deepEqual(await trial.limiter.refund(first), {})
    assert.deepEqual(await trial.left(ADA), [5, 5])
  },

  'a replayed hold is the same hold': async (open) => {
    const trial = open('2 concurrent for 60s')
    const first = await trial.take({ ...KEYED, holdId: 'h' })
    const again = await trial.take({ ...KEYED, holdId: 'h' })
    assert.equal(again.replayed, true)
    assert.deepEqual(again.hold!.toJSON(), first.hold!.toJSON())
    assert.equal(await trial.limiter.release(again.hold!), true)
    assert.equal(await trial.limiter.release(first.hold!), false)
  },

  'the answer is given as it was, whatever the rules are by then': async (open) => {
    const trial = open(['5/h', '5 per 1h queue 4'])
    const first = await trial.take(KEYED)
    trial.limiter.setRules({ rules: { rule: { scope: 'user', limits: ['1/h', '2/h fixed'] } } })
    assert.deepEqual(saidBy(await trial.take(KEYED)), saidBy(first))
  },

  'two limiters over one store replay each other’s answers': async (open) => {
    const rules = { rule: { scope: 'user', limits: ['5/h', '5 per calendar day'] } } as const
    const trial = open({ rules })
    const other = trial.another({ rules })
    const first = await trial.take(KEYED)
    const again = await other.check(KEYED)
    assert.equal(again.replayed, true)
    assert.deepEqual(saidBy(again), saidBy(first))
    await assert.rejects(other.check({ ...KEYED, cost: 2 }), { code: 'idempotency_conflict' })
  },
}
