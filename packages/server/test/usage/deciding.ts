/** Real decisions for tests of usage, a clock that is moved by hand, and a plain count to compare with. */
import { createLimiter, type Request, RuleSet, type RulesDocument } from '@sluice/limiter'
import type { DecisionRecord } from '@sluice/limiter/transport'
import type { RuleCount, UsageCounts, ViolationCount } from '../../src/usage/batch.js'
import type { Tally } from '../../src/usage/tally.js'

export const START = Date.parse('2026-01-16T10:02:00.000Z')

export class Deciding {
  now = START
  readonly namespace: string
  readonly #limiter

  constructor(rules: RulesDocument) {
    this.namespace = rules.namespace ?? 'default'
    this.#limiter = createLimiter({ rules: RuleSet.compile(rules), clock: () => this.now })
  }

  /** Decides, and has it counted. */
  ask(request: Request, tally?: Pick<Tally, 'decided'>): DecisionRecord {
    const decision = this.#limiter.decide(request) as unknown as DecisionRecord
    tally?.decided(decision, request, this.namespace)
    return decision
  }
}

type Sums = Record<string, [allowed: number, denied: number, cost: number]>

/** By `namespace rule scope value`, as everything else here is. */
export function sumsOf(all: readonly UsageCounts[]): Sums {
  const sums: Sums = {}
  for (const { rules } of all) for (const rule of rules) addRule(sums, rule)
  return sums
}

function addRule(sums: Sums, { namespace, rule, scope, subjects }: RuleCount): void {
  for (const { value, allowed, denied, cost } of subjects)
    add(sums, [namespace, rule, scope, value], allowed, denied, cost)
}

function add(
  sums: Sums,
  key: readonly unknown[],
  allowed: number,
  denied: number,
  cost: number,
): void {
  const name = key.map((part) => String(part)).join(' ')
  const sum = (sums[name] ??= [0, 0, 0])
  sum[0] += allowed
  sum[1] += denied
  sum[2] += cost
}

/** What a plain count says: it reads the decision's words, not its numbers. */
export class PlainCount {
  readonly sums: Sums = {}
  readonly violations: Record<string, number> = {}
  decisions = 0

  decided(decision: DecisionRecord, request: Request, namespace: string): void {
    if (decision.replayed || request.dryRun === true) return
    const { rules, values, costs, cost } = decision.transaction
    if (decision.allowed) {
      const enforced = rules.flatMap((rule, i) => (rule.shadow ? [] : [i]))
      for (const i of enforced) {
        const { name, scope } = rules[i]!
        add(this.sums, [namespace, name, scope, values[i]], 1, 0, costs?.[i] ?? cost)
      }
      if (enforced.length > 0) this.decisions++
      return
    }
    const { rule, scope, reason } = decision
    const value = request.subject?.[scope!] ?? ''
    add(this.sums, [namespace, rule, scope, value], 0, 1, 0)
    const second = Math.floor(decision.decidedAt / 1_000_000)
    const key = [second, rule, scope, value, request.resource, reason].join(' ')
    this.violations[key] = (this.violations[key] ?? 0) + 1
    this.decisions++
  }
}

export function violationsOf(all: readonly ViolationCount[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { at, rule, scope, value, resource, reason, count } of all) {
    const key = [at / 1000, rule, scope, value, resource, reason].join(' ')
    counts[key] = (counts[key] ?? 0) + count
  }
  return counts
}

/** A rule's sums, all subjects together. */
export function byRule(sums: Sums): Sums {
  const together: Sums = {}
  for (const [name, [allowed, denied, cost]] of Object.entries(sums))
    add(together, name.split(' ').slice(0, 3), allowed, denied, cost)
  return together
}
