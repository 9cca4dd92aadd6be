/**
 * Counts decisions by rule and subject between two moments, in bounded memory: the heaviest subjects by name,
 * the others together, under null, so that the sums of each rule are always exact.
 *
 * The error: what is counted under a name is never too high. It is too low by at most the `error` of the
 * counts, which is 0 while all subjects can be named. docs/concepts/usage.md says why, and has measurements.
 *
 * Hot code: a known subject costs two lookups and two additions, and allocates nothing.
 */
import type { Request } from '@sluice/limiter'
import { ByRule, type CompiledRule, type DecisionRecord } from '@sluice/limiter/transport'
import { CountedRule, HeaviestRows, ownText } from '../heaviest-rows.js'
import type { RuleCount, SubjectCount, UsageCounts } from './batch.js'
import { ViolationTally } from './violation-tally.js'

export interface TallyOptions {
  /** Subjects that are named; 4096 unless given. */
  readonly places?: number
  /** Kinds of denials that are told apart; 2048 unless given. */
  readonly violations?: number
}

/** Under a flood of subjects the error is the smallest place, so more places make it smaller. */
const PLACES_PER_NAME = 5

/** The subjects of one rule. */
class RuleTally extends CountedRule {
  constructor(
    readonly namespace: string,
    readonly rule: string | null,
    readonly scope: string,
  ) {
    super()
  }
}

export class Tally {
  /** Its second number is the cost. */
  readonly #rows: HeaviestRows<RuleTally>
  readonly #names: number
  readonly #violations: ViolationTally
  readonly #rules = new ByRule<RuleTally>()
  #byName = new Map<string, RuleTally>()
  #blocked = new Map<string, Map<string, RuleTally>>()
  #all: RuleTally[] = []
  #decisions = 0
  #from: number

  constructor(now: number, { places = 4096, violations = 2048 }: TallyOptions = {}) {
    this.#from = now
    this.#names = places
    this.#rows = new HeaviestRows(PLACES_PER_NAME * places)
    this.#violations = new ViolationTally(violations)
  }

  /** Dry runs take nothing and replays were counted: neither is counted here. */
  decided(decision: DecisionRecord, request: Request, namespace: string): void {
    if (decision.replayed || request.dryRun === true) return
    if (!decision.allowed) {
      this.#refused(decision, request, namespace)
      return
    }
    const { answer } = decision
    const { rules, values, costs, cost } = answer.transaction
    const counted = this.#rows
    let limit = 0
    let isCounted = false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      if (!rule.shadow) {
        const place = counted.count(this.#tallyOf(rule), values[i]!)
        if (answer.isYes(limit)) counted.amount[place]! += costs === null ? cost : costs[i]!
        isCounted = true
      }
      limit += rule.limits.length
    }
    if (isCounted) this.#decisions++
  }

  #refused(decision: DecisionRecord, request: Request, namespace: string): void {
    const { transaction, topRule } = decision
    const { rules, values } = transaction
    const rule = rules[topRule]
    const tally =
      rule === undefined ? this.#blockedOf(namespace, decision.scope ?? '') : this.#tallyOf(rule)
    const value = values[Math.max(0, topRule)]!
    const place = this.#rows.count(tally, value)
    this.#rows.denied[place]!++
    this.#decisions++
    this.#violations.note(tally, rule, decision, value, request.resource)
  }

  #tallyOf(rule: CompiledRule): RuleTally {
    return this.#rules.get(rule) ?? this.#rules.set(rule, this.#tallyNamed(rule))
  }

  /** Overrides of a rule, and the same rule after a change, are counted together. */
  #tallyNamed({ family, name, scope }: CompiledRule): RuleTally {
    const key = `${family.namespace}|${scope}|${name}`
    let tally = this.#byName.get(key)
    if (tally === undefined) {
      tally = this.#newTally(family.namespace, name, scope)
      this.#byName.set(key, tally)
    }
    return tally
  }

  #blockedOf(namespace: string, scope: string): RuleTally {
    let byScope = this.#blocked.get(namespace)
    if (byScope === undefined) {
      byScope = new Map()
      this.#blocked.set(namespace, byScope)
    }
    let tally = byScope.get(scope)
    if (tally === undefined) {
      tally = this.#newTally(namespace, null, scope)
      byScope.set(scope, tally)
    }
    return tally
  }

  #newTally(namespace: string, rule: string | null, scope: string): RuleTally {
    const tally = new RuleTally(namespace, rule, scope)
    this.#all.push(tally)
    return tally
  }

  /** What was counted until now; begins anew. */
  take(now: number): UsageCounts {
    const error = this.#rows.keepHeaviest(this.#names)
    const counts: UsageCounts = {
      from: this.#from,
      to: now,
      decisions: this.#decisions,
      error,
      rules: this.#all.map((tally) => this.#ruleCount(tally)),
      violations: this.#violations.take(),
    }
    this.#clear(now)
    return counts
  }

  #ruleCount({ namespace, rule, scope, places, seen, denied, amount }: RuleTally): RuleCount {
    const subjects: SubjectCount[] = []
    const rows = this.#rows
    for (const [value, place] of places)
      subjects.push(
        countOf(ownText(value), rows.seen(place), rows.denied[place]!, rows.amount[place]!),
      )
    if (seen > 0) subjects.push(countOf(null, seen, denied, amount))
    return { namespace, rule, scope, subjects }
  }

  #clear(now: number): void {
    this.#rows.clear()
    this.#rules.clear()
    this.#byName = new Map()
    this.#blocked = new Map()
    this.#all = []
    this.#decisions = 0
    this.#from = now
  }
}

function countOf(value: string | null, seen: number, denied: number, cost: number): SubjectCount {
  return { value, allowed: seen - denied, denied, cost }
}
