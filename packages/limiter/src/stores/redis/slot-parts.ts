/**
 * A transaction whose rows are in several slots of a cluster. Each slot takes for real; if one denies, what the
 * others took is given back, once. Every request that is admitted holds a full charge in each limit, and giving
 * back leaves at most what would be there without the take: nothing is admitted too much. A crash in between
 * costs what was taken until it is refilled.
 *
 * Parts are asked for at once while every limit has room; near the limit one after the other in the order of
 * their slots, so that requests do not deny each other for ever.
 */
import { BUCKET, CONCURRENCY } from '../../algorithms/limit-numbers.js'
import { span, spanned } from '../../algorithms/token-time.js'
import { Answer, type AnsweredLimit } from '../answer.js'
import { costOf, partOf, type Transaction, withParts } from '../transaction.js'

/** The rules of a transaction whose rows are together, by their places. */
export interface SlotPart {
  readonly slot: number
  readonly rules: readonly number[]
}

export interface Slots {
  /** Takes from the rows of one slot, or from none; rejects with a StoreFailure. */
  readonly ask: (part: Transaction) => Promise<Answer>
  /** Not waited for. */
  readonly giveBack: (answer: Answer) => void
}

export async function decideParts(
  slots: Slots,
  transaction: Transaction,
  parts: readonly SlotPart[],
  isTight: boolean,
): Promise<Answer> {
  const asked = parts.map(({ rules }) => partOf(transaction, rules))
  const answers = isTight ? await oneByOne(slots, asked) : await allAtOnce(slots, asked)
  const allowed = answers.every((answer) => answer.allowed)
  const decidedAt = Math.max(...answers.map((answer) => answer.decidedAt))
  const whole = Answer.open(transaction, decidedAt, allowed)
  for (const [n, { rules }] of parts.entries()) {
    const part = answers[n]!
    for (const [i, rule] of rules.entries()) {
      const count = transaction.rules[rule]!.limits.length
      whole.copyLimits(whole.firstOf(rule), part, part.firstOf(i), count)
    }
    if (!allowed) untakeAll(part, rules, whole)
  }
  if (!allowed) giveBack(slots, answers)
  return whole
}

async function allAtOnce(slots: Slots, asked: readonly Transaction[]): Promise<Answer[]> {
  const settled = await Promise.allSettled(asked.map((part) => slots.ask(part)))
  const answers = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = settled.find((result) => result.status === 'rejected')
  if (failed === undefined) return answers
  giveBack(slots, answers)
  throw failed.reason
}

/** After a no the others are only asked what is left. */
async function oneByOne(slots: Slots, asked: readonly Transaction[]): Promise<Answer[]> {
  const answers: Answer[] = []
  try {
    for (const part of asked) {
      const isDenied = answers.some(({ allowed }) => !allowed)
      answers.push(await slots.ask(isDenied ? withParts(part, { dryRun: true }) : part))
    }
  } catch (failure) {
    giveBack(slots, answers)
    throw failure
  }
  return answers
}

/** Not waited for: until it arrives others may be denied what is on its way back. */
function giveBack(slots: Slots, answers: readonly Answer[]): void {
  for (const answer of answers)
    if (answer.allowed && !answer.transaction.dryRun) slots.giveBack(answer)
}

/** The whole is denied: what a part took is shown as if it had not been taken. */
function untakeAll(part: Answer, rules: readonly number[], whole: Answer): void {
  if (part.transaction.dryRun) return
  for (const one of part.each()) {
    // An id that was held before was only renewed.
    const isRenewal = one.limit.numbers.kind === CONCURRENCY && part.markRest(one.index) === 0
    if (!part.wasTaken(one.index) || isRenewal) continue
    const rule = rules[one.ruleIndex]!
    const limit = whole.firstOf(rule) + one.index - part.firstOf(one.ruleIndex)
    untake(one, costOf(part.transaction, one.ruleIndex), part.decidedAt, whole, limit)
  }
}

/** Exact for buckets; of others the reset time may be that of the take which is given back. */
function untake(
  { limit: { numbers } }: AnsweredLimit,
  cost: number,
  now: number,
  whole: Answer,
  limit: number,
): void {
  const difference = Math.min(numbers.burst, whole.difference(limit) + cost)
  whole.setDifference(limit, difference)
  if (numbers.kind === BUCKET) {
    span(cost, numbers)
    whole.setResetAt(limit, Math.max(now, whole.mark(limit) - spanned[0]!))
  } else if (difference === numbers.burst) whole.setResetAt(limit, now)
}
