/** What undoes a take that nobody was told of. */
import { CONCURRENCY } from '../algorithms/limit-numbers.js'
import type { Answer } from './answer.js'
import type { Operation } from './operation.js'
import { costOf } from './transaction.js'

/** Gives back everything that an answer took. A hold that was only renewed lives on: its limit's `markRest` is 0. */
export function givingBack(answer: Answer): Operation[] {
  const { transaction, isDegraded: isLocal } = answer
  const { holdId } = transaction
  const operations: Operation[] = []
  for (const one of answer.each()) {
    if (!answer.wasTaken(one.index)) continue
    const { rule, limit, value } = one
    const take = answer.takeOf(one)
    if (limit.numbers.kind !== CONCURRENCY) {
      const amount = costOf(transaction, one.ruleIndex)
      operations.push({ kind: 'refund', rule, limit, value, amount, take })
    } else if (take.markRest !== 0)
      operations.push({ kind: 'release', rule, value, holdId, isLocal })
  }
  return operations
}
