import { expect, it } from 'vitest'
import { GO_AT, NOT_NOW } from '../../algorithms/verdict.js'
import { RuleSet } from '../../rules/rule-set.js'
import { DECIDED_AT, FIRST_VERDICT } from '../store.js'
import { LevelBook } from './level-book.js'
import { Places } from './place.js'
import { present } from './presented.js'
import { ShardRules } from './sharded-rule.js'

const NOW = 1_790_000_000_000_000

it('a denial names its own time where the shard has said yes to somebody else meanwhile', () => {
  const rules = new ShardRules()
  const [rule] = RuleSet.compile({
    rules: { r: { scope: 'user', limits: '80/s', shards: 4 } },
  }).all
  const places = new Places(rules, new LevelBook(), () => 0.5)
  const place = places.single(rules.of(rule!)!, 'ada', 2, NOW)
  const verdict = (allowed: number, status: number, goAt: number) => {
    const out = [allowed, NOW, 0, status, 0, NOW, goAt, 0, 0, 0]
    expect(out[DECIDED_AT]).toBe(NOW)
    return out
  }
  const denied = verdict(0, NOT_NOW, NOW + 5000)
  places.note([place], NOW, denied)
  places.note([place], NOW, verdict(1, 0, NOW))
  present([place], denied)
  expect(denied[FIRST_VERDICT + GO_AT]).toBe(NOW + 5000)
})
