/** A request takes from every limit of every rule that applies, or from none; what takes nothing writes nothing. */
import assert from 'node:assert/strict'
import type { LimitText } from '../limits/limit-text.js'
import { ADA, BOB, type Chapter, EVERY_FIVE } from './trial.js'

const BOTH = { subject: { user: 'ada', org: 'acme' } }

function userAndOrg(limits: LimitText | LimitText[], others: LimitText | LimitText[]) {
  return { rules: { user: { scope: 'user', limits }, org: { scope: 'org', limits: others } } }
}

export const allOrNothing: Chapter = {
  'a request takes from every limit of its rule': async (open) => {
    const trial = open(EVERY_FIVE)
    const { limits } = await trial.take({ ...ADA, cost: 2 })
    assert.deepEqual(
      limits.map(({ remaining }) => remaining),
      EVERY_FIVE.map(() => 3),
    )
    assert.deepEqual(
      await trial.left(ADA),
      EVERY_FIVE.map(() => 3),
    )
    assert.deepEqual(
      await trial.left(BOB),
      EVERY_FIVE.map(() => 5),
    )
  },

  'a limit that denies keeps the others of its rule from being taken from': async (open) => {
    const trial = open([...EVERY_FIVE, '1/h'])
    await trial.take(ADA)
    const before = await trial.outlook(ADA)
    for (let i = 0; i < 5; i++) await trial.deny(ADA)
    assert.deepEqual(await trial.outlook(ADA), before)
  },

  'a limit that denies keeps other rules from being taken from, whichever it is': async (open) => {
    const trial = open(userAndOrg([...EVERY_FIVE], ['2/h fixed', '1 per 9m exact']))
    await trial.take(BOTH)
    const before = await trial.outlook(BOTH)
    for (let i = 0; i < 3; i++) assert.equal((await trial.deny(BOTH)).rule, 'org')
    assert.deepEqual(await trial.outlook(BOTH), before)
    await trial.take({ ...ADA, cost: 4 })
    const otherOrg = { subject: { user: 'ada', org: 'umbrella' } }
    const fresh = await trial.outlook(otherOrg)
    for (let i = 0; i < 3; i++) assert.equal((await trial.deny(otherOrg)).rule, 'user')
    assert.deepEqual(await trial.outlook(otherOrg), fresh)
  },

  'a denial says what every limit has left, taken from or not': async (open) => {
    const trial = open(userAndOrg(['5 per 10s', '9 per 1h exact'], '1 per 10s fixed'))
    await trial.take(BOTH)
    const { limits } = await trial.deny(BOTH)
    assert.deepEqual(
      limits.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 4],
        [true, 8],
        [false, 0],
      ],
    )
  },

  'a dry run says what a check would, and changes nothing': async (open) => {
    const trial = open(EVERY_FIVE)
    await trial.take({ ...ADA, cost: 3 })
    const before = await trial.outlook(ADA)
    const peeked = await trial.limiter.peek({ ...ADA, cost: 2 })
    assert.equal(peeked.allowed, true)
    assert.equal(peeked.receipt, null)
    assert.equal((await trial.limiter.peek({ ...ADA, cost: 3 })).allowed, false)
    assert.deepEqual(await trial.outlook(ADA), before)
    await trial.take({ ...ADA, cost: 2 })
  },

  'a denial forgets nothing that a clock stepping back would need': async (open) => {
    const trial = open({
      rules: {
        five: { scope: 'user', limits: EVERY_FIVE },
        slow: { scope: 'user', resource: '/slow', additive: true, limits: '1/h' },
      },
    })
    const slow = { ...ADA, resource: '/slow' }
    await trial.take(slow)
    await trial.take({ ...ADA, cost: 4 })
    const before = await trial.outlook(ADA)
    const { now } = trial
    trial.now += 30_000
    await trial.deny(slow)
    await trial.limiter.peek(ADA)
    trial.now = now
    assert.deepEqual(await trial.outlook(ADA), before)
  },

  'a cost above what a counter holds is told apart from "not now"': async (open) => {
    const trial = open(EVERY_FIVE)
    const denied = await trial.deny({ ...ADA, cost: 6 })
    assert.equal(denied.reason, 'too_expensive')
    assert.equal(denied.retryAfterMs, null)
    assert.deepEqual(
      await trial.left(ADA),
      EVERY_FIVE.map(() => 5),
    )
  },

  'rules of several units are charged what the request costs in each': async (open) => {
    const trial = open({
      rules: {
        calls: { scope: 'user', limits: '5 per 10s' },
        tokens: { scope: 'user', unit: 'tokens', additive: true, limits: '1000/min fixed' },
        bytes: { scope: 'org', unit: 'bytes', limits: '1M per 1h exact' },
      },
      costs: { '*': { bytes: 400 } },
    })
    const request = { ...BOTH, costs: { requests: 2, tokens: 300 } }
    assert.deepEqual(
      (await trial.take(request)).limits.map(({ remaining, unit }) => [unit, remaining]),
      [
        ['requests', 3],
        ['tokens', 700],
        ['bytes', 999_600],
      ],
    )
    await trial.deny({ ...request, costs: { tokens: 701 } })
    assert.deepEqual(await trial.left(request), [3, 700, 999_600])
    assert.deepEqual(await trial.left(ADA), [3])
  },

  'namespaces know nothing of each other': async (open) => {
    const rules = { rule: { scope: 'user', limits: '1/h' } } as const
    const trial = open({ namespace: 'one', rules })
    const other = trial.another({ namespace: 'two', rules })
    await trial.take({ ...ADA, idempotencyKey: 'k' })
    const answer = await other.check({ ...ADA, idempotencyKey: 'k' })
    assert.deepEqual([answer.allowed, answer.replayed], [true, false])
    assert.equal((await other.check(ADA)).allowed, false)
  },

  'subjects are told apart, whatever they are called': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: '1/h' },
        org: { scope: 'org', limits: '1/h' },
        'user.2': { scope: 'user', limits: '1/h', additive: true },
      },
    })
    const names = [
      'a',
      'A',
      'a ',
      'a:b',
      'a|b',
      '{a}',
      'a}',
      '%',
      '%0061',
      'ä',
      'a\u0308',
      '😀',
      '*',
    ]
    for (const name of names) await trial.take({ subject: { user: name } })
    for (const name of names) await trial.take({ subject: { org: name } })
    for (const name of names) await trial.deny({ subject: { user: name } })
  },
}
