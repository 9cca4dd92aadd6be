/**
 * Counts decisions by rule and subject between two moments, in bounded memory: the heaviest by name and
 * exactly, the rest together, under null, so that the sums of each rule are exact always.
 *
 * The error: what stands under a name is never too high. It is too low by at most the `error` that goes
 * with the counts: 0 while there are places for all, else twice the smallest place, and who had no more
 * than the smallest place is not named at all. docs/concepts/usage.md says why, and has measurements.
 *
 * Hot code: a known subject costs two lookups and two additions, and allocates nothing.
 */
import type { Request } from '@sluice/limiter'
import type { CompiledRule, DecisionRecord } from '@sluice/limiter/transport'
import type { RuleCount, SubjectCount, UsageCounts } from './batch.js'
import { type Owner, Places } from './places.js'
import { ViolationTally } from './violation-tally.js'

export interface TallyOptions {
  /** Subjects that have a place; 4096 unless given. */
  readonly places?: number
  /** Kinds of denials that are told apart; 2048 unless given. */
  readonly violations?: number
}

/** Who is counted under one rule. */
class RuleTally implements Owner {
  readonly places = new Map<string, number>()

  constructor(
    readonly namespace: string,
    readonly rule: string | null,
    readonly scope: string,
    /** Where all others are counted. */
    readonly others: number,
  ) {}
}

export class Tally {
  readonly #places: Places
  readonly #violations: ViolationTally
  #rules = new Map<CompiledRule, RuleTally>()
  #byName = new Map<string, RuleTally>()
  #blocked = new Map<string, Map<string, RuleTally>>()
  #all: RuleTally[] = []
  /** The rules of the last decision, by their places in it. */
  #lastRules: (CompiledRule | null)[] = []
  #lastTallies: RuleTally[] = []
  #decisions = 0
  #from: number

  constructor(now: number, { places = 4096, violations = 2048 }: TallyOptions = {}) {
    this.#from = now
    this.#places = new Places(places)
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
    const places = this.#places
    let limit = 0
    let isCounted = false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      if (!rule.shadow) {
        const place = this.#place(this.#tallyOf(rule, i), values[i]!)
        places.allowed[place]!++
        if (answer.isYes(limit)) places.cost[place]! += costs === null ? cost : costs[i]!
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
      rule === undefined
        ? this.#blockedOf(namespace, decision.scope ?? '')
        : this.#tallyOf(rule, topRule)
    const value = values[Math.max(0, topRule)]!
    const place = this.#place(tally, value)
    this.#places.denied[place]!++
    this.#decisions++
    const reason = decision.reason ?? 'limited'
    this.#violations.note(
      tally,
      decision.topLimit,
      reason,
      value,
      request.resource,
      decision.decidedAt,
    )
  }

  #tallyOf(rule: CompiledRule, i: number): RuleTally {
    if (this.#lastRules[i] === rule) return this.#lastTallies[i]!
    let tally = this.#rules.get(rule)
    if (tally === undefined) {
      tally = this.#tallyNamed(rule)
      this.#rules.set(rule, tally)
    }
    this.#lastRules[i] = rule
    this.#lastTallies[i] = tally
    return tally
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
    const tally = new RuleTally(namespace, rule, scope, this.#places.forOthers())
    this.#all.push(tally)
    return tally
  }

  #place(tally: RuleTally, value: string): number {
    return tally.places.get(value) ?? this.#places.find(tally, value)
  }

  /** What was counted until now; begins anew. */
  take(now: number): UsageCounts {
    const error = this.#places.settle()
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

  #ruleCount(tally: RuleTally): RuleCount {
    const subjects: SubjectCount[] = []
    const { namespace, rule, scope, others } = tally
    for (const [value, place] of tally.places) this.#addTo(subjects, value, place)
    this.#addTo(subjects, null, others)
    return { namespace, rule, scope, subjects }
  }

  #addTo(subjects: SubjectCount[], value: string | null, place: number): void {
    const allowed = this.#places.allowed[place]!
    const denied = this.#places.denied[place]!
    const cost = this.#places.cost[place]!
    if (allowed + denied > 0) subjects.push({ value, allowed, denied, cost })
  }

  #clear(now: number): void {
    this.#places.clear()
    this.#rules = new Map()
    this.#byName = new Map()
    this.#blocked = new Map()
    this.#all = []
    this.#lastRules = []
    this.#lastTallies = []
    this.#decisions = 0
    this.#from = now
  }
}
