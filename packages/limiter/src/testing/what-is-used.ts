/** What is counted: with what is left it makes the limit, unless more is counted than the limit holds. */
import assert from 'node:assert/strict'
import type { Decision } from '../decision.js'
import type { LimitText } from '../limits/limit-text.js'
import type { RulesDocument } from '../rules/document.js'
import { ADA, BOB, type Chapter, EVERY_FIVE, FIVES, type Open, type Trial } from './trial.js'

const BOTH = { subject: { user: 'ada', org: 'acme' } }

/** The same limits of 3 and of 9. */
const THREES: Readonly<Record<keyof typeof FIVES, LimitText>> = {
  token_bucket: '3 per 10s',
  gcra: '3 per 10s smooth 3',
  leaky_bucket: '3 per 10s queue 2',
  fixed_window: '3 per 10s fixed',
  sliding_window_log: '3 per 10s exact',
  sliding_window_counter: '3 per 10s sliding',
}
const NINES: Readonly<Record<keyof typeof FIVES, LimitText>> = {
  token_bucket: '9 per 10s',
  gcra: '9 per 10s smooth 9',
  leaky_bucket: '9 per 10s queue 8',
  fixed_window: '9 per 10s fixed',
  sliding_window_log: '9 per 10s exact',
  sliding_window_counter: '9 per 10s sliding',
}
const ALGORITHMS = Object.keys(FIVES) as (keyof typeof FIVES)[]

/** Limits of 40 that can be in shards. */
const FORTIES: readonly LimitText[] = ['40/h', '40/h fixed', '40/h exact', '40/h sliding']

function ruleOf(limits: LimitText, shards = 1): RulesDocument {
  return { rules: { rule: { scope: 'user', limits, shards } } }
}

interface Counted {
  readonly limit: number | null
  readonly used: number | null
  readonly remaining: number | null
}

/** What is counted, of how much. Fails where it does not fit what is left. */
function usedOf({ limit, used, remaining }: Counted): [used: number, limit: number] {
  const said = `${used} of ${limit} used, ${remaining} left`
  assert.ok(Number.isSafeInteger(used) && used! >= 0, said)
  if (used! > limit!) assert.equal(remaining, 0, said)
  else assert.equal(used! + remaining!, limit, said)
  return [used!, limit!]
}

/** The same of every limit of a decision, and of the one on top. */
function allUsed(decision: Decision): number[] {
  usedOf(decision)
  return decision.limits.map((limit) => usedOf(limit)[0])
}

async function look(trial: Trial, request = ADA): Promise<[used: number, limit: number]> {
  return usedOf(await trial.limiter.peek(request))
}

/** Takes three, and uses nine of them. */
async function overrun(trial: Trial): Promise<void> {
  const call = await trial.limiter.reserve({ ...ADA, cost: 3 })
  await call.settle(9)
}

const sums = EVERY_FIVE.map((limit) => [
  `${limit}: what is used and what is left make the limit`,
  async (open: Open) => {
    const trial = open(limit)
    assert.deepEqual(await look(trial), [0, 5])
    for (const n of [1, 2, 3, 4, 5]) assert.deepEqual(allUsed(await trial.take(ADA)), [n])
    assert.deepEqual(allUsed(await trial.deny(ADA)), [5])
    assert.deepEqual(allUsed(await trial.deny({ ...ADA, cost: 6 })), [5])
    assert.deepEqual(await look(trial), [5, 5])
    assert.deepEqual(await look(trial, BOB), [0, 5])
  },
])

const debts = EVERY_FIVE.map((limit) => [
  `${limit}: in debt more is used than the limit, and nothing is left`,
  async (open: Open) => {
    const trial = open(limit)
    await overrun(trial)
    assert.deepEqual(await look(trial), [9, 5])
    assert.deepEqual(allUsed(await trial.deny(ADA)), [9])
    assert.deepEqual(allUsed(await trial.deny({ ...ADA, cost: 6 })), [9])
    await trial.limiter.reset({ user: 'ada' })
    assert.deepEqual(await look(trial), [0, 5])
  },
])

const changes = ALGORITHMS.map((algorithm) => [
  `${algorithm}: a lowered or a raised limit changes nothing about what is used`,
  async (open: Open) => {
    const trial = open(FIVES[algorithm])
    await trial.take({ ...ADA, cost: 4 })
    trial.limiter.setRules(ruleOf(THREES[algorithm]))
    assert.deepEqual(await look(trial), [4, 3])
    assert.deepEqual(allUsed(await trial.deny(ADA)), [4])
    trial.limiter.setRules(ruleOf(NINES[algorithm]))
    assert.deepEqual(await look(trial), [4, 9])
    assert.deepEqual(allUsed(await trial.take(ADA)), [5])
    trial.limiter.setRules(ruleOf(THREES[algorithm]))
    assert.deepEqual(await look(trial), [5, 3])
  },
])

const shards = FORTIES.map((limit) => [
  `${limit} in shards: a look adds up what is used, also beyond the limit`,
  async (open: Open) => {
    const trial = open(ruleOf(limit, 4))
    for (let n = 1; n <= 12; n++) assert.deepEqual(allUsed(await trial.take(ADA)), [n])
    assert.deepEqual(await look(trial), [12, 40])
    const call = await trial.limiter.reserve({ ...ADA, cost: 2 })
    await call.settle(98)
    assert.deepEqual(await look(trial), [110, 40])
    const [used] = allUsed(await trial.deny(ADA))
    assert.equal(used, 110)
    await trial.limiter.reset({ user: 'ada' })
    assert.deepEqual(await look(trial), [0, 40])
  },
])

export const whatIsUsed: Chapter = {
  ...Object.fromEntries([...sums, ...debts, ...changes, ...shards]),

  'of a token that is coming back a part counts as a whole one, in debt too': async (open) => {
    const trial = open('7 per 10s')
    const call = await trial.limiter.reserve({ ...ADA, cost: 7 })
    await call.settle(20)
    // A token comes back every 1428 ms and four sevenths.
    const seen = []
    for (const ms of [0, 1428, 1, 17_141, 1, 1, 9999]) {
      trial.now += ms
      seen.push((await look(trial))[0])
    }
    assert.deepEqual(seen, [20, 20, 19, 8, 8, 7, 1])
  },

  'a debt is used until it has been repaid': async (open) => {
    const trial = open(['5 per 10s', '5 per 10s fixed', '5 per 10s exact', '5 per 10s sliding'])
    await overrun(trial)
    const seen = []
    for (const ms of [0, 4000, 6000, 5000, 5000]) {
      trial.now += ms
      seen.push(allUsed(await trial.limiter.peek(ADA)))
    }
    assert.deepEqual(seen, [
      [9, 9, 9, 9],
      [7, 9, 9, 9],
      [4, 0, 0, 9],
      [2, 0, 0, 5],
      [0, 0, 0, 0],
    ])
  },

  'giving back lowers what is used': async (open) => {
    const trial = open(EVERY_FIVE)
    const decision = await trial.take({ ...ADA, cost: 4 })
    await trial.limiter.refund(decision, 3)
    const every = (n: number) => EVERY_FIVE.map(() => n)
    assert.deepEqual(allUsed(await trial.limiter.peek(ADA)), every(1))
    await trial.limiter.refund({ ...ADA, cost: 1 })
    assert.deepEqual(allUsed(await trial.limiter.peek(ADA)), every(0))
  },

  'a dry run says what is used without it': async (open) => {
    const trial = open(EVERY_FIVE)
    await trial.take({ ...ADA, cost: 2 })
    const every = EVERY_FIVE.map(() => 2)
    assert.deepEqual(allUsed(await trial.check({ ...ADA, cost: 3, dryRun: true })), every)
    assert.deepEqual(allUsed(await trial.check({ ...ADA, cost: 4, dryRun: true })), every)
  },

  'a denial by one rule leaves what is used of the others': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: EVERY_FIVE },
        org: { scope: 'org', limits: '2/h fixed' },
      },
    })
    for (const n of [1, 2])
      assert.deepEqual(allUsed(await trial.take(BOTH)), [...EVERY_FIVE.map(() => n), n])
    for (let i = 0; i < 3; i++)
      assert.deepEqual(allUsed(await trial.deny(BOTH)), [...EVERY_FIVE.map(() => 2), 2])
  },

  'a denial by one rule leaves a debt of another': async (open) => {
    const trial = open({
      rules: {
        user: { scope: 'user', limits: '5 per 10s fixed' },
        org: { scope: 'org', limits: '1/h fixed' },
      },
    })
    await overrun(trial)
    await trial.take({ subject: { org: 'acme' } })
    assert.deepEqual(allUsed(await trial.deny(BOTH)), [9, 1])
  },

  'every rule counts in its own unit': async (open) => {
    const trial = open({
      rules: {
        calls: { scope: 'user', limits: '9/h' },
        tokens: { scope: 'user', unit: 'tokens', additive: true, limits: '1000/h fixed' },
      },
    })
    const costs = { requests: 1, tokens: 400 }
    const { limits } = await trial.take({ ...ADA, costs })
    const said = Object.fromEntries(limits.map((each) => [each.unit, usedOf(each)]))
    assert.deepEqual(said, { requests: [1, 9], tokens: [400, 1000] })
  },

  'a shadow limit that is full or in debt says so, and lets pass': async (open) => {
    const shadow = { scope: 'user', shadow: true, limits: '5 per 10s fixed' } as const
    const trial = open({ rules: { shadow } })
    await overrun(trial)
    const { allowed, limits } = await trial.take(ADA)
    assert.deepEqual([allowed, limits[0]!.allowed], [true, false])
    assert.deepEqual(usedOf(limits[0]!), [9, 5])
  },

  'a hold that is renewed above a lowered limit passes, and all that is held is used': async (
    open,
  ) => {
    const trial = open('3 concurrent for 60s')
    for (const [i, holdId] of ['a', 'b', 'c'].entries())
      assert.deepEqual(allUsed(await trial.take({ ...ADA, holdId })), [i + 1])
    trial.limiter.setRules(ruleOf('1 concurrent for 60s'))
    const again = await trial.take({ ...ADA, holdId: 'b' })
    assert.deepEqual(usedOf(again), [3, 1])
    assert.match(again.toHeaders()['RateLimit']!, /;r=0;/)
    assert.deepEqual(allUsed(await trial.deny({ ...ADA, holdId: 'd' })), [3])
    await trial.limiter.release({ ...ADA, holdId: 'a' })
    await trial.limiter.release({ ...ADA, holdId: 'c' })
    assert.deepEqual(await look(trial, { ...ADA, holdId: 'd' }), [1, 1])
  },

  'an answer that is given again says what was used then': async (open) => {
    const trial = open('5 per 10s fixed')
    const request = { ...ADA, cost: 2, idempotencyKey: 'k' }
    assert.deepEqual(allUsed(await trial.take(request)), [2])
    await trial.take(ADA)
    const again = await trial.take(request)
    assert.deepEqual([again.replayed, allUsed(again)], [true, [2]])
    assert.deepEqual(await look(trial), [3, 5])
  },

  'a row that is asked for often says what is used': async (open) => {
    const trial = open('1000/h')
    for (let n = 1; n <= 300; n++) {
      const [used] = allUsed(await trial.take(ADA))
      assert.ok(used! <= n, `${used} of ${n}`)
    }
    await trial.take({ ...ADA, cost: 700 })
    assert.deepEqual(allUsed(await trial.deny(ADA)), [1000])
  },

  'nothing is said of what is used where no limit applies': async (open) => {
    const trial = open({
      rules: { org: { scope: 'org', limits: '5/h' } },
      exemptions: ['user:bob'],
      blocks: ['user:zed'],
    })
    for (const user of ['ada', 'bob', 'zed']) {
      const { used, remaining, limits } = await trial.check({ subject: { user } })
      assert.deepEqual([used, remaining, limits], [null, null, []])
    }
  },
}
