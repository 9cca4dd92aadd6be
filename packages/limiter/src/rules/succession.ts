/**
 * When a rule set takes effect. A bucket whose amount changed is converted at the moment of the change,
 * so every limit carries the time from which its numbers hold; unchanged ones keep theirs.
 */
import type { RuleSet } from './rule-set.js'

export function carryEffect(next: RuleSet, before: RuleSet | null, now: number): void {
  const known = new Map(before?.all.map((rule) => [rule.name, rule]))
  for (const rule of next.all) {
    const old = known.get(rule.name)
    for (const limit of rule.limits) {
      const same = old?.limits.find(
        (other) => other.id === limit.id && other.numbers.amount === limit.numbers.amount,
      )
      limit.numbers.since = same?.numbers.since ?? now
    }
  }
}
