/** Which shard is asked, and which others if it denies. */
import { describe, expect, it } from 'vitest'
import { NOT_NOW, YES } from '../../algorithms/status.js'
import { RuleSet } from '../../rules/rule-set.js'
import { Answer } from '../answer.js'
import { newTransaction } from '../transaction.js'
import { LevelBook } from './row-levels.js'
import { ShardChooser } from './shard-choice.js'
import { ShardRules } from './sharded-rule.js'

const NOW = 1_790_000_000_000_000
const SHARDS = 4
const [RULE] = RuleSet.compile({
  rules: { r: { scope: 'user', limits: '40/h fixed', shards: SHARDS } },
}).all

/** A chooser that draws these shards, and has seen so much left in each shard. */
function chooser(draws: readonly number[], lefts: readonly number[]) {
  const rules = new ShardRules()
  const sharded = rules.of(RULE!)!
  let drawn = 0
  const random = () => draws[drawn++ % draws.length]! / SHARDS
  const chooser = new ShardChooser(rules, new LevelBook(), random)
  const choice = chooser.one(sharded, 'ada', 1, NOW)
  for (const [shard, left] of lefts.entries())
    chooser.note([{ ...choice, shard }], answerOf(left > 0 ? YES : NOT_NOW, left))
  return { chooser, one: (cost = 1) => chooser.one(sharded, 'ada', cost, NOW) }
}

function answerOf(status: number, left: number): Answer {
  const answer = Answer.open(newTransaction([RULE!], ['ada'], 1, NOW), NOW, status === YES)
  answer.setStatus(0, status)
  answer.setDifference(0, left)
  answer.setResetAt(0, NOW + 1_000_000)
  answer.setGoAt(0, NOW + 1_000_000)
  return answer
}

describe('a shard is chosen', () => {
  it('from two that are drawn, the one with more left, whichever is drawn first', () => {
    const lefts = [10, 5, 9, 1]
    for (const [x, y, expected] of [
      [1, 2, 2],
      [2, 1, 2],
      [3, 1, 1],
      [0, 3, 0],
    ] as const)
      expect(chooser([x, y], lefts).one().shard).toBe(expected)
  })

  it('without a draw where none can ever hold so much: the smallest says so', () => {
    expect(chooser([2, 3], [0, 10, 10, 10]).one(11).shard).toBe(0)
  })
})

describe('after a denial', () => {
  const next = (lefts: readonly number[], cost = 1) => {
    const { chooser: choosing, one } = chooser([0], lefts)
    const choices = [one(cost)]
    return choosing.elsewhere(choices, answerOf(NOT_NOW, 0), NOW)?.map(({ shard }) => shard)
  }

  it('the fullest of the others is asked', () => {
    expect(next([0, 5, 9, 1])).toEqual([2])
  })

  it('none is asked where none has enough left, or can ever have', () => {
    expect(next([0, 2, 2, 2], 3)).toBeUndefined()
    expect(next([0, 0, 0, 0])).toBeUndefined()
    expect(next([0, 10, 10, 10], 11)).toBeUndefined()
  })
})
