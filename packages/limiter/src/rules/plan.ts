/**
 * What can apply to a resource and method, worked out once: for each scope the candidates, most
 * specific first. A request then only settles what depends on it: values, tiers, units.
 */
import { CidrMap } from './cidr-map.js'
import type { CompiledRule } from './compiled-rule.js'
import type { IpAddress } from './ip-address.js'
import type { Cost } from './rule.js'

/** More scopes than this under one resource are not combined ahead of time. */
const MOST_BITS = 10

/** Shared by all that have none: there may be a hundred thousand patterns. Never added to. */
const NO_NAMED = new Map<string, CompiledRule[]>()
const NO_CIDRS = new CidrMap<CompiledRule[]>()
const NO_METHODS = new Set<string>()

/** The rules of one scope under one pattern. */
export class PatternScope {
  any: CompiledRule[] = []
  named = NO_NAMED
  cidrs = NO_CIDRS

  add(compiled: CompiledRule): void {
    const { value } = compiled.rule
    if (value === null) this.any = added(this.any, compiled)
    else if (typeof value === 'object') {
      if (this.cidrs === NO_CIDRS) this.cidrs = new CidrMap()
      this.cidrs.getOrAdd(value, () => []).push(compiled)
    } else {
      if (this.named === NO_NAMED) this.named = new Map()
      this.named.set(value, added(this.named.get(value), compiled))
    }
  }
}

/** Most lists have one rule: as a literal it takes no room for others. */
function added(rules: CompiledRule[] | undefined, compiled: CompiledRule): CompiledRule[] {
  if (rules === undefined || rules.length === 0) return [compiled]
  rules.push(compiled)
  return rules
}

/** Everything under one pattern. */
export class PatternRules {
  readonly scopes = new Map<string, PatternScope>()
  /** Every method that one of its rules states. */
  methods = NO_METHODS

  add(compiled: CompiledRule): void {
    let scope = this.scopes.get(compiled.scope)
    if (scope === undefined) {
      scope = new PatternScope()
      this.scopes.set(compiled.scope, scope)
    }
    scope.add(compiled)
    const { methods } = compiled.rule
    if (methods === null) return
    if (this.methods === NO_METHODS) this.methods = new Set()
    for (const method of methods) this.methods.add(method)
  }

  *[Symbol.iterator](): IterableIterator<CompiledRule> {
    for (const { any, named, cidrs } of this.scopes.values()) {
      yield* any
      for (const rules of named.values()) yield* rules
      for (const rules of cidrs.values()) yield* rules
    }
  }
}

/** Any method that no rule states. */
export const OTHER_METHOD = '*'

export function matchesMethod(methods: readonly string[] | null, method: string): boolean {
  return methods === null || method === '' || methods.includes(method)
}

/** Among rules of one pattern: a stated method first, fewer of them first, then a tier, then by name. */
export function bySpecificity(a: CompiledRule, b: CompiledRule): number {
  const [x, y] = [a.rule, b.rule]
  return (
    Number(x.methods === null) - Number(y.methods === null) ||
    Number(x.tier === null) - Number(y.tier === null) ||
    (x.methods?.length ?? 0) - (y.methods?.length ?? 0) ||
    (x.name < y.name ? -1 : x.name > y.name ? 1 : 0)
  )
}

/** One scope of a plan. */
export class ScopePlan {
  /** Its bit in the plan's combinations; 0 where there are too many scopes for that. */
  readonly bit: number
  /** For any value, most specific first. */
  readonly any: readonly CompiledRule[]
  /** Patterns that also have rules for single values or networks, most specific first. */
  readonly particular: readonly PatternScope[]
  /** Nothing decides about `any` but the request's naming this scope, and maybe its tier. */
  readonly isPlain: boolean
  readonly usesTiers: boolean

  constructor(bit: number, patterns: readonly PatternScope[], method: string, plain: boolean) {
    this.bit = bit
    this.any = patterns.flatMap((pattern) =>
      pattern.any.filter((c) => matchesMethod(c.rule.methods, method)).sort(bySpecificity),
    )
    this.particular = patterns.filter((pattern) => pattern.named.size > 0 || !pattern.cidrs.isEmpty)
    this.usesTiers = this.any.some((c) => c.rule.tier !== null)
    this.isPlain = plain && bit !== 0 && this.any.every(isPlainRule)
  }

  /** The rules for just this value, or networks it is in: none, those of one pattern, or more than can be told apart quickly. */
  named(value: string, address: IpAddress | null): readonly CompiledRule[] | null | 'several' {
    let found: readonly CompiledRule[] | null = null
    for (const { named, cidrs } of this.particular) {
      if (address !== null && !cidrs.isEmpty && !cidrs.matches(address).next().done)
        return 'several'
      const rules = named.get(value)
      if (rules === undefined) continue
      if (found !== null) return 'several'
      found = rules
    }
    return found
  }
}

/** Neither units, overrides nor a rollout decide about it. */
function isPlainRule({ unit, family, rest }: CompiledRule): boolean {
  return unit === 'requests' && family.overrides.size === 0 && rest === null
}

/** By the bits of the scopes present. */
export type Combinations = (readonly CompiledRule[] | undefined)[]

export class Plan {
  readonly scopes = new Map<string, ScopePlan>()
  /** What a request costs that does not say, by unit; `requests` is 1 unless a table says otherwise. */
  readonly costs = new Map<string, number>([['requests', 1]])
  readonly requestCost: number
  /** The rules that apply, by the bits of the scopes present, where all of those are plain. */
  readonly combinations: Combinations = []
  /** The same by the rules for a single value, where one pattern has such; null where these are not plain. */
  readonly namedCombinations = new Map<readonly CompiledRule[], Combinations | null>()
  /** The same by tier, for the tiers that rules name. */
  readonly tierCombinations = new Map<string, Combinations>()
  /** The scope that every request has leaves nothing to settle. */
  readonly isGlobalPlain: boolean
  readonly method: string

  constructor(
    patterns: readonly PatternRules[],
    costs: readonly Cost[],
    method: string,
    defaultRule: CompiledRule | null,
  ) {
    this.method = method
    const names = new Set(patterns.flatMap((pattern) => [...pattern.scopes.keys()]))
    if (defaultRule !== null) names.add(defaultRule.scope)
    for (const [i, scope] of [...names].sort().entries()) {
      const of = patterns.flatMap((pattern) => pattern.scopes.get(scope) ?? [])
      const plain = defaultRule === null || defaultRule.scope !== scope || isPlainRule(defaultRule)
      this.scopes.set(scope, new ScopePlan(i < MOST_BITS ? 1 << i : 0, of, method, plain))
    }
    for (const { unit, cost, methods } of costs.toReversed()) {
      if (matchesMethod(methods, method)) this.costs.set(unit, cost)
    }
    this.requestCost = this.costs.get('requests')!
    for (const { any } of this.scopes.values()) {
      for (const { rule } of any) if (rule.tier !== null) this.tierCombinations.set(rule.tier, [])
    }
    this.isGlobalPlain = isGlobalPlain(this.scopes.get('global'))
  }
}

/** Combinations with these rules for a single value; null where more about the request decides. */
export function combinationsOf(plan: Plan, named: readonly CompiledRule[]): Combinations | null {
  let known = plan.namedCombinations.get(named)
  if (known === undefined) {
    known = named.every((c) => isPlainRule(c) && c.rule.tier === null) ? [] : null
    plan.namedCombinations.set(named, known)
  }
  return known
}

/** Rules of the global scope see the tiers of the others: that is settled in full. */
function isGlobalPlain(global: ScopePlan | undefined): boolean {
  return global === undefined || (global.isPlain && !global.usesTiers)
}
