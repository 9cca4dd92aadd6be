/** What stores keep by the numbers of rules: bounded, however often rules are replaced. */
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/create-limiter.js'
import type { RulesDocument } from '../../src/rules/document.js'
import { RuleSet } from '../../src/rules/rule-set.js'
import { Answer } from '../../src/stores/answer.js'
import { ScaledRules } from '../../src/stores/guarded/scaled-rules.js'
import { LastSeenRows } from '../../src/stores/last-seen-rows.js'
import type { LeaseTime } from '../../src/stores/leased/lease-time.js'
import { LeasedRows } from '../../src/stores/leased/leased-rows.js'
import { Addresses, Keys } from '../../src/stores/redis/keys.js'
import { ShardRules } from '../../src/stores/sharded/sharded-rule.js'
import { newTransaction } from '../../src/stores/transaction.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Other rules each time, and a rule that stays but loses its overrides. */
const documentOf = (reload: number): RulesDocument => ({
  rules: {
    stays: { scope: 'user', resource: '/stays', limits: '90/s' },
    [`split-${reload}`]: { scope: 'user', resource: '/split', limits: '90/s', shards: 2 },
    [`plain-${reload}`]: { scope: 'user', resource: '/plain', limits: '90/s' },
  },
  overrides: ['stays', `plain-${reload}`].map((rule) => ({
    rule,
    scope: 'user',
    value: `user-${reload}`,
    limits: '8/s',
  })),
})

class Stores {
  readonly addresses = new Addresses(new Keys('test'), false)
  readonly leased = new LeasedRows(true)
  readonly scaled = new ScaledRules()
  readonly sharded = new ShardRules()
  readonly lastSeen = new LastSeenRows()
  readonly #limiter = createLimiter({ rules: RuleSet.compile({}) })

  /** Asks about each rule, and returns the largest number of a rule or a family. */
  reload(document: RulesDocument): number {
    this.#limiter.setRules(RuleSet.compile(document))
    const { rules } = this.#limiter
    this.addresses.use(rules)
    this.sharded.use(rules)
    this.leased.removeChanged(rules)
    this.scaled.lookAgain()
    const overrides = [...rules.families.values()].flatMap((family) =>
      [...family.overrides.values()].flat(),
    )
    let largest = 0
    for (const rule of [...rules.all, ...overrides]) {
      const shard = this.sharded.of(rule)?.shard(1)
      for (const one of shard === undefined ? [rule] : [rule, shard]) {
        this.addresses.layoutOf(one)
        this.scaled.of(one, 0.5, 'key')
        const transaction = newTransaction([one], ['ada'], 1, 0)
        this.lastSeen.record(Answer.open(transaction, 0, true), 0, 0, 1, 1)
        largest = Math.max(largest, one.number, one.family.number)
      }
      this.leased.find(rule, 'ada', { steady: () => 0 } as LeaseTime)
    }
    return largest
  }
}

describe('what stores keep by number', () => {
  it('does not grow when rules are replaced by others again and again', async () => {
    const stores = new Stores()
    const reloads = async (from: number, to: number) => {
      let largest = 0
      for (let i = from; i < to; i++) {
        largest = Math.max(largest, stores.reload(documentOf(i)))
        if (i % 20 < 19) continue
        gc()
        for (let turn = 0; turn < 3; turn++) await endOfTurn()
      }
      return largest
    }
    const few = await reloads(0, 100)
    expect(await reloads(100, 2000)).toBeLessThan(few + 1000)
  })

  it('knows a family that was replaced by its key, and no other by its number', () => {
    const stores = new Stores()
    stores.reload(documentOf(0))
    const limiter = createLimiter({ rules: RuleSet.compile(documentOf(1)) })
    const split = (number: string) => limiter.rules.named(number)!
    const before = stores.sharded.of(split('split-1'))!.shard(1)
    expect(before.family.number).toBeGreaterThanOrEqual(0)
    const changed = documentOf(1)
    limiter.setRules(
      RuleSet.compile({
        ...changed,
        rules: {
          ...changed.rules,
          'split-1': { scope: 'user', resource: '/split', limits: '50/s', shards: 2 },
        },
      }),
    )
    stores.sharded.use(limiter.rules)
    const after = stores.sharded.of(split('split-1'))!.shard(1)
    expect(after.family).not.toBe(before.family)
    expect(after.family.number).toBe(before.family.number)
  })
})
