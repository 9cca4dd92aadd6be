/** A configured cost above the burst of a limit that applies there could never pass: the rules cannot be right. */
import type { Fault } from '../faults.js'
import { printLimit } from '../limits/limit.js'
import type { CompiledRule } from './compiled-rule.js'
import { commonExample } from './pattern.js'
import { matchesMethod, OTHER_METHOD, type Plan } from './plan.js'
import type { Cost, RuleBook } from './rule.js'
import type { RuleSet } from './rule-set.js'

export function checkCosts(book: RuleBook, rules: RuleSet): Fault[] {
  return book.costs.flatMap((cost) =>
    rules.all
      .filter(({ rule }) => rule.enabled && rule.unit === cost.unit)
      .filter((compiled) => leastBurst(compiled) < cost.cost && canMeet(compiled, cost, rules))
      .flatMap((compiled) => faultsOf(compiled, cost)),
  )
}

/** The rule, and the overrides of it. */
function variants(compiled: CompiledRule): CompiledRule[] {
  const overrides = [...compiled.family.overrides.values()].flat()
  return [compiled, ...overrides.filter((other) => other.rule === compiled.rule)]
}

function leastBurst(compiled: CompiledRule): number {
  const limits = variants(compiled).flatMap((variant) => variant.limits)
  return Math.min(...limits.map(({ numbers }) => numbers.burst))
}

/** Some request is charged this cost and counted by this rule. */
function canMeet(compiled: CompiledRule, cost: Cost, rules: RuleSet): boolean {
  const resource = commonExample(compiled.rule.pattern, cost.pattern)
  if (resource === undefined) return false
  return rules.everyPlan(resource).some((plan) => {
    const { method } = plan
    const asked = method === '' ? OTHER_METHOD : method
    if (!matchesMethod(compiled.rule.methods, asked) || !matchesMethod(cost.methods, asked))
      return false
    return plan.costs.get(cost.unit) === cost.cost && !isBeaten(compiled, plan)
  })
}

/** A rule that is always there, whoever asks, is more specific. */
function isBeaten(compiled: CompiledRule, plan: Plan): boolean {
  const { rule } = compiled
  if (rule.additive || rule.value !== null) return false
  if (!plan.scopes.get(rule.scope)?.any.includes(compiled)) {
    // The default rule: beaten by any that is always there.
    const scopes = [...plan.scopes].filter(([scope]) => scope !== 'global')
    return scopes.some(([, { any }]) => any.some((other) => isCertain(other, compiled)))
  }
  const { any } = plan.scopes.get(rule.scope)!
  return any.slice(0, any.indexOf(compiled)).some((other) => isCertain(other, compiled))
}

function isCertain({ rule }: CompiledRule, than: CompiledRule): boolean {
  const { scope, shadow, unit } = than.rule
  return (
    rule.scope === scope &&
    rule.tier === null &&
    !rule.additive &&
    rule.shadow === shadow &&
    rule.unit === unit
  )
}

function faultsOf(compiled: CompiledRule, cost: Cost): Fault[] {
  const methods = cost.methods === null ? '' : `${cost.methods.join('|')} `
  return variants(compiled).flatMap((variant) =>
    variant.limits
      .filter(({ numbers }) => cost.cost > numbers.burst)
      .map(({ limit }) => ({
        path: `costs.${methods}${cost.resource}`,
        message: `costs ${cost.cost} ${cost.unit}, and ${variant.name} (${printLimit(limit)}) never admits more than ${limit.burst} at once`,
        hint: 'lower the cost, or raise the burst',
      })),
  )
}
