/** A configured cost above the burst of a limit that applies there could never pass: the rules cannot be right. */
import type { Fault } from '../faults.js'
import { printLimit } from '../limits/limit.js'
import type { CompiledRule } from './compiled-rule.js'
import { matchesMethod } from './plan.js'
import type { Cost, RuleBook } from './rule.js'
import type { RuleSet } from './rule-set.js'

export function checkCosts(book: RuleBook, rules: RuleSet): Fault[] {
  return book.costs.flatMap((cost) => {
    const resource = exampleOf(cost)
    const method = cost.methods?.[0] ?? ''
    const plan = rules.plan(resource, method)
    if (plan.costs.get(cost.unit) !== cost.cost) return []
    return [...plan.scopes.values()].flatMap((scope) => {
      const named = scope.particular.flatMap((pattern) =>
        [...pattern.named.values(), ...pattern.cidrs.values()].flat(),
      )
      const beaten = scope.any.findIndex((c) => isCertain(c, cost))
      const contesting =
        beaten < 0
          ? scope.any
          : scope.any.filter((c, i) => i <= beaten || c.rule.additive || c.shadow)
      return [...named, ...contesting].flatMap((c) => faultsOf(c, cost))
    })
  })
}

/** Applies to whatever has this cost, so that less specific rules of its scope do not. */
function isCertain({ rule }: CompiledRule, cost: Cost): boolean {
  return rule.tier === null && !rule.additive && !rule.shadow && rule.unit === cost.unit
}

function faultsOf({ rule, limits }: CompiledRule, cost: Cost): Fault[] {
  if (rule.unit !== cost.unit || !matchesMethod(rule.methods, cost.methods?.[0] ?? '')) return []
  const methods = cost.methods === null ? '' : `${cost.methods.join('|')} `
  return limits
    .filter(({ numbers }) => cost.cost > numbers.burst)
    .map(({ limit }) => ({
      path: `costs.${methods}${cost.resource}`,
      message: `costs ${cost.cost} ${cost.unit}, and ${rule.name} (${printLimit(limit)}) never admits more than ${limit.burst} at once`,
      hint: 'lower the cost, or raise the burst',
    }))
}

/** A resource that the cost's pattern matches, and no more literal one by chance. */
function exampleOf({ pattern }: Cost): string {
  return pattern
    .map((segment) => (typeof segment === 'object' ? segment.literal : '\u0000'))
    .join('/')
}
