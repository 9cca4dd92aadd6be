/**
 * Rules, compiled: immutable, and swapped whole. Matching costs the length of the resource and the
 * number of patterns that match it, not the number of rules; a small cache by resource makes it cost
 * a lookup.
 */
import { invalidRules } from '../errors.js'
import { drain, type Slices } from '../slices.js'
import type { Asked } from './asked.js'
import { assemble, type PatternCosts, type RuleSetParts } from './assembly.js'
import { checkCosts } from './check-costs.js'
import type { CompiledRule, Family } from './compiled-rule.js'
import type { RulesDocument } from './document.js'
import type { PatternTrie } from './pattern-trie.js'
import { type Combinations, combinationsOf, OTHER_METHOD, type PatternRules, Plan } from './plan.js'
import { readDocument } from './read-document.js'
import type { Cost, RuleBook } from './rule.js'
import { select } from './select.js'
import type { SubjectList } from './subject-list.js'
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

export class RuleSet {
  /** The document as it was checked and understood. */
  readonly book: RuleBook
  readonly namespace: string
  readonly ipv6Prefix: number
  readonly warnings: readonly string[]
  readonly rules: readonly CompiledRule[]
  /** The default rule too. */
  readonly all: readonly CompiledRule[]
  readonly families: ReadonlyMap<string, Family>
  readonly defaultRule: CompiledRule | null
  readonly blocks: SubjectList
  readonly exemptions: SubjectList
  /** There is anyone to be blocked or exempt. */
  readonly hasLists: boolean
  /** Scopes that a request may name. */
  readonly scopes: ReadonlySet<string>
  /** Whether anything is chosen by CIDR, so that addresses must be parsed. */
  readonly usesCidrs: boolean

  readonly #parts: RuleSetParts
  readonly #tiers: RuleBook['tiers']
  readonly #byName: ReadonlyMap<string, CompiledRule>
  readonly #patterns: PatternTrie<PatternRules>
  readonly #costs: PatternTrie<PatternCosts>
  readonly #byResource = new TwoGenerations<string, ResourcePlans>(4096)
  readonly #byPatterns: Combination = { next: new Map(), plans: undefined }
  #combinations = 0

  private constructor(parts: RuleSetParts) {
    const { book } = parts
    this.#parts = parts
    this.book = book
    this.namespace = book.namespace
    this.ipv6Prefix = book.ipv6Prefix
    this.warnings = book.warnings
    this.rules = parts.rules
    this.all = parts.all
    this.families = parts.families
    this.defaultRule = parts.defaultRule
    this.blocks = parts.blocks
    this.exemptions = parts.exemptions
    this.hasLists = !this.blocks.isEmpty || !this.exemptions.isEmpty
    this.scopes = parts.scopes
    this.usesCidrs = parts.usesCidrs
    this.#tiers = book.tiers
    this.#byName = parts.byName
    this.#patterns = parts.patterns
    this.#costs = parts.costs
  }

  /** Throws with every fault. */
  static compile(document: RulesDocument): RuleSet {
    const book = readDocument(document)
    if (Array.isArray(book)) throw invalidRules(book)
    const rules = drain(RuleSet.assemble(book))
    const { faults, warnings } = checkCosts(book, rules)
    if (faults.length > 0) throw invalidRules(faults)
    if (warnings.length === 0) return rules
    const warned = { ...book, warnings: [...book.warnings, ...warnings] }
    return new RuleSet({ ...rules.#parts, book: warned })
  }

  /**
   * The same in slices, of a document that was checked: another thread's `compile(document).book`. Rules
   * that a set before it has too, the very same, are taken over from there.
   */
  static *assemble(book: RuleBook, before?: RuleSet): Slices<RuleSet> {
    const isSame = before?.namespace === book.namespace
    return new RuleSet(yield* assemble(book, isSame ? before.#parts : null))
  }

  /** How many rules there are, as they were written: tiers are part of theirs. */
  get size(): number {
    return this.families.size - (this.defaultRule === null ? 0 : 1)
  }

  /** The rule, or the tier's variant, of this name. */
  named(name: string): CompiledRule | undefined {
    return this.#byName.get(name)
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
      plan = new Plan(plans.patterns, plans.costs, key, this.defaultRule)
      plans.byMethod.set(key, plan)
    }
    return plan
  }

  #plansOf(resource: string): ResourcePlans {
    const patterns = this.#patterns.match(resource)
    const costs = this.#costs.match(resource)
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
    if (this.#combinations++ >= MOST_COMBINATIONS + 2 * this.rules.length) {
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
    const only = stated.size > 0 ? null : new Plan(patterns, flat, '', this.defaultRule)
    return { patterns, costs: flat, stated, byMethod: new Map<string, Plan>(), only }
  }

  /** The plans of a resource for every method that matters there; the resource itself is not kept. */
  everyPlan(resource: string): Plan[] {
    const plans = this.#plansOf(resource)
    return [...plans.stated, OTHER_METHOD].map((method) => this.#planOf(plans, method))
  }

  /** The rules that apply to what was asked, at `now` (overrides end), in the document's order. */
  match(asked: Asked, now: number): readonly CompiledRule[] {
    const combinations = asked.isPlain ? this.#combinationsOf(asked) : null
    if (combinations === null) return this.#matchInFull(asked, now)
    const known = combinations[asked.bits]
    if (known !== undefined) return known
    const matched = this.#matchInFull(asked, now)
    combinations[asked.bits] = matched
    return matched
  }

  /** Where the answer for such requests is kept; null where more about the request decides. */
  #combinationsOf(asked: Asked): Combinations | null {
    const { plan, named, tieredScope } = asked
    if (named !== null) return combinationsOf(plan, named)
    const tier = tieredScope === '' ? null : this.tierOf(tieredScope, asked)
    if (tier === null) return plan.combinations
    return plan.tierCombinations.get(tier) ?? plan.combinations
  }

  #matchInFull(asked: Asked, now: number): readonly CompiledRule[] {
    const tierOf = (scope: string) => this.tierOf(scope, asked)
    const selected = select({ asked, defaultRule: this.defaultRule, tierOf })
    return selected.map((compiled) => this.overridden(compiled, asked, now))
  }

  /** The rule with a subject's own limits, where an override is in force. */
  overridden(compiled: CompiledRule, asked: Asked, now: number): CompiledRule {
    const { overrides } = compiled.family
    if (overrides.size === 0) return compiled
    const index = asked.scopes.indexOf(compiled.scope)
    const list = index < 0 || index >= asked.count ? undefined : overrides.get(asked.values[index]!)
    const found = list?.findLast((other) => other.rule === compiled.rule && other.until > now)
    return found?.as(compiled) ?? compiled
  }

  /** The rule of this name that holds for a value now; undefined if it is gone. */
  inForce(compiled: CompiledRule, value: string, now: number): CompiledRule | undefined {
    const family = this.families.get(compiled.family.name)
    if (family === compiled.family && compiled.until > now) return compiled
    if (family === undefined || family.key !== compiled.family.key) return undefined
    const rule = this.#byName.get(compiled.name)
    const list = family.overrides.get(value)
    return list?.findLast((other) => other.rule === rule?.rule && other.until > now) ?? rule
  }

  /** The request's own tier; else its scope's value's, else the first of the others by name. */
  tierOf(scope: string, asked: Asked): string | null {
    if (asked.tier !== null) return asked.tier
    if (this.#tiers.size === 0) return null
    let found: string | null = null
    let foundIn = ''
    for (let i = 0; i < asked.count; i++) {
      const other = asked.scopes[i]!
      const tier = this.#tiers.get(other)?.get(asked.values[i]!)
      if (tier === undefined) continue
      if (other === scope) return tier
      if (found === null || other < foundIn) {
        found = tier
        foundIn = other
      }
    }
    return found
  }
}
