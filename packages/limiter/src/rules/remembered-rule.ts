/** A rule as it was, in few words: for an answer that is given again when the rules may have changed. */
import { isFault, parseLimit } from '../limits/grammar.js'
import { printLimit } from '../limits/limit.js'
import { CompiledRule, Family } from './compiled-rule.js'
import type { Rule } from './rule.js'
import { DEFAULT_FIELDS } from './rule-fields.js'
import type { RuleSet } from './rule-set.js'

export type RememberedRule = readonly [
  name: string,
  family: string,
  scope: string,
  unit: string,
  shadow: boolean,
  limits: readonly string[],
]

/** Of a shard the rule that it is a part of: whoever is answered again knows nothing of shards. */
export function remember(compiled: CompiledRule): RememberedRule {
  const { name, family, scope, unit, shadow } = compiled
  return [name, family.name, scope, unit, shadow, textsOf(compiled.whole ?? compiled)]
}

/** The rule in force if it is still the same; else one like it that nothing else knows. */
export function recall(remembered: RememberedRule, rules: RuleSet): CompiledRule {
  const [name, family, scope, unit, shadow, limits] = remembered
  const same = rules.all.find(
    (rule) =>
      rule.name === name && rule.shadow === shadow && textsOf(rule).join() === limits.join(),
  )
  if (same !== undefined) return same
  const rule: Rule = {
    ...DEFAULT_FIELDS,
    name,
    family,
    scope,
    unit,
    shadow,
    limits: limits.map(limitOf),
    pattern: ['rest'],
    normalPattern: null,
    order: 0,
  }
  return new CompiledRule(rule, new Family(rules.namespace, scope, family))
}

function textsOf(compiled: CompiledRule): string[] {
  return compiled.limits.map(({ limit }) => printLimit(limit))
}

function limitOf(text: string) {
  const limit = parseLimit(text)
  if (isFault(limit)) throw new Error(`a remembered limit cannot be read: ${text}`)
  return limit
}
