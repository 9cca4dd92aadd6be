/** A rule that states little, and another value for each of its fields. */
import { type RuleInput, RuleSet, type RulesDocument } from '@sluice/limiter'
import type { OwnField } from '@sluice/limiter/transport'

/** It states little. */
export const BASE = { scope: 'user', resource: '/a', limits: '1000/h' } as const satisfies RuleInput
/** Another value for each field. A field without a value does not compile. */
export const OTHER: { readonly [F in OwnField]: RuleInput[F] } = {
  scope: 'org',
  value: 'ada',
  tier: 'pro',
  resource: '/b',
  methods: ['GET'],
  limits: '1200/h fixed',
  additive: true,
  unit: 'tokens',
  enabled: false,
  shadow: true,
  rollout: 0,
  failure_mode: 'closed',
  reach: 'global',
  shards: 2,
  lease: 'off',
  message: 'come back later',
  labels: { team: 'search', env: 'prod' },
  adaptive: 'api',
  priority: 'bulk',
  description: 'why it is there',
}

export const without = (rule: object, field: string) =>
  Object.fromEntries(Object.entries(rule).filter(([name]) => name !== field))
export const documentOf = (rule: object): RulesDocument => ({
  rules: { a: rule as RuleInput, wide: { scope: 'user', limits: '5000/h' } },
})
export const changed = (field: OwnField) => ({ ...BASE, [field]: OTHER[field] })
export const ruleOf = (rule: object) => RuleSet.compile(documentOf(rule)).book.rules[0]!
