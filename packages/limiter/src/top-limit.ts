/** Which limit gives a decision its top-level numbers. */
import { GO_AT, NEVER, SHUT, STATUS, UNCOUNTED, VERDICT_WIDTH, YES } from './algorithms/verdict.js'
import type { CompiledLimit, CompiledRule } from './rules/compiled-rule.js'
import { ALLOWED, FIRST_VERDICT, remainingIn, type Verdicts } from './stores/store.js'

/** The limit that gives the top-level numbers. */
export interface TopLimit {
  readonly rule: CompiledRule
  readonly limit: CompiledLimit
  readonly value: string
  /** Where its verdict stands. */
  readonly at: number
}

/** The last result of `topLimit`: the rule's place, -1 where no enforced limit applies; where the verdict stands; the part left. */
export const top = { rule: 0, at: 0, left: 0.5 }

/**
 * Of a no the enforced limit that says it with the latest retry, never being the latest; of a yes the
 * one with the smallest part left, buckets that space requests evenly only where nothing else applies.
 */
export function topLimit(rules: readonly CompiledRule[], verdicts: Verdicts): void {
  const allowed = verdicts[ALLOWED] === 1
  let lowest = Number.POSITIVE_INFINITY
  let topRule = -1
  let topAt = 0
  let at = FIRST_VERDICT
  for (let i = 0; i < rules.length; i++) {
    const { limits, shadow } = rules[i]!
    for (let j = 0; j < limits.length; j++, at += VERDICT_WIDTH) {
      if (shadow) continue
      const rank = allowed ? fullness(limits[j]!, verdicts, at) : urgency(verdicts, at)
      if (rank < lowest) {
        lowest = rank
        topRule = i
        topAt = at
      }
    }
  }
  top.rule = topRule
  top.at = topAt
  top.left = lowest >= 2 ? lowest - 2 : lowest
}

/** The part that is left, from 0 to 1; 2 more for buckets that space requests; most where nothing was counted. */
function fullness({ numbers, spaces }: CompiledLimit, verdicts: Verdicts, at: number): number {
  if (verdicts[at + STATUS] === UNCOUNTED) return 4
  const left = remainingIn(verdicts, at) / numbers.burst
  return spaces ? left + 2 : left
}

/** The later the retry, the lower. */
function urgency(verdicts: Verdicts, at: number): number {
  const status = verdicts[at + STATUS]!
  if (status === YES || status === UNCOUNTED) return Number.POSITIVE_INFINITY
  return status === NEVER || status === SHUT ? Number.NEGATIVE_INFINITY : -verdicts[at + GO_AT]!
}
