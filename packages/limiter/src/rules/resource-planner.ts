/**
 * Finds the plan of a resource and method. Costs the length of the resource and the number of patterns
 * that match it, not the number of rules; a small cache by resource makes it cost a lookup.
 */
import type { PatternCosts } from './assembly.js'
import type { CompiledRule } from './compiled-rule.js'
import type { PatternTrie } from './pattern-trie.js'
import { OTHER_METHOD, type PatternRules, Plan } from './plan.js'
import type { Cost } from './rule.js'
import { TwoGenerations } from './two-generations.js'

/** Plans of one combination of patterns, by method; methods that no rule states share one. */
interface ResourcePlans {
  readonly patterns: readonly PatternRules[]
  readonly costs: readonly Cost[]
  readonly stated: ReadonlySet<string>
  readonly byMethod: Map<string, Plan>
  /** The one plan, where no method is stated. */
  readonly only: Plan | null
}

/** How many combinations of patterns are remembered, besides two a rule. */
const MOST_COMBINATIONS = 4096

/** A combination of patterns, found by one part after the other. */
interface Combination {
  readonly next: Map<object, Combination>
  plans: ResourcePlans | undefined
}

export interface PlannerParts {
  readonly patterns: PatternTrie<PatternRules>
  readonly costs: PatternTrie<PatternCosts>
  readonly defaultRule: CompiledRule | null
  readonly ruleCount: number
}

export class ResourcePlanner {
  readonly #parts: PlannerParts
  readonly #byResource = new TwoGenerations<string, ResourcePlans>(4096)
  readonly #byPatterns: Combination = { next: new Map(), plans: undefined }
  #combinations = 0

  constructor(parts: PlannerParts) {
    this.#parts = parts
  }

  /** The plan of a resource that was asked for not long ago; undefined if it was not. */
  knownPlan(resource: string, method: string): Plan | undefined {
    const plans = this.#byResource.get(resource)
    return plans === undefined ? undefined : this.#planOf(plans, method)
  }

  /** What can apply to a resource (without its query) and method (upper case; empty for none). */
  plan(resource: string, method: string): Plan {
    let plans = this.#byResource.get(resource)
    if (plans === undefined) {
      plans = this.#plansOf(resource)
      this.#byResource.set(resource, plans)
    }
    return this.#planOf(plans, method)
  }

  #planOf(plans: ResourcePlans, method: string): Plan {
    if (plans.only !== null) return plans.only
    const key = method === '' || plans.stated.has(method) ? method : OTHER_METHOD
    let plan = plans.byMethod.get(key)
    if (plan === undefined) {
      plan = new Plan(plans.patterns, plans.costs, key, this.#parts.defaultRule)
      plans.byMethod.set(key, plan)
    }
    return plan
  }

  #plansOf(resource: string): ResourcePlans {
    const patterns = this.#parts.patterns.match(resource)
    const costs = this.#parts.costs.match(resource)
    let node = this.#byPatterns
    for (const pattern of patterns) node = this.#nextOf(node, pattern)
    for (const cost of costs) node = this.#nextOf(node, cost)
    node.plans ??= this.#newPlans(patterns, costs)
    return node.plans
  }

  #nextOf(node: Combination, part: object): Combination {
    const known = node.next.get(part)
    if (known !== undefined) return known
    const next: Combination = { next: new Map(), plans: undefined }
    if (this.#combinations++ >= MOST_COMBINATIONS + 2 * this.#parts.ruleCount) {
      this.#byPatterns.next.clear()
      this.#combinations = 0
    }
    node.next.set(part, next)
    return next
  }

  #newPlans(patterns: readonly PatternRules[], costs: readonly PatternCosts[]): ResourcePlans {
    const byMethod = (a: Cost, b: Cost) => Number(a.methods === null) - Number(b.methods === null)
    const flat = costs.flatMap(({ list }) => list.toSorted(byMethod))
    const stated = new Set(flat.flatMap((cost) => cost.methods ?? []))
    for (const pattern of patterns) for (const method of pattern.methods) stated.add(method)
    const only = stated.size > 0 ? null : new Plan(patterns, flat, '', this.#parts.defaultRule)
    return { patterns, costs: flat, stated, byMethod: new Map<string, Plan>(), only }
  }

  /** The plans of a resource for every method that matters there; the resource itself is not kept. */
  everyPlan(resource: string): Plan[] {
    const plans = this.#plansOf(resource)
    return [...plans.stated, OTHER_METHOD].map((method) => this.#planOf(plans, method))
  }
}
