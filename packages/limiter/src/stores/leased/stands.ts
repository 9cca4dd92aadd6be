/** A request that several rules govern: what is held for some of them, and what the store says of the others. */
import { REMAINING, STATUS, VERDICT_WIDTH, YES } from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import {
  ALLOWED,
  costOf,
  DECIDED_AT,
  DEGRADED,
  FIRST_VERDICT,
  type Transaction,
  type Verdicts,
} from '../store.js'
import { copySurplus } from '../surplus.js'
import { newVerdicts } from '../verdicts.js'
import type { Holding } from './holding.js'
import { type LeasedRow, leftWith } from './leased-row.js'

/** How a rule stands before the store is asked. */
export interface Stand {
  readonly row: LeasedRow | null
  /** Where its cost was taken from. */
  readonly holding: Holding | null
  readonly isDenied: boolean
}

/** What was answered about the rules for which nothing is held; no verdicts where all were denied a moment ago. */
export interface Rest {
  readonly allowed: boolean
  readonly at: number
  readonly degraded: number
  readonly verdicts: Verdicts | null
}

export function untakeAll(transaction: Transaction, stands: readonly Stand[]): void {
  for (const [i, { row, holding }] of stands.entries())
    if (holding !== null) row!.untake(holding, costOf(transaction, i))
}

/** What was taken out of holdings is spent, or was not; how much was. */
export function settle(
  transaction: Transaction,
  stands: readonly Stand[],
  isSpent: boolean,
): number {
  if (!isSpent) {
    untakeAll(transaction, stands)
    return 0
  }
  let spent = 0
  for (const [i, { holding }] of stands.entries()) {
    if (holding === null) continue
    const cost = costOf(transaction, i)
    holding.spent += cost
    spent += cost
  }
  return spent
}

/** The answer about all rules. */
export function whole(
  { rules }: Transaction,
  stands: readonly Stand[],
  { allowed, at, degraded, verdicts }: Rest,
): number[] {
  const out = newVerdicts(rules.reduce((sum, rule) => sum + rule.limits.length, 0))
  out[ALLOWED] = allowed ? 1 : 0
  out[DECIDED_AT] = at
  out[DEGRADED] = degraded
  let [o, from] = [FIRST_VERDICT, FIRST_VERDICT]
  for (const [i, { row, holding }] of stands.entries()) {
    const width = rules[i]!.limits.length * VERDICT_WIDTH
    if (holding !== null) row!.writeTaken(holding, at, out, o)
    else if (verdicts === null) row!.denial.write(at, out, o)
    else {
      for (let p = 0; p < width; p++) out[o + p] = verdicts[from + p]!
      copySurplus(verdicts, from, out, o, rules[i]!.limits.length)
      from += width
    }
    o += width
  }
  return out
}

/** The same of a dry run, for which nothing is taken: what is held would be given back before anything were denied for want of it. */
export function wouldBe(transaction: Transaction, stands: readonly Stand[], rest: Rest): number[] {
  const { rules } = transaction
  const out = whole(transaction, stands, rest)
  let isAllowed = true
  let o = FIRST_VERDICT
  for (const [i, { row, holding }] of stands.entries()) {
    const rule = rules[i]!
    const isAsked = holding === null && rest.verdicts !== null
    if (isAsked && row !== null) addOwn(row, costOf(transaction, i), out, o)
    if (!rule.shadow && !passes(rule, out, o)) isAllowed = false
    o += rule.limits.length * VERDICT_WIDTH
  }
  out[ALLOWED] = isAllowed ? 1 : 0
  return out
}

function addOwn({ unspent, rule }: LeasedRow, cost: number, out: number[], o: number): void {
  for (const [j, { numbers }] of rule.limits.entries()) {
    const at = o + j * VERDICT_WIDTH
    out[at + REMAINING] = leftWith(out[at + REMAINING]!, unspent, numbers.burst)
    if (out[at + REMAINING]! >= cost) out[at + STATUS] = YES
  }
}

/** Whether every limit of the rule says yes. */
function passes(rule: CompiledRule, out: readonly number[], o: number): boolean {
  return rule.limits.every((_, j) => out[o + j * VERDICT_WIDTH + STATUS] === YES)
}
