/**
 * When a rule set takes effect. A bucket whose amount changed is converted at the moment of the change,
 * so every limit carries the time from which its numbers hold; unchanged ones keep theirs.
 */
import type { CompiledRule } from './compiled-rule.js'
import type { RuleSet } from './rule-set.js'

export function carryEffect(next: RuleSet, before: RuleSet | null, now: number): void {
  const known = new Map(before === null ? [] : everyRule(before))
  for (const [name, rule] of everyRule(next)) {
    const old = known.get(name)
    for (const limit of rule.limits) {
      const same = old?.limits.find(
        (other) => other.id === limit.id && other.numbers.amount === limit.numbers.amount,
      )
      limit.numbers.since = same?.numbers.since ?? now
    }
  }
}

/** Overrides too, each by its rule and whose it is. */
function* everyRule(rules: RuleSet): IterableIterator<[string, CompiledRule]> {
  for (const rule of rules.all) yield [rule.name, rule]
  for (const { overrides } of rules.families.values())
    for (const [value, list] of overrides)
      for (const rule of list) yield [JSON.stringify([rule.name, value]), rule]
}
