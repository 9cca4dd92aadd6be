/**
 * How much of a limit in shards is stranded: stands full in one shard while another denies. Many instances
 * with unequal load over one store, in moved time, against one bucket that is not split.
 */
import { describe, expect, it } from 'vitest'
import { ShardRules } from '../../src/stores/sharded/sharded-rule.js'
import type { Store } from '../../src/stores/store.js'
import { newTransaction } from '../../src/stores/transaction.js'
import { seeded, type WorldOptions, worldOf } from '../shards/over-memory.js'

const RATE = 4000
const MS = 4000

interface Run {
  readonly shards: number
  readonly instances: number
  readonly load: number
  readonly burst: number
  readonly seed: number
  readonly cost?: number
  readonly over?: WorldOptions['over']
}

/** The part of what one bucket would have admitted that was denied, and the most that was admitted beyond the bound of any span. */
async function run({ shards, instances, load, burst, seed, cost = 1, over }: Run) {
  const rules = { hot: { scope: 'global', limits: `${RATE}/s burst ${burst}`, shards } } as const
  const world = worldOf(rules, { instances, seed, ...(over && { over }) })
  const whole = worldOf({ hot: { ...rules.hot, shards: 1 } })
  const chance = seeded(seed + 1)
  const weights = world.limiters.map((_, i) => 1 / (i + 1) ** 1.2)
  const sum = weights.reduce((all, each) => all + each, 0)
  const due = weights.map(() => 0)
  let [admitted, ideal, asked, highest, lowest] = [0, 0, 0, 0, 0]
  for (let ms = 0; ms < MS; ms++) {
    world.now++
    whole.now++
    for (const [i, limiter] of world.limiters.entries()) {
      due[i]! += (-Math.log(1 - chance()) * load * RATE * weights[i]!) / sum / 1000 / cost
      for (; due[i]! >= 1; due[i]!--) {
        asked++
        if ((await limiter.check({ cost })).allowed) admitted += cost
        if ((await whole.limiters[0]!.check({ cost })).allowed) ideal += cost
      }
    }
    // Admitted minus what was refilled: between its lowest and any later point at most the burst.
    const level = admitted - (ms * RATE) / 1000
    highest = Math.max(highest, level - lowest)
    lowest = Math.min(lowest, level)
  }
  return { stranded: 1 - admitted / ideal, over: highest - burst, calls: world.asks / asked }
}

const runs = [4, 16].flatMap((shards) =>
  [2, 10].flatMap((instances) =>
    [4000, 400].flatMap((burst) =>
      [0.9, 2].map((load, seed) => ({ shards, instances, burst, load, seed: seed + instances })),
    ),
  ),
)

/** What must not be done: each instance always asks the same shard. */
function onlyOne(inner: Store, instance: number): Store {
  const shards = new ShardRules()
  return {
    decide: async (transaction) => {
      const { rules, values, cost, now } = transaction
      const ofShard = rules.map((rule) => shards.of(rule)!.shard(instance))
      return (await inner.decide(newTransaction(ofShard, values, cost, now))).as(transaction)
    },
    change: (operations, moment) => inner.change(operations, moment),
    use: (rules) => inner.use(rules),
    close: () => inner.close(),
  }
}

describe('a hot row in shards', () => {
  it.each(runs)(
    'of $shards with a burst of $burst, asked by $instances instances at load $load, admits no more than one counter and hardly less',
    async (each) => {
      const { stranded, over, calls } = await run(each)
      expect(over).toBeLessThanOrEqual(0)
      expect(stranded).toBeLessThanOrEqual(0.005)
      expect(calls).toBeLessThan(3)
    },
  )

  it('asked by many in one turn spreads them, though none knows the answer of the other', async () => {
    const rule = { scope: 'global', limits: `${RATE}/s burst 400` } as const
    const world = worldOf({ hot: { ...rule, shards: 8 } }, { instances: 2 })
    const whole = worldOf({ hot: rule })
    const chance = seeded(3)
    let [due, admitted, ideal, asked] = [0, 0, 0, 0]
    for (let ms = 0; ms < MS; ms += 20) {
      world.now += 20
      whole.now += 20
      due += -Math.log(1 - chance()) * 0.9 * (RATE / 50)
      const turn = Array.from({ length: Math.floor(due) }, () => Math.floor(chance() * 2))
      due -= turn.length
      asked += turn.length
      const answers = await Promise.all(turn.map((i) => world.limiters[i]!.check({})))
      admitted += answers.filter(({ allowed }) => allowed).length
      for (const _ of turn) if ((await whole.limiters[0]!.check({})).allowed) ideal++
    }
    expect(1 - admitted / ideal).toBeLessThan(0.0035)
    expect(world.asks / asked).toBeLessThan(1.02)
  })

  it('of which each instance knows only one strands much: the measure sees it', async () => {
    const { stranded, over } = await run({
      shards: 16,
      instances: 10,
      load: 0.9,
      burst: 400,
      seed: 1,
      over: onlyOne,
    })
    expect(stranded).toBeGreaterThan(0.1)
    expect(over).toBeLessThanOrEqual(0)
  })
})
