/** A rule as it was, in few words: for an answer that is given again when the rules may have changed. */
import { isFault, parseLimit } from '../limits/grammar.js'
import { CompiledRule, Family, type RememberedRule } from './compiled-rule.js'
import type { Rule } from './rule.js'
import { DEFAULT_FIELDS } from './rule-fields.js'
import type { RuleSet } from './rule-set.js'

/** The rule in force if it is still the same; else one like it that nothing else knows. */
export function recall(
  remembered: RememberedRule,
  rules: Pick<RuleSet, 'all' | 'namespace'>,
): CompiledRule {
  const [name, family, scope, unit, shadow, limits] = remembered
  const same = rules.all.find(
    (rule) =>
      rule.name === name && rule.shadow === shadow && rule.limitTexts.join() === limits.join(),
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

function limitOf(text: string) {
  const limit = parseLimit(text)
  if (isFault(limit)) throw new Error(`a remembered limit cannot be read: ${text}`)
  return limit
}
