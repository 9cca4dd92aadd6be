/**
 * When a rule set takes effect. A bucket whose amount changed is converted at the moment of the change,
 * so every limit carries the time from which its numbers hold; unchanged ones keep theirs.
 */
import type { LimitNumbers } from '../algorithms/limit-numbers.js'
import { type Slices, STEP } from '../slices.js'
import type { CompiledRule } from './compiled-rule.js'
import type { RuleSet } from './rule-set.js'

/** Gives unchanged limits their time, and answers the others: these get theirs at the moment of the change. */
export function* carryEffect(next: RuleSet, before: RuleSet | null): Slices<LimitNumbers[]> {
  const changed: LimitNumbers[] = []
  let looked = 0
  for (const [rule, value] of everyRule(next)) {
    if (++looked % STEP === 0) yield
    // Taken over as it was.
    if (value === null && before?.named(rule.name) === rule) continue
    const old = before === null ? undefined : counterpart(before, rule, value)
    for (const { id, numbers } of rule.limits) {
      const same = old?.limits.find(
        (other) => other.id === id && other.numbers.amount === numbers.amount,
      )
      if (same === undefined) changed.push(numbers)
      else numbers.since = same.numbers.since
    }
  }
  return changed
}

/** Overrides too, each with whose it is. */
function* everyRule(rules: RuleSet): IterableIterator<[CompiledRule, string | null]> {
  for (const rule of rules.all) yield* both(rule, null)
  for (const { overrides } of rules.families.values())
    for (const [value, list] of overrides) for (const rule of list) yield* both(rule, value)
}

/** Enforced, and in shadow for the rest. */
function* both(
  rule: CompiledRule,
  value: string | null,
): IterableIterator<[CompiledRule, string | null]> {
  yield [rule, value]
  if (rule.rest !== null) yield [rule.rest, value]
}

function counterpart(
  before: RuleSet,
  { name, family }: CompiledRule,
  value: string | null,
): CompiledRule | undefined {
  if (value === null) return before.named(name)
  const overrides = before.families.get(family.name)?.overrides.get(value)
  return overrides?.findLast((other) => other.name === name)
}
