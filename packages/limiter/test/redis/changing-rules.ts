/** A document of rules that random changes are made to. What is removed never comes back under its name. */
import type { LimitObject, OverrideInput, RuleInput, RulesDocument } from '../../src/index.js'
import { least } from '../properties/fraction.js'
import { type LimitSpec, limitOf, YEAR } from '../properties/limits.js'
import type { AnyLimit, Change, RuleSpec } from './random-history.js'

interface NamedRule {
  readonly name: string
  readonly spec: RuleSpec
  /** Every limit it ever had, by algorithm and window. */
  readonly known: Set<string>
}

function identity(limit: AnyLimit): string {
  if (limit.algorithm === 'calendar') return `${limit.calendar} ${limit.timezone}`
  return `${limit.algorithm} ${limit.window}`
}

function withAmount(limit: AnyLimit, amount: bigint): AnyLimit {
  if (limit.algorithm === 'calendar') return { ...limit, amount }
  if (!isBucket(limit)) return { ...limit, amount, burst: amount }
  return inRange({ ...limit, amount })
}

function isBucket({ algorithm }: AnyLimit): boolean {
  return algorithm === 'token_bucket' || algorithm === 'gcra' || algorithm === 'leaky_bucket'
}

/** A bucket that fills within 40 years, so that histories may go on for decades. */
function inRange(limit: LimitSpec): LimitSpec {
  const most = (40n * YEAR * limit.amount) / limit.window
  return { ...limit, burst: most < 1n ? 1n : least(limit.burst, most) }
}

function objectOf(limit: AnyLimit): LimitObject {
  if (limit.algorithm !== 'calendar') return limitOf(limit)
  const { amount, calendar, timezone } = limit
  return { amount: Number(amount), calendar, timezone }
}

export class ChangingRules {
  readonly #rules: NamedRule[] = []
  #overrides: OverrideInput[] = []
  #named = 0

  constructor(specs: readonly RuleSpec[]) {
    for (const spec of specs) this.#add(spec)
  }

  get names(): string[] {
    return this.#rules.map(({ name }) => name)
  }

  /** Whether these concurrency limits, each a rule's name and a time-out in seconds, are all there. */
  hold(limits: readonly string[]): boolean {
    const there = new Set<string>()
    for (const { name, spec } of this.#rules)
      for (const limit of spec.limits)
        if (limit.algorithm === 'concurrency') there.add(`${name} ${Number(limit.window) / 1e6}`)
    return limits.every((limit) => there.has(limit))
  }

  get document(): RulesDocument {
    const rules: Record<string, RuleInput> = {}
    const scopes = new Set<string>()
    for (const { name, spec } of this.#rules) {
      const { scope, shadow, unit, limits, pro } = spec
      const own = limits.map(objectOf)
      const better = pro === null ? null : limits.map((limit, i) => withAmount(limit, pro[i % 3]!))
      const tiers = better === null ? {} : { pro: better.map(objectOf) }
      const additive = scopes.has(scope)
      scopes.add(scope)
      rules[name] = { scope, shadow, unit, additive, limits: own, tiers }
    }
    return { scopes: ['user', 'org'], rules, overrides: this.#overrides }
  }

  make(place: number, change: Change, now: bigint): void {
    if (change.change === 'add rule') return this.#add(change.spec)
    const index = place % this.#rules.length
    const rule = this.#rules[index]!
    if (change.change === 'remove rule') {
      if (this.#rules.length === 1) return
      this.#rules.splice(index, 1)
      this.#overrides = this.#overrides.filter((override) => override.rule !== rule.name)
    } else if (change.change === 'override') this.#override(rule, change.amount, now + change.forUs)
    else this.#rules[index] = { ...rule, spec: changed(rule, change) }
  }

  #add(spec: RuleSpec): void {
    const known = new Set(spec.limits.map(identity))
    this.#rules.push({ name: `rule-${this.#named++}`, spec, known })
  }

  #override({ name, spec }: NamedRule, amount: bigint, until: bigint): void {
    const value = { user: 'ada', org: 'acme', global: 'global' }[spec.scope]
    if (spec.scope === 'global') return
    const limits = spec.limits.map((limit) => objectOf(withAmount(limit, amount)))
    const others = this.#overrides.filter(({ rule }) => rule !== name)
    const end = new Date(Number(until / 1000n))
    this.#overrides = [...others, { scope: spec.scope, value, rule: name, limits, until: end }]
  }
}

type OwnChange = Exclude<Change, { change: 'add rule' | 'remove rule' | 'override' }>

function changed({ spec, known }: NamedRule, change: OwnChange): RuleSpec {
  const { limits } = spec
  switch (change.change) {
    case 'amount': {
      const at = change.limit % limits.length
      return { ...spec, limits: limits.with(at, withAmount(limits[at]!, change.amount)) }
    }
    case 'burst': {
      const at = change.limit % limits.length
      const limit = limits[at]!
      if (limit.algorithm === 'calendar' || !isBucket(limit)) return spec
      return { ...spec, limits: limits.with(at, inRange({ ...limit, burst: change.burst })) }
    }
    case 'add limit': {
      if (known.has(identity(change.spec))) return spec
      known.add(identity(change.spec))
      return {
        ...spec,
        limits: limits.toSpliced(change.place % (limits.length + 1), 0, change.spec),
      }
    }
    case 'remove limit':
      if (limits.length === 1) return spec
      return { ...spec, limits: limits.toSpliced(change.limit % limits.length, 1) }
    case 'tier':
      return { ...spec, pro: change.pro }
    case 'shadow':
      return { ...spec, shadow: change.shadow }
  }
}
