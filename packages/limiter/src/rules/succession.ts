/**
 * What a rule set takes over from the one before it. Rules keep the numbers that they are known by. A bucket
 * whose amount changed is converted at the moment of the change, so every limit carries the time from which its
 * amount holds; unchanged ones keep theirs.
 */
import type { LimitNumbers } from '../algorithms/limit-numbers.js'
import { type Slices, STEP } from '../slices.js'
import type { CompiledRule } from './compiled-rule.js'
import type { RuleSet } from './rule-set.js'

/** Hands numbers on, gives unchanged limits their time, and answers the others: these get theirs at the moment of the change. */
export function* carryEffect(next: RuleSet, before: RuleSet | null): Slices<LimitNumbers[]> {
  const changed: LimitNumbers[] = []
  let looked = 0
  for (const rule of next.all) {
    if (++looked % STEP === 0) yield
    const old = before?.named(rule.name)
    // Taken over as it was.
    if (old === rule) continue
    if (old !== undefined) rule.succeed(old)
    carry(rule, old, changed)
  }
  for (const { name, overrides } of next.families.values()) {
    if (overrides.size === 0) continue
    const oldOverrides = before?.families.get(name)?.overrides
    for (const [value, list] of overrides) {
      const oldList = oldOverrides?.get(value)
      for (const [i, rule] of list.entries()) {
        if (++looked % STEP === 0) yield
        // Several may have the same name. One replaces another only in the same place, so no two get one number.
        if (oldList?.[i]?.name === rule.name) rule.succeed(oldList[i])
        carry(
          rule,
          oldList?.findLast((other) => other.name === rule.name),
          changed,
        )
      }
    }
  }
  return changed
}

/** The times of a rule's limits: enforced, and in shadow for the rest. */
function carry(
  { limits, rest }: CompiledRule,
  old: CompiledRule | undefined,
  changed: LimitNumbers[],
): void {
  for (const { id, numbers } of rest === null ? limits : [...limits, ...rest.limits]) {
    const same = old?.limits.find(
      (other) => other.id === id && other.numbers.amount === numbers.amount,
    )
    if (same === undefined) changed.push(numbers)
    else numbers.since = same.numbers.since
  }
}
