/**
 * Puts together what a rule set is made of, from a checked document, a few rules at a time: a hundred
 * thousand of them take a while, and whoever is deciding meanwhile must not wait for it.
 */
import { type Slices, STEP } from '../slices.js'
import { CompiledRule, Family } from './compiled-rule.js'
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
  readonly blocks: SubjectList
  readonly exemptions: SubjectList
  readonly scopes: ReadonlySet<string>
  readonly usesCidrs: boolean
}

export function* assemble(book: RuleBook): Slices<RuleSetParts> {
  const families = new Map<string, Family>()
  const compile = (rule: Rule) => {
    let family = families.get(rule.family)
    if (family === undefined) {
      family = new Family(book.namespace, rule.scope, rule.family)
      families.set(rule.family, family)
    }
    return new CompiledRule(rule, family)
  }
  const rules: CompiledRule[] = []
  const byName = new Map<string, CompiledRule>()
  const patterns = new PatternTrie<PatternRules>()
  const scopes = new Set<string>([...BUILT_IN_SCOPES, ...book.scopes, ...book.tiers.keys()])
  let usesCidrs = false
  for (const rule of book.rules) {
    const compiled = compile(rule)
    rules.push(compiled)
    byName.set(rule.name, compiled)
    scopes.add(rule.scope)
    usesCidrs ||= rule.scope === 'ip' && rule.value !== null
    if (rule.enabled) patterns.getOrAdd(rule.pattern, () => new PatternRules()).add(compiled)
    if (rules.length % STEP === 0) yield
  }
  const defaultRule = book.defaultRule?.enabled ? compile(book.defaultRule) : null
  const all = defaultRule === null ? rules : [...rules, defaultRule]
  if (defaultRule !== null) {
    byName.set(defaultRule.name, defaultRule)
    scopes.add(defaultRule.scope)
  }
  const costs = new PatternTrie<PatternCosts>()
  for (const cost of book.costs) costs.getOrAdd(cost.pattern, () => ({ list: [] })).list.push(cost)
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
    blocks,
    exemptions,
    scopes,
    usesCidrs,
  }
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
