/** A change of numbers neither refills nor empties anyone; a change of algorithm or window starts anew. */
import assert from 'node:assert/strict'
import type { LimitText } from '../limits/limit-text.js'
import type { RulesDocument } from '../rules/document.js'
import { ADA, BOB, type Chapter, EVERY_FIVE, FIVES, type Open, START } from './trial.js'

function ruleOf(limits: LimitText | readonly LimitText[]): RulesDocument {
  return { rules: { rule: { scope: 'user', limits } } }
}

const carried = (['fixed', 'exact', 'sliding'] as const).map((kind) => [
  `5 per 10s ${kind}: what was used counts against another amount`,
  async (open: Open) => {
    const trial = open(`5 per 10s ${kind}`)
    await trial.take({ ...ADA, cost: 4 })
    trial.limiter.setRules(ruleOf(`9 per 10s ${kind}`))
    assert.deepEqual(await trial.left(ADA), [5])
    trial.limiter.setRules(ruleOf(`3 per 10s ${kind}`))
    assert.deepEqual(await trial.left(ADA), [0])
    await trial.deny(ADA)
    await trial.deny(ADA)
    trial.limiter.setRules(ruleOf(`5 per 10s ${kind}`))
    assert.deepEqual(await trial.left(ADA), [1])
  },
])

const anew = Object.values(FIVES).map((limit) => [
  `${limit}: another window starts anew`,
  async (open: Open) => {
    const trial = open(limit)
    await trial.take({ ...ADA, cost: 5 })
    trial.limiter.setRules(ruleOf(limit.replace('10s', '20s') as LimitText))
    assert.deepEqual(await trial.left(ADA), [5])
    await trial.take({ ...ADA, cost: 5 })
    await trial.awaitRetry(ADA)
  },
])

export const changesOfRules: Chapter = {
  ...Object.fromEntries([...carried, ...anew]),

  'a bucket’s use is carried over to another amount': async (open) => {
    const trial = open('10/min')
    await trial.take({ ...ADA, cost: 8 })
    trial.limiter.setRules(ruleOf('20/min'))
    assert.deepEqual(await trial.left(ADA), [12])
    trial.limiter.setRules(ruleOf('5/min burst 10'))
    assert.deepEqual(await trial.left(ADA), [2])
    trial.now += 11_999
    assert.deepEqual(await trial.left(ADA), [2])
    trial.now += 1
    assert.deepEqual(await trial.left(ADA), [3])
  },

  'another burst leaves a bucket’s use as it was': async (open) => {
    const trial = open('10/min')
    await trial.take({ ...ADA, cost: 10 })
    trial.limiter.setRules(ruleOf('10/min burst 15'))
    const { limits } = await trial.take({ ...ADA, cost: 5 })
    assert.deepEqual([limits[0]!.remaining, limits[0]!.resetAtMs], [0, START + 90_000])
  },

  'a limit that is added is unused, and the others stay as they were': async (open) => {
    const trial = open('5/h')
    await trial.take({ ...ADA, cost: 3 })
    trial.limiter.setRules(ruleOf(['9 per 9m exact', '5/h', '7/d fixed', '4/w sliding']))
    assert.deepEqual(await trial.left(ADA), [9, 2, 7, 4])
    await trial.take(ADA)
    assert.deepEqual(await trial.left(ADA), [8, 1, 6, 3])
    trial.limiter.setRules(ruleOf(['7/d fixed', '5/h']))
    assert.deepEqual(await trial.left(ADA), [6, 1])
    await trial.take(ADA)
    assert.deepEqual(await trial.left(ADA), [5, 0])
  },

  'another order of limits changes nothing': async (open) => {
    const trial = open(EVERY_FIVE)
    await trial.take({ ...ADA, cost: 3 })
    const before = await trial.outlook(ADA)
    trial.limiter.setRules(ruleOf(EVERY_FIVE.toReversed()))
    const after = await trial.outlook(ADA)
    assert.deepEqual(
      after.map((limits) => limits.toReversed()),
      before,
    )
  },

  'equal limits of a rule are told apart by their order': async (open) => {
    const trial = open(['5/h fixed', '9/h fixed', '3/h', '4/h'])
    await trial.take({ ...ADA, cost: 2 })
    assert.deepEqual(await trial.left(ADA), [3, 7, 1, 2])
    trial.limiter.setRules(ruleOf(['5/h fixed', '3/h']))
    assert.deepEqual(await trial.left(ADA), [3, 1])
  },

  'tiers of a rule are one counter with other numbers': async (open) => {
    const trial = open({
      rules: {
        rule: {
          scope: 'user',
          limits: ['4/h fixed', '4 per 10m exact'],
          tiers: { pro: ['9/h fixed', '9 per 10m exact'] },
        },
      },
    })
    await trial.take({ ...ADA, cost: 3 })
    assert.deepEqual(await trial.left({ ...ADA, tier: 'pro' }), [6, 6])
    await trial.take({ ...ADA, cost: 4, tier: 'pro' })
    await trial.deny(ADA)
    assert.deepEqual(await trial.left(ADA), [0, 0])
    assert.deepEqual(await trial.left({ ...ADA, tier: 'pro' }), [2, 2])
    assert.equal(await trial.limiter.reset({ user: 'ada' }), 1)
    assert.deepEqual(await trial.left(ADA), [4, 4])
  },

  'a bucket that changes tier neither refills nor empties': async (open) => {
    const trial = open({
      rules: { rule: { scope: 'user', limits: '10/min', tiers: { pro: '100/min' } } },
    })
    await trial.take({ ...ADA, cost: 10 })
    assert.deepEqual(await trial.left({ ...ADA, tier: 'pro' }), [90])
    for (let i = 0; i < 20; i++) {
      await trial.deny(ADA)
      await trial.limiter.peek({ ...ADA, tier: 'pro' })
    }
    trial.now += 6000
    assert.deepEqual(await trial.left(ADA), [1])
  },

  'an override is in force until its end': async (open) => {
    const until = new Date(START + 60_000)
    const trial = open({
      ...ruleOf('4/h fixed'),
      overrides: [{ scope: 'user', value: 'ada', rule: 'rule', limits: '9/h fixed', until }],
    })
    await trial.take({ ...ADA, cost: 6 })
    await trial.deny({ ...BOB, cost: 6 })
    trial.now = START + 59_999
    assert.deepEqual(await trial.left(ADA), [3])
    trial.now = START + 60_000
    assert.deepEqual(await trial.left(ADA), [0])
  },

  'giving back after a change goes to the limits that are still there': async (open) => {
    const trial = open(['5/h', '5/h fixed', '5/h exact'])
    const decision = await trial.take({ ...ADA, cost: 3 })
    trial.limiter.setRules(ruleOf(['9/h exact', '5/h', '5/d fixed']))
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 3 })
    assert.deepEqual(await trial.left(ADA), [9, 5, 5])
  },

  'a hold is released with its ticket, whatever the rules are by then': async (open) => {
    const trial = open('2 concurrent for 60s')
    const { hold } = await trial.take({ ...ADA, holdId: 'a' })
    trial.limiter.setRules(ruleOf(['1 concurrent for 60s', '9/h']))
    await trial.deny({ ...ADA, holdId: 'b' })
    assert.equal(await trial.limiter.release(hold!), true)
    await trial.take({ ...ADA, holdId: 'b' })
  },

  'two limiters with the same rules share one counter': async (open) => {
    const trial = open(ruleOf(EVERY_FIVE))
    const other = trial.another(ruleOf(EVERY_FIVE))
    for (let i = 0; i < 2; i++) {
      await trial.take(ADA)
      assert.equal((await other.check(ADA)).allowed, true)
    }
    const { limits } = await other.peek(ADA)
    assert.deepEqual(
      limits.map(({ remaining }) => remaining),
      EVERY_FIVE.map(() => 1),
    )
  },
}
