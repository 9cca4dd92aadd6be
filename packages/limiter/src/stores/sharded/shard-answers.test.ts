import { expect, it } from 'vitest'
import { NOT_NOW, YES } from '../../algorithms/status.js'
import { RuleSet } from '../../rules/rule-set.js'
import { Answer } from '../answer.js'
import { newTransaction } from '../transaction.js'
import { LevelBook } from './row-levels.js'
import { asWholeRule } from './shard-answers.js'
import { ShardChooser } from './shard-choice.js'
import { ShardRules } from './sharded-rule.js'

const NOW = 1_790_000_000_000_000

it('a denial names the earliest time of the shards that were asked', () => {
  const rules = new ShardRules()
  const [rule] = RuleSet.compile({
    rules: { r: { scope: 'user', limits: '80/s', shards: 4 } },
  }).all
  const chooser = new ShardChooser(rules, new LevelBook(), () => 0)
  const sharded = rules.of(rule!)!
  const first = chooser.one(sharded, 'ada', 1, NOW)
  const choices = [1, 2].map((shard) => ({ ...first, shard, tried: [0, shard] }))
  const denied = (shard: number, goAt: number) => {
    const part = newTransaction([sharded.shard(shard)], ['ada'], 1, NOW)
    const answer = Answer.open(part, NOW, false)
    answer.setStatus(0, NOT_NOW)
    answer.setDifference(0, 0)
    answer.setResetAt(0, goAt)
    answer.setGoAt(0, goAt)
    return answer
  }
  chooser.note([first], denied(0, NOW + 3000))
  const whole = newTransaction([rule!], ['ada'], 1, NOW)
  const named = choices.map((choice, i) => {
    const answer = denied(choice.shard, NOW + [9000, 1000][i]!)
    chooser.note([choice], answer)
    return asWholeRule(answer, whole, [choice]).goAt(0) - NOW
  })
  expect(named).toEqual([3000, 1000])
})

it('a denial names its own time where the shard has said yes to somebody else meanwhile', () => {
  const rules = new ShardRules()
  const [rule] = RuleSet.compile({
    rules: { r: { scope: 'user', limits: '80/s', shards: 4 } },
  }).all
  const chooser = new ShardChooser(rules, new LevelBook(), () => 0.5)
  const sharded = rules.of(rule!)!
  const choice = chooser.one(sharded, 'ada', 2, NOW)
  const shards = newTransaction([sharded.shard(choice.shard)], ['ada'], 2, NOW)
  const answer = (status: number, goAt: number) => {
    const answer = Answer.open(shards, NOW, status === YES)
    answer.setStatus(0, status)
    answer.setDifference(0, 0)
    answer.setResetAt(0, NOW)
    answer.setGoAt(0, goAt)
    answer.setMark(0, 0, 0)
    return answer
  }
  const denied = answer(NOT_NOW, NOW + 5000)
  chooser.note([choice], denied)
  chooser.note([choice], answer(YES, NOW))
  const whole = newTransaction([rule!], ['ada'], 2, NOW)
  expect(asWholeRule(denied, whole, [choice]).goAt(0)).toBe(NOW + 5000)
})
