/** Why which rules apply to a request, and why the others do not: the same choice as `select`, told. */
import { printLimit } from '../limits/limit.js'
import { type Asked, countedValue } from './asked.js'
import type { CompiledRule } from './compiled-rule.js'
import { patternKey } from './pattern.js'
import type { Rule } from './rule.js'
import type { RuleSet } from './rule-set.js'
import { candidates, hasUnit } from './select.js'

export interface AppliedRule {
  readonly rule: string
  readonly scope: string
  readonly limits: readonly string[]
  readonly why: string
}

export interface SetAsideRule {
  readonly rule: string
  readonly scope: string
  readonly limits: readonly string[]
  /** The rule that applies instead; null where it does not apply at all. */
  readonly by: string | null
  readonly why: string
}

export interface MatchExplanation {
  readonly applied: readonly AppliedRule[]
  readonly setAside: readonly SetAsideRule[]
  /** Scopes that rules of this resource look at and the request does not name. */
  readonly absentScopes: readonly string[]
}

export function explainMatch(
  rules: RuleSet,
  asked: Asked,
  matched: readonly CompiledRule[],
  now: number,
): MatchExplanation {
  const { plan } = asked
  const present = new Set(['global', ...asked.scopes.slice(0, asked.count)])
  const setAside: SetAsideRule[] = []
  for (const [scope, scopePlan] of plan.scopes) {
    if (!present.has(scope)) continue
    for (const candidate of candidates(scope, scopePlan, asked)) {
      const compiled = candidate.for(countedValue(asked, scope))
      const overridden = rules.overridden(compiled, asked, now)
      if (!matched.includes(overridden)) setAside.push(whyNot(rules, asked, compiled, matched))
    }
  }
  const { defaultRule } = rules
  if (
    defaultRule !== null &&
    present.has(defaultRule.scope) &&
    !matched.some((m) => m.rule === defaultRule.rule)
  ) {
    const by = matched.find((m) => m.scope !== 'global' && !m.shadow)?.name ?? null
    const why =
      by === null ? unitMissing(defaultRule) : 'applies only where no rule but a global one does'
    setAside.push({ ...said(defaultRule), by, why })
  }
  return {
    applied: matched.map((compiled) => ({
      ...said(compiled),
      why: whyApplied(rules, compiled, setAside),
    })),
    setAside,
    absentScopes: [...plan.scopes]
      .filter(([scope, { any, particular }]) => {
        const ruled = any.length > 0 || particular.length > 0 || scope === defaultRule?.scope
        return ruled && !present.has(scope)
      })
      .map(([scope]) => scope),
  }
}

function said({ name, scope, limits }: CompiledRule) {
  return { rule: name, scope, limits: limits.map(({ limit }) => printLimit(limit)) }
}

function unitMissing({ unit }: CompiledRule): string {
  return `counts ${unit}, and the request gives no costs.${unit}`
}

function whyNot(
  rules: RuleSet,
  asked: Asked,
  loser: CompiledRule,
  matched: readonly CompiledRule[],
): SetAsideRule {
  const { scope } = loser
  const what = said(loser)
  const tier = rules.tierOf(scope, asked)
  if (loser.rule.tier !== null && loser.rule.tier !== tier)
    return {
      ...what,
      by: null,
      why: `is for tier ${loser.rule.tier}, and the request's is ${tier ?? 'none'}`,
    }
  if (!hasUnit(asked, loser.unit)) return { ...what, by: null, why: unitMissing(loser) }
  const winner = matched.find((other) => {
    if (other.scope !== scope || other.rule.additive !== loser.rule.additive) return false
    return loser.rule.additive ? other.family === loser.family : other.shadow === loser.shadow
  })
  if (winner === undefined) return { ...what, by: null, why: 'does not apply' }
  return { ...what, by: winner.name, why: beats(winner, loser, asked.isNormalized) }
}

/** The first thing in which the winner is more specific. */
function beats(
  { rule: winner }: CompiledRule,
  { rule: loser }: CompiledRule,
  isNormalized: boolean,
): string {
  const keyOf = ({ pattern, normalPattern }: Rule) =>
    patternKey(isNormalized ? (normalPattern ?? pattern) : pattern)
  const of = (what: string, other: string) => `${what} of ${winner.name} beats ${other}`
  if (winner.value !== null && loser.value === null) return of('the named value', 'any value')
  if (JSON.stringify(winner.value) !== JSON.stringify(loser.value))
    return of('the narrower value', 'a wider network')
  if (keyOf(winner) !== keyOf(loser)) return of(winner.resource, loser.resource)
  if (winner.methods !== null && loser.methods === null)
    return of(winner.methods.join('|'), 'any method')
  if (winner.tier !== null && loser.tier === null) return of(`tier ${winner.tier}`, 'no tier')
  if (winner.methods?.length !== loser.methods?.length)
    return of('the shorter list of methods', 'the longer one')
  return `${winner.name} comes before it by name`
}

function whyApplied(
  rules: RuleSet,
  compiled: CompiledRule,
  setAside: readonly SetAsideRule[],
): string {
  const { rule, until, reason } = compiled
  const plain = rules.named(compiled.name)
  if (plain !== compiled && plain?.rest !== compiled) {
    const end =
      until === Number.POSITIVE_INFINITY ? '' : ` until ${new Date(until / 1000).toISOString()}`
    return `an override is in force${end}${reason === null ? '' : `: ${reason}`}`
  }
  if (compiled.shadow !== rule.shadow)
    return `in shadow for this subject: the rollout is ${rule.rollout} percent`
  if (compiled === rules.defaultRule) return 'no rule but a global one applies'
  if (rule.additive) return rule.shadow ? 'additive, in shadow' : 'additive'
  const beaten = setAside.find(
    (other) => other.by === rule.name && other.rule !== rules.defaultRule?.name,
  )
  if (beaten !== undefined) return beaten.why
  return rule.shadow
    ? `the only rule of scope ${rule.scope} in shadow`
    : `the only rule of scope ${rule.scope}`
}
