/**
 * Puts together what a rule set is made of, from a checked document, a few rules at a time: a hundred
 * thousand of them take a while, and whoever is deciding meanwhile must not wait for it.
 */
import { type Slices, STEP } from '../slices.js'
import { CompiledRule, Family } from './compiled-rule.js'
import { type Pattern, patternKey } from './pattern.js'
import { PatternTrie } from './pattern-trie.js'
import { PatternRules } from './plan.js'
import type { Cost, Rule, RuleBook } from './rule.js'
import { SubjectList } from './subject-list.js'
import { BUILT_IN_SCOPES } from './words.js'

/** The costs under one pattern. */
export interface PatternCosts {
  readonly list: Cost[]
}

export interface RuleSetParts {
  readonly book: RuleBook
  readonly rules: readonly CompiledRule[]
  readonly defaultRule: CompiledRule | null
  /** The default rule too. */
  readonly all: readonly CompiledRule[]
  readonly byName: ReadonlyMap<string, CompiledRule>
  readonly families: ReadonlyMap<string, Family>
  readonly patterns: PatternTrie<PatternRules>
  readonly costs: PatternTrie<PatternCosts>
  /** The same by normalised patterns; the very same where no pattern changes by it. */
  readonly normalPatterns: PatternTrie<PatternRules>
  readonly normalCosts: PatternTrie<PatternCosts>
  readonly blocks: SubjectList
  readonly exemptions: SubjectList
  readonly scopes: ReadonlySet<string>
  readonly usesCidrs: boolean
}

/** `before` is a rule set of the same namespace: what has not changed since is taken over as it is. */
export function* assemble(book: RuleBook, before: RuleSetParts | null): Slices<RuleSetParts> {
  const changed = before === null ? null : yield* changedFamilies(book, before)
  const families = new Map<string, Family>()
  const compile = (rule: Rule) => {
    const known = changed?.has(rule.family) === false ? before!.byName.get(rule.name) : undefined
    let family = families.get(rule.family)
    if (family === undefined) {
      family = known?.family ?? new Family(book.namespace, rule.scope, rule.family, rule.shards)
      families.set(rule.family, family)
    }
    return known ?? new CompiledRule(rule, family)
  }
  const rules: CompiledRule[] = []
  const byName = new Map<string, CompiledRule>()
  const scopes = new Set<string>([...BUILT_IN_SCOPES, ...book.scopes, ...book.tiers.keys()])
  let usesCidrs = false
  for (const rule of book.rules) {
    const compiled = compile(rule)
    rules.push(compiled)
    byName.set(rule.name, compiled)
    scopes.add(rule.scope)
    usesCidrs ||= rule.scope === 'ip' && rule.value !== null
    if (rules.length % STEP === 0) yield
  }
  const patterns =
    changed === null || changed.size > before!.families.size / 4
      ? yield* patternsOf(rules)
      : yield* patternsAfter(before!, rules, changed)
  const defaultRule = book.defaultRule?.enabled ? compile(book.defaultRule) : null
  const all = defaultRule === null ? rules : [...rules, defaultRule]
  if (defaultRule !== null) {
    byName.set(defaultRule.name, defaultRule)
    scopes.add(defaultRule.scope)
  }
  const normalPatterns = yield* normalPatternsOf(patterns, rules)
  const costs = costsOf(book.costs, ({ pattern }) => pattern)
  const normalCosts = normalCostsOf(book.costs) ?? costs
  yield* override(book, all)
  const blocks = yield* SubjectList.assemble(book.blocks)
  const exemptions = yield* SubjectList.assemble(book.exemptions)
  for (const scope of [...blocks.scopes, ...exemptions.scopes]) scopes.add(scope)
  usesCidrs ||= blocks.hasCidrs || exemptions.hasCidrs
  return {
    book,
    rules,
    defaultRule,
    all,
    byName,
    families,
    patterns,
    costs,
    normalPatterns,
    normalCosts,
    blocks,
    exemptions,
    scopes,
    usesCidrs,
  }
}

/** Families of which a rule came, went or changed, or that have overrides: these are compiled anew. */
function* changedFamilies(book: RuleBook, before: RuleSetParts): Slices<Set<string>> {
  const changed = new Set<string>()
  const next = new Map<string, Rule>()
  const note = (rule: Rule) => {
    next.set(rule.name, rule)
    if (before.byName.get(rule.name)?.rule !== rule) changed.add(rule.family)
  }
  let looked = 0
  for (const rule of book.rules) {
    note(rule)
    if (++looked % (STEP * 10) === 0) yield
  }
  if (book.defaultRule?.enabled === true) note(book.defaultRule)
  for (const { rule } of before.all) {
    if (next.get(rule.name) !== rule) changed.add(rule.family)
    if (++looked % (STEP * 10) === 0) yield
  }
  for (const { overrides } of [book, before.book])
    for (const { rule } of overrides) changed.add(rule.split('@')[0]!)
  return changed
}

function* patternsOf(rules: readonly CompiledRule[]): Slices<PatternTrie<PatternRules>> {
  const patterns = new PatternTrie<PatternRules>()
  let looked = 0
  for (const compiled of rules) {
    if (++looked % STEP === 0) yield
    const { enabled, pattern } = compiled.rule
    if (enabled) patterns.getOrAdd(pattern, () => new PatternRules()).add(compiled)
  }
  return patterns
}

/** The same, where only the patterns of some families are looked at again. */
function* patternsAfter(
  before: RuleSetParts,
  rules: readonly CompiledRule[],
  changed: ReadonlySet<string>,
): Slices<PatternTrie<PatternRules>> {
  const patterns = new PatternTrie(before.patterns)
  const again = new Map<string, { pattern: Pattern; rules: PatternRules }>()
  const lookAgain = ({ pattern }: Rule): PatternRules => {
    const key = patternKey(pattern)
    let found = again.get(key)
    if (found === undefined) {
      found = { pattern, rules: new PatternRules() }
      again.set(key, found)
      for (const kept of before.patterns.get(pattern) ?? [])
        if (!changed.has(kept.rule.family)) found.rules.add(kept)
    }
    return found.rules
  }
  let looked = 0
  for (const [list, isNew] of [
    [before.rules, false],
    [rules, true],
  ] as const)
    for (const compiled of list) {
      if (++looked % (STEP * 10) === 0) yield
      const { rule } = compiled
      if (!changed.has(rule.family) || !rule.enabled) continue
      const found = lookAgain(rule)
      if (isNew) found.add(compiled)
    }
  for (const { pattern, rules: found } of again.values())
    patterns.set(pattern, found.scopes.size === 0 ? undefined : found)
  return patterns
}

/** Patterns that are not normalised already are filed under what they become, beside what is there. */
function* normalPatternsOf(
  patterns: PatternTrie<PatternRules>,
  rules: readonly CompiledRule[],
): Slices<PatternTrie<PatternRules>> {
  const moved = new Map<string, { pattern: Pattern; rules: PatternRules }>()
  let looked = 0
  for (const compiled of rules) {
    if (++looked % (STEP * 10) === 0) yield
    const { enabled, normalPattern } = compiled.rule
    if (!enabled || normalPattern === null) continue
    const key = patternKey(normalPattern)
    let found = moved.get(key)
    if (found === undefined) {
      found = { pattern: normalPattern, rules: new PatternRules() }
      moved.set(key, found)
      for (const kept of patterns.get(normalPattern) ?? []) found.rules.add(kept)
    }
    found.rules.add(compiled)
  }
  if (moved.size === 0) return patterns
  // What is filed under its own spelling may stay there: no normalised resource is spelled so.
  const normal = new PatternTrie(patterns)
  for (const { pattern, rules: found } of moved.values()) normal.set(pattern, found)
  return normal
}

function costsOf(
  costs: readonly Cost[],
  patternOf: (cost: Cost) => Pattern,
): PatternTrie<PatternCosts> {
  const trie = new PatternTrie<PatternCosts>()
  for (const cost of costs) trie.getOrAdd(patternOf(cost), () => ({ list: [] })).list.push(cost)
  return trie
}

/** Of costs that become equal the highest is charged, the others stay in their order; null where none changes. */
function normalCostsOf(costs: readonly Cost[]): PatternTrie<PatternCosts> | null {
  if (costs.every(({ normalPattern }) => normalPattern === null)) return null
  const patternOf = ({ pattern, normalPattern }: Cost) => normalPattern ?? pattern
  const highest = new Map<string, Cost>()
  for (const cost of costs) {
    const place = JSON.stringify([patternKey(patternOf(cost)), cost.methods, cost.unit])
    if (cost.cost > (highest.get(place)?.cost ?? 0)) highest.set(place, cost)
  }
  return costsOf([...highest.values()], patternOf)
}

/** Each override becomes a variant of the rule it names, or of every tier of it. */
function* override(book: RuleBook, all: readonly CompiledRule[]): Slices<void> {
  if (book.overrides.length === 0) return
  const overridden = new Set(book.overrides.map(({ rule }) => rule.split('@')[0]!))
  const variants = new Map<string, CompiledRule[]>()
  let looked = 0
  for (const compiled of all) {
    if (++looked % STEP === 0) yield
    const { family } = compiled.rule
    if (!overridden.has(family)) continue
    const known = variants.get(family)
    if (known === undefined) variants.set(family, [compiled])
    else known.push(compiled)
  }
  for (const one of book.overrides) {
    if (++looked % STEP === 0) yield
    const name = one.rule.split('@')[0]!
    for (const { rule, family } of variants.get(name) ?? []) {
      if (rule.scope !== one.scope) continue
      if (rule.name !== one.rule && rule.family !== one.rule) continue
      family.override(one.value, new CompiledRule(rule, family, one))
    }
  }
}
