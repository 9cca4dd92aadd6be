import { expect, it } from 'vitest'
import type { LimitText } from '../../limits/limit-text.js'
import { RuleSet } from '../../rules/rule-set.js'
import { canBeLeased } from './leased-rows.js'

it.each<[LimitText, boolean]>([
  ['100/s', true],
  ['100/min fixed', true],
  ['100/min sliding', true],
  ['100 per 10s exact', true],
  // A lease of a log lasts a hundredth of its window.
  ['100 per 9s exact', false],
  // Spaced evenly, or held by somebody.
  ['100/s smooth 50', false],
  ['100/s queue 50', false],
  ['100 concurrent for 60s', false],
  // A lease would be no larger than one.
  ['15/s', false],
  ['16/s', true],
])('tokens of %s can be leased: %s', (limits, expected) => {
  const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits } } })
  expect(canBeLeased(rules.all[0]!)).toBe(expected)
})

it.each<[LimitText, boolean]>([
  ['63/s', false],
  ['64/s', true],
])(
  'tokens of %s in four shards can be leased: %s, because a lease is of one shard',
  (limits, expected) => {
    const rules = RuleSet.compile({ rules: { r: { scope: 'user', limits, shards: 4 } } })
    expect(canBeLeased(rules.all[0]!)).toBe(expected)
  },
)
