/**
 * A configured cost above the burst of a limit that applies there could never pass: the rules cannot be
 * right. One above what the smallest shard holds never passes either, and one that is much of it is often
 * denied while other shards have room: warnings, because fewer shards are enough.
 */
import type { Fault, Warning } from '../faults.js'
import { printLimit } from '../limits/limit.js'
import type { Asked } from './asked.js'
import type { CompiledRule } from './compiled-rule.js'
import { type IpAddress, maskWords, parseIp } from './ip-address.js'
import { commonExamples } from './pattern.js'
import { matchesMethod, OTHER_METHOD, type Plan } from './plan.js'
import type { Cost, Rule, RuleBook } from './rule.js'
import type { RuleSet } from './rule-set.js'
import { select } from './select.js'

/** A shard that holds so many times a cost seldom lacks it while others have it. */
const EASE = 4

export function checkCosts(
  book: RuleBook,
  rules: RuleSet,
): { readonly faults: Fault[]; readonly warnings: Warning[] } {
  const meeting = book.costs.flatMap((cost) =>
    rules.all
      .filter(({ rule }) => rule.enabled && rule.unit === cost.unit)
      .filter((compiled) => isTight(compiled, cost) && canMeet(compiled, cost, rules))
      .map((compiled) => ({ compiled, cost })),
  )
  return {
    faults: meeting.flatMap(({ compiled, cost }) => faultsOf(compiled, cost)),
    warnings: meeting.flatMap(({ compiled, cost }) => warningsOf(compiled, cost)),
  }
}

/** The rule, and the overrides of it. */
function variants(compiled: CompiledRule): CompiledRule[] {
  const overrides = [...compiled.family.overrides.values()].flat()
  return [compiled, ...overrides.filter((other) => other.rule === compiled.rule)]
}

/** Some limit admits no such cost, or a shard of one admits it seldom or never. */
function isTight(compiled: CompiledRule, cost: Cost): boolean {
  const limits = variants(compiled).flatMap((variant) => variant.limits)
  const { shards } = compiled.rule
  return limits.some(
    ({ limit }) => limit.burst < cost.cost || isScarce(limit.burst, shards, cost.cost),
  )
}

function isScarce(burst: number, shards: number, cost: number): boolean {
  return shards > 1 && burst / shards < EASE * cost
}

/** Some request is charged this cost and counted by this rule, by patterns as written or normalised. */
function canMeet(compiled: CompiledRule, cost: Cost, rules: RuleSet): boolean {
  return plansOfBoth(compiled.rule, cost, rules).some((plan) => {
    const method = plan.method === '' ? OTHER_METHOD : plan.method
    if (!matchesMethod(compiled.rule.methods, method)) return false
    if (!matchesMethod(cost.methods, method) || plan.costs.get(cost.unit) !== cost.cost)
      return false
    const tierOf = () => compiled.rule.tier
    return examplesOf(compiled, plan).some((asked) =>
      select({ asked, defaultRule: rules.defaultRule, tierOf }).includes(compiled),
    )
  })
}

function plansOfBoth(rule: Rule, cost: Cost, { written, normalized }: RuleSet): Plan[] {
  const plans = commonExamples(rule.pattern, cost.pattern).flatMap((resource) =>
    written.everyPlan(resource),
  )
  if (rule.normalPattern === null && cost.normalPattern === null) return plans
  const normal = commonExamples(
    rule.normalPattern ?? rule.pattern,
    cost.normalPattern ?? cost.pattern,
  )
  return [...plans, ...normal.flatMap((resource) => normalized.everyPlan(resource))]
}

/** Requests that the rule was made for: with its value (of a network the ends) and its tier, and no other scope. */
function examplesOf({ rule }: CompiledRule, plan: Plan): Asked[] {
  const value = typeof rule.value === 'string' ? rule.value : ''
  const count = rule.scope === 'global' ? 0 : 1
  return addressesOf(rule.value).map((address) => ({
    plan,
    count,
    scopes: [rule.scope],
    values: [value],
    counted: [value],
    address,
    isNormalized: false,
    bits: 0,
    isPlain: false,
    named: null,
    tieredScope: '',
    tier: rule.tier,
    costs: null,
  }))
}

function addressesOf(value: Rule['value']): (IpAddress | null)[] {
  if (value === null || typeof value === 'string') return [parseIp(value ?? '') ?? null]
  const { version, words, bits } = value
  const mask = maskWords([-1, -1, -1, -1], bits)
  return [value, { version, words: words.map((word, i) => word | ~mask[i]!) }]
}

function faultsOf(compiled: CompiledRule, cost: Cost): Fault[] {
  return variants(compiled).flatMap((variant) =>
    variant.limits
      .filter(({ limit }) => cost.cost > limit.burst)
      .map(({ limit }) => ({
        path: `costs.${cost.key}`,
        message: `costs ${cost.cost} ${cost.unit}, and ${variant.name} (${printLimit(limit)}) never admits more than ${limit.burst} at once`,
        hint: 'lower the cost, or raise the burst',
      })),
  )
}

function warningsOf(compiled: CompiledRule, cost: Cost): Warning[] {
  const { shards } = compiled.rule
  return variants(compiled).flatMap((variant) =>
    variant.limits
      .filter(({ limit }) => isScarce(limit.burst, shards, cost.cost))
      .map(({ limit }) => ({
        code: 'cost_above_shard' as const,
        path: `costs.${cost.key}`,
        message: `costs ${cost.cost} ${cost.unit}, and a shard of ${variant.name} (${printLimit(limit)} in ${shards}) holds ${Math.floor(limit.burst / shards)}: ${consequence(limit.burst / shards, cost.cost)}`,
      })),
  )
}

function consequence(held: number, cost: number): string {
  return cost > Math.floor(held)
    ? 'such requests never pass; use fewer shards or a higher burst'
    : 'such requests are denied when no shard has that much left; use fewer shards'
}
