/** Which limit gives a decision its top-level numbers. */
import { NEVER, SHUT, UNCOUNTED, YES } from './algorithms/status.js'
import type { CompiledLimit } from './rules/compiled-rule.js'
import type { Answer } from './stores/answer.js'

/** The last result of `topLimit`: the rule's place, -1 where no enforced limit applies; the limit's number in the answer; the part left. */
export const top = { rule: 0, limit: 0, left: 0.5 }

/**
 * Of a denial the enforced limit that denies with the latest retry, never being the latest; of a yes the
 * one with the smallest part left, buckets that space requests evenly only where nothing else applies.
 */
export function topLimit(answer: Answer): void {
  const { rules } = answer.transaction
  const { allowed } = answer
  let lowest = Number.POSITIVE_INFINITY
  let topRule = -1
  let topLimit = 0
  let limit = 0
  for (let i = 0; i < rules.length; i++) {
    const { limits, shadow } = rules[i]!
    for (let j = 0; j < limits.length; j++, limit++) {
      if (shadow) continue
      const rank = allowed ? partLeft(limits[j]!, answer, limit) : urgency(answer, limit)
      if (rank < lowest) {
        lowest = rank
        topRule = i
        topLimit = limit
      }
    }
  }
  top.rule = topRule
  top.limit = topLimit
  top.left = lowest >= 2 ? lowest - 2 : lowest
}

/** The part that is left, from 0 to 1; 2 more for buckets that space requests; most where nothing was counted. */
function partLeft({ numbers, spaces }: CompiledLimit, answer: Answer, limit: number): number {
  if (!answer.isCounted(limit)) return 4
  const left = answer.remaining(limit) / numbers.burst
  return spaces ? left + 2 : left
}

/** The later the retry, the lower. */
function urgency(answer: Answer, limit: number): number {
  const status = answer.status(limit)
  if (status === YES || status === UNCOUNTED) return Number.POSITIVE_INFINITY
  return status === NEVER || status === SHUT ? Number.NEGATIVE_INFINITY : -answer.goAt(limit)
}
