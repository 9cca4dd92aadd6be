/** A shard's answer as the whole rule's: what is left is the sum, and the take says where it was taken. */
import type { Answer } from '../answer.js'
import { type Transaction, withParts } from '../transaction.js'
import type { ShardChoice } from './shard-choice.js'
import { markShard } from './shard-mark.js'

/** Over the same numbers, because the store below may answer with them again, and they are one take. */
export function presented(
  answer: Answer,
  transaction: Transaction,
  choices: readonly ShardChoice[],
): Answer {
  if (answer.isReplay) return answer.as(wholeOf(answer.transaction))
  for (const choice of choices) {
    if (!answer.isDegraded) sumUp(choice, answer)
    const { rule, shard, first } = choice
    for (let limit = first; limit < first + rule.whole.limits.length; limit++)
      if (answer.wasTaken(limit))
        answer.setMark(
          limit,
          answer.mark(limit),
          markShard(answer.markRest(limit), shard, rule.count),
        )
  }
  return answer.as(transaction)
}

/** The same request of whole rules. */
export function wholeOf(transaction: Transaction): Transaction {
  return withParts(transaction, { rules: transaction.rules.map((rule) => rule.whole ?? rule) })
}

/** What is left is this shard's, and what the others should have. What shards owe is used besides. */
function sumUp({ rule, levels, shard, tried, first, cost }: ShardChoice, answer: Answer): void {
  const now = answer.decidedAt
  // Of those that were asked just now: what others have taken since is not known of the rest.
  // One that has said yes to somebody else meanwhile denies no longer, and names no time.
  const named = tried.map((each) => levels.deniedUntil(each)).filter((until) => until > now)
  const earliest = Math.min(...named)
  for (const [j, { numbers }] of rule.whole.limits.entries()) {
    const limit = first + j
    const isDenied = answer.isNotNow(limit)
    let left = answer.remaining(limit)
    let owed = left - answer.difference(limit)
    let resetAt = answer.resetAt(limit)
    for (let other = 0; other < rule.count; other++) {
      if (other === shard) continue
      left += Math.max(0, Math.floor(levels.level(other, j, now)))
      owed += levels.owed(other, j, now)
      resetAt = Math.max(resetAt, levels.fullAt(other, j))
    }
    const most = isDenied ? Math.min(numbers.burst, cost - 1) : numbers.burst
    const difference = left > 0 ? Math.min(left, most) : 0 - owed
    answer.setDifference(limit, difference)
    answer.setSurplus(limit, difference - left + owed)
    answer.setResetAt(limit, resetAt)
    if (isDenied) answer.setGoAt(limit, Math.min(answer.goAt(limit), earliest))
  }
}
