/**
 * The answers of shards as the whole rule's answer: `asWholeRule` of the one shard that was taken from, ShardLook of all
 * shards, for those who only look.
 */
import { NEVER } from '../../algorithms/status.js'
import { Answer } from '../answer.js'
import type { Store } from '../store.js'
import { type Moment, newTransaction, partOf, type Transaction, withParts } from '../transaction.js'
import type { ShardChoice, ShardChooser } from './shard-choice.js'
import { markShard, readMark, type ShardedRule } from './sharded-rule.js'

/** Changes the answer's own numbers: the store below may replay them, and they are one take. */
export function asWholeRule(
  answer: Answer,
  transaction: Transaction,
  choices: readonly ShardChoice[],
): Answer {
  markShards(answer)
  if (answer.isReplay) return answer.as(wholeOf(answer.transaction))
  if (!answer.isDegraded) for (const choice of choices) sumUp(choice, answer)
  return answer.as(transaction)
}

/**
 * Writes into each take which shard it is of. A replay has that already, unless the first answer came too late: then
 * it was never made the whole rule's.
 */
function markShards(answer: Answer): void {
  const { rules } = answer.transaction
  let limit = 0
  for (let i = 0; i < rules.length; i++) {
    const { whole, family, limits } = rules[i]!
    for (let j = 0; j < limits.length; j++, limit++) {
      if (whole === null || !answer.wasTaken(limit)) continue
      const rest = answer.markRest(limit)
      if (readMark(rest) === null)
        answer.setMark(
          limit,
          answer.mark(limit),
          markShard(rest, family.shard, whole.family.shards),
        )
    }
  }
}

/** The same request of whole rules. */
export function wholeOf(transaction: Transaction): Transaction {
  return withParts(transaction, { rules: transaction.rules.map((rule) => rule.whole ?? rule) })
}

/** `remaining` is what this shard has left and the others should have. What shards owe is added to what is used. */
function sumUp({ rule, levels, shard, tried, first, cost }: ShardChoice, answer: Answer): void {
  const now = answer.decidedAt
  // The retry is the earliest that a shard asked just now has named: too little is known of the others. A shard that has
  // allowed another request since names none.
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

export class ShardLook {
  readonly #inner: Store
  readonly #chooser: ShardChooser

  constructor(inner: Store, chooser: ShardChooser) {
    this.#inner = inner
    this.#chooser = chooser
  }

  /** What a dry run is answered. */
  async answer(transaction: Transaction, choices: readonly ShardChoice[]): Promise<Answer> {
    const split = new Set(choices.map(({ index }) => index))
    const whole = [...transaction.rules.keys()].filter((i) => !split.has(i))
    const [rest, ...shards] = await Promise.all([
      whole.length === 0 ? null : this.#inner.decide(partOf(transaction, whole)),
      ...choices.map(({ rule, value, cost }) => this.shards(rule, value, cost, transaction)),
    ])
    const parts = [...(rest === null ? [] : [rest]), ...shards.flat()]
    const answer = Answer.open(transaction, Math.max(...parts.map((part) => part.decidedAt)), true)
    answer.degradedReason = parts.find((part) => part.isDegraded)?.degradedReason ?? null
    let from = 0
    for (const i of whole) {
      const count = transaction.rules[i]!.limits.length
      answer.copyLimits(answer.firstOf(i), rest!, from, count)
      from += count
    }
    for (const [i, choice] of choices.entries()) addUp(answer, choice, shards[i]!)
    answer.allowed = answer.deniers().length === 0
    return answer
  }

  /** Each shard's answer. */
  shards(rule: ShardedRule, value: string, cost: number, moment: Moment): Promise<Answer[]> {
    const { now, deadline } = moment
    const choice = this.#chooser.one(rule, value, cost, now)
    const shards = Array.from({ length: rule.count }, async (_, shard) => {
      const look = newTransaction([rule.shard(shard)], [value], cost, now, {
        dryRun: true,
        deadline,
      })
      const answer = await this.#inner.decide(look)
      this.#chooser.note([{ ...choice, shard }], answer)
      return answer
    })
    return Promise.all(shards)
  }
}

/** The shard that would admit it, or will first, speaks for all. What is left, and what is used, are the sums. */
function addUp(answer: Answer, { rule, first, cost }: ShardChoice, shards: readonly Answer[]) {
  const speaker = shards.toSorted((a, b) => goAt(a) - goAt(b))[0]!
  answer.copyLimits(first, speaker, 0, speaker.size)
  for (const [j, { numbers }] of rule.whole.limits.entries()) {
    const limit = first + j
    if (!answer.isCounted(limit)) continue
    const left = shards.reduce((sum, shard) => sum + shard.remaining(j), 0)
    const all = shards.reduce((sum, shard) => sum + shard.difference(j), 0)
    if (cost > numbers.mostCost) answer.setStatus(limit, NEVER)
    if (answer.isNever(limit)) answer.setGoAt(limit, 0)
    const most = answer.isNotNow(limit) ? Math.min(numbers.burst, cost - 1) : numbers.burst
    const difference = left > 0 ? Math.min(left, most) : all
    answer.setDifference(limit, difference)
    answer.setSurplus(limit, difference - all)
    answer.setResetAt(limit, Math.max(...shards.map((shard) => shard.resetAt(j))))
  }
}

/** When a shard would admit it; 0 if it would now. */
function goAt(shard: Answer): number {
  let latest = 0
  for (let limit = 0; limit < shard.size; limit++) {
    if (shard.isNever(limit)) return Number.POSITIVE_INFINITY
    if (!shard.isYes(limit)) latest = Math.max(latest, shard.goAt(limit))
  }
  return latest
}
