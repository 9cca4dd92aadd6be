/** What is believed of shards that owe: they have nothing left, and what they owe is known apart. */
import { describe, expect, it } from 'vitest'
import { NOT_NOW } from '../../algorithms/status.js'
import { RuleSet } from '../../rules/rule-set.js'
import { Answer } from '../answer.js'
import { newTransaction } from '../transaction.js'
import { RowLevels } from './row-levels.js'
import { ShardRules } from './sharded-rule.js'

const NOW = 1_790_000_000_000_000
const SECOND = 1_000_000

/** Levels of a rule in four shards of 10, of which the first was seen to owe 5. */
function owing(limits: '40 per 40s' | '40 per 40s fixed' | '40 per 40s exact', resetAt: number) {
  const [rule] = RuleSet.compile({ rules: { r: { scope: 'user', limits, shards: 4 } } }).all
  const levels = new RowLevels(new ShardRules().of(rule!)!)
  const denied = Answer.open(newTransaction([rule!], ['ada'], 1, NOW), NOW, false)
  denied.setStatus(0, NOT_NOW)
  denied.setDifference(0, -5)
  denied.setResetAt(0, resetAt)
  denied.setGoAt(0, resetAt)
  levels.note(0, denied, 0, 1)
  return levels
}

describe.each(['40 per 40s fixed', '40 per 40s exact'] as const)('a shard of %s', (limits) => {
  const resetAt = NOW + 40 * SECOND

  it('that owes has nothing left, and owes until it starts anew', () => {
    const levels = owing(limits, resetAt)
    expect([levels.level(0, 0, NOW), levels.owed(0, 0, NOW)]).toEqual([0, 5])
    expect([levels.level(0, 0, resetAt), levels.owed(0, 0, resetAt)]).toEqual([10, 0])
    expect([levels.level(1, 0, NOW), levels.owed(1, 0, NOW)]).toEqual([10, 0])
  })

  it('owes nothing for what is being taken', () => {
    const levels = owing(limits, resetAt)
    levels.expect(0, 3)
    expect([levels.level(0, 0, NOW), levels.owed(0, 0, NOW)]).toEqual([-3, 5])
  })
})

describe('a shard of a bucket', () => {
  // 15 tokens of 4 s each.
  const fullAt = NOW + 60 * SECOND

  it('that owes repays with time', () => {
    const levels = owing('40 per 40s', fullAt)
    const owed = [0, 4, 5, 20, 60].map((s) => levels.owed(0, 0, NOW + s * SECOND))
    expect(owed).toEqual([5, 4, 4, 0, 0])
    expect(Math.floor(levels.level(0, 0, NOW + 24 * SECOND))).toBe(1)
  })

  it('owes nothing for what is being taken, which is expected to make it full later', () => {
    const levels = owing('40 per 40s', fullAt)
    levels.expect(0, 3)
    expect(levels.owed(0, 0, NOW)).toBe(5)
    expect(levels.fullAt(0, 0)).toBe(fullAt + 12 * SECOND)
    expect(Math.floor(levels.level(0, 0, NOW))).toBe(-8)
  })
})

describe('a shard that has denied', () => {
  /** It denied a cost of 3 with 2 left, until 1.9 s later; a tenth of a second before its log should be empty. */
  function denying() {
    const limits = '40 per 40s exact'
    const [rule] = RuleSet.compile({ rules: { r: { scope: 'user', limits, shards: 4 } } }).all
    const levels = new RowLevels(new ShardRules().of(rule!)!)
    const denied = Answer.open(newTransaction([rule!], ['ada'], 3, NOW), NOW, false)
    denied.setStatus(0, NOT_NOW)
    denied.setDifference(0, 2)
    denied.setResetAt(0, NOW + 2 * SECOND)
    denied.setGoAt(0, NOW + 1.9 * SECOND)
    levels.note(0, denied, 0, 3)
    return (cost: number, s: number) => levels.room(0, cost, NOW + s * SECOND) >= cost
  }

  it('is expected to deny the same and more for a second, and to admit by the time that it names', () => {
    const admits = denying()
    expect([0.9, 1.1, 1.9].map((s) => admits(3, s))).toEqual([false, true, true])
    expect([admits(4, 0.9), admits(2, 0.9)]).toEqual([false, true])
  })
})
