/** Rules, compiled: immutable, and swapped whole. What can apply to a resource is found by a planner. */
import { invalidRules } from '../errors.js'
import { printWarning } from '../faults.js'
import { drain, type Slices } from '../slices.js'
import type { Asked } from './asked.js'
import { assemble, type RuleSetParts } from './assembly.js'
import { checkCosts } from './check-costs.js'
import type { CompiledRule, Family, RememberedRule } from './compiled-rule.js'
import type { RulesDocument } from './document.js'
import { type Normalize, normalizeResource } from './normalize.js'
import { type Combinations, combinationsOf } from './plan.js'
import { readDocument } from './read-document.js'
import { recall } from './remembered-rule.js'
import { ResourcePlanner } from './resource-planner.js'
import type { RuleBook } from './rule.js'
import { select } from './select.js'
import type { SubjectList } from './subject-list.js'

export class RuleSet {
  /** The document as it was checked and understood. */
  readonly book: RuleBook
  readonly namespace: string
  readonly ipv6Prefix: number
  readonly normalize: Normalize
  /** The resources of requests that do not say are normalised. */
  readonly normalizesChecks: boolean
  /** What is in doubt, in words; `book.warnings` has them with codes. */
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
  /** Plans by the patterns as they are written. */
  readonly written: ResourcePlanner
  /** Plans by the patterns as they are normalised: for resources that are. */
  readonly normalized: ResourcePlanner

  private constructor(parts: RuleSetParts) {
    const { book } = parts
    this.#parts = parts
    this.book = book
    this.namespace = book.namespace
    this.ipv6Prefix = book.ipv6Prefix
    this.normalize = book.normalize
    this.normalizesChecks = book.normalize.checks
    this.warnings = book.warnings.map(printWarning)
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
    const { defaultRule, patterns, costs, normalPatterns, normalCosts } = parts
    const ruleCount = parts.rules.length
    this.written = new ResourcePlanner({ patterns, costs, defaultRule, ruleCount })
    this.normalized =
      normalPatterns === patterns && normalCosts === costs
        ? this.written
        : new ResourcePlanner({
            patterns: normalPatterns,
            costs: normalCosts,
            defaultRule,
            ruleCount,
          })
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

  /** A resource as it is compared where it is normalised. */
  normalizedResource(resource: string): string {
    return normalizeResource(resource, this.normalize)
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

  /** A rule of an earlier answer: the one in force if it is still the same, else one like it that nothing else knows. */
  recall(remembered: RememberedRule): CompiledRule {
    return recall(remembered, this)
  }
}
