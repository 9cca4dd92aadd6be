/** Asks every shard without taking, and adds up what they say. */
import { NEVER } from '../../algorithms/verdict.js'
import { Answer } from '../answer.js'
import type { Store } from '../store.js'
import { type Moment, newTransaction, partOf, type Transaction } from '../transaction.js'
import type { ShardChoice, ShardChooser } from './shard-choice.js'
import type { ShardedRule } from './sharded-rule.js'

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
    const asked = { values: [value], cost, dryRun: true, now, deadline }
    const shards = Array.from({ length: rule.count }, async (_, shard) => {
      const look = newTransaction({ ...asked, rules: [rule.shard(shard)] })
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

/** When a shard admits what it was asked; the first for one that would now. */
function goAt(shard: Answer): number {
  let latest = 0
  for (let limit = 0; limit < shard.size; limit++) {
    if (shard.isNever(limit)) return Number.POSITIVE_INFINITY
    if (!shard.isYes(limit)) latest = Math.max(latest, shard.goAt(limit))
  }
  return latest
}
