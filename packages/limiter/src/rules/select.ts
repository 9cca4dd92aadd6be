/**
 * Which rules apply: for each scope present the most specific one that is enforced, the most specific
 * shadow one, and every additive one; the default rule where nothing but `global` is enforced.
 */
import { type Asked, countedValue } from './asked.js'
import type { CompiledRule } from './compiled-rule.js'
import { bySpecificity, matchesMethod, type ScopePlan } from './plan.js'

/** Of one request: what its rules are chosen by. */
export interface Circumstances {
  readonly asked: Asked
  readonly defaultRule: CompiledRule | null
  /** The tier that rules of this scope see. */
  tierOf(scope: string): string | null
}

/** A rule counts in its own unit, so it applies only where the request, or the table of costs, has one. */
export function hasUnit(asked: Asked, unit: string): boolean {
  return asked.plan.costs.has(unit) || (asked.costs !== null && Object.hasOwn(asked.costs, unit))
}

/** All rules of a scope that govern the request's resource, method and value, most specific first. */
export function candidates(
  scope: string,
  scopePlan: ScopePlan,
  asked: Asked,
): readonly CompiledRule[] {
  if (scopePlan.particular.length === 0) return scopePlan.any
  const index = asked.scopes.indexOf(scope)
  const found: CompiledRule[] = []
  const collect = (rules: readonly CompiledRule[] | undefined) => {
    if (rules === undefined) return
    found.push(
      ...rules.filter((c) => matchesMethod(c.rule.methods, asked.plan.method)).sort(bySpecificity),
    )
  }
  if (index >= 0 && index < asked.count) {
    for (const pattern of scopePlan.particular) collect(pattern.named.get(asked.values[index]!))
    if (scope === 'ip' && asked.address !== null) collectNetworks(scopePlan, asked, collect)
  }
  return found.length === 0 ? scopePlan.any : [...found, ...scopePlan.any]
}

/** A longer prefix is a more particular value, so it comes before a more specific resource. */
function collectNetworks(
  scopePlan: ScopePlan,
  asked: Asked,
  collect: (rules: readonly CompiledRule[]) => void,
): void {
  const networks = scopePlan.particular.flatMap((pattern) => [
    ...pattern.cidrs.matches(asked.address!),
  ])
  const bits = (rules: readonly CompiledRule[]) => (rules[0]!.rule.value as { bits: number }).bits
  for (const rules of networks.sort((a, b) => bits(b) - bits(a))) collect(rules)
}

/** What wins among candidates that are in order, most specific first. */
export function choose(
  ordered: readonly CompiledRule[],
  tier: string | null,
  applies: (unit: string) => boolean,
  value: string,
): CompiledRule[] {
  const chosen: CompiledRule[] = []
  let enforced = false
  let shadowed = false
  for (const candidate of ordered) {
    const { rule } = candidate
    if (rule.tier !== null && rule.tier !== tier) continue
    if (!applies(rule.unit)) continue
    const compiled = candidate.for(value)
    if (rule.additive) {
      if (chosen.some((other) => other.family === compiled.family)) continue
    } else if (compiled.shadow) {
      if (shadowed) continue
      shadowed = true
    } else {
      if (enforced) continue
      enforced = true
    }
    chosen.push(compiled)
  }
  return chosen
}

/** The rules that apply to a request, in the document's order. */
export function select(circumstances: Circumstances): CompiledRule[] {
  const { asked, defaultRule } = circumstances
  const { plan } = asked
  const applies = (unit: string) => hasUnit(asked, unit)
  const selected: CompiledRule[] = []
  let limited = false
  const consider = (scope: string) => {
    const scopePlan = plan.scopes.get(scope)
    if (scopePlan === undefined) return
    const ordered = candidates(scope, scopePlan, asked)
    if (ordered.length === 0) return
    const usesTiers = ordered.some((c) => c.rule.tier !== null)
    const tier = usesTiers ? circumstances.tierOf(scope) : null
    const chosen = choose(ordered, tier, applies, countedValue(asked, scope))
    selected.push(...chosen)
    if (scope !== 'global' && chosen.some((c) => !c.shadow)) limited = true
  }
  for (let i = 0; i < asked.count; i++) consider(asked.scopes[i]!)
  consider('global')
  if (!limited && defaultRule !== null && applies(defaultRule.unit)) {
    const index = asked.scopes.indexOf(defaultRule.scope)
    if (index >= 0 && index < asked.count) selected.push(defaultRule.for(asked.counted[index]!))
  }
  return selected.sort((a, b) => a.rule.order - b.rule.order)
}
