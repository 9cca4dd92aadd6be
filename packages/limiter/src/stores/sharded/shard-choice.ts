/** Which shard a request takes from, for each of its rules that is in shards. */
import type { Answer } from '../answer.js'
import { costOf, type Transaction } from '../transaction.js'
import type { LevelBook, RowLevels } from './row-levels.js'
import type { ShardedRule, ShardRules } from './sharded-rule.js'

export interface ShardChoice {
  /** The rule's place in the transaction, and the number of its first limit in the answer. */
  readonly index: number
  readonly first: number
  readonly rule: ShardedRule
  readonly levels: RowLevels
  readonly value: string
  readonly cost: number
  readonly shard: number
  /** The shards that were asked so far, this one included. */
  readonly tried: readonly number[]
}

/** From 0 to 1, like Math.random. */
export type Random = () => number

export class ShardChooser {
  readonly #rules: ShardRules
  readonly #levels: LevelBook
  readonly #random: Random
  readonly #storeTime: (now: number) => number

  /** `storeTime`: the store's time at this instance's time, as far as is known; the same unless given. */
  constructor(
    rules: ShardRules,
    levels: LevelBook,
    random: Random,
    storeTime: (now: number) => number = (now) => now,
  ) {
    this.#rules = rules
    this.#levels = levels
    this.#random = random
    this.#storeTime = storeTime
  }

  of(transaction: Transaction): ShardChoice[] {
    const { rules, values, now } = transaction
    const choices: ShardChoice[] = []
    let first = 0
    for (const [index, compiled] of rules.entries()) {
      const rule = this.#rules.of(compiled)
      const cost = costOf(transaction, index)
      if (rule !== null)
        choices.push({ ...this.one(rule, values[index]!, cost, now), index, first })
      first += compiled.limits.length
    }
    return choices
  }

  /** The choice for a request with this rule alone. */
  one(rule: ShardedRule, value: string, cost: number, asked: number): ShardChoice {
    const levels = this.#levels.of(rule, value)
    const shard = this.#choose(rule, levels, cost, asked)
    return { index: 0, first: 0, rule, levels, value, cost, shard, tried: [shard] }
  }

  /** The fuller of two shards drawn at random. Preferring one would waste the refill of the others. */
  #choose(rule: ShardedRule, levels: RowLevels, cost: number, asked: number): number {
    // The first is the smallest, and says that this can never pass.
    if (rule.isTooExpensive(cost)) return 0
    const now = this.#storeTime(asked)
    const [x, y] = [this.#draw(rule.count), this.#draw(rule.count)]
    return levels.room(x, cost, now) >= levels.room(y, cost, now) ? x : y
  }

  #draw(count: number): number {
    return Math.floor(this.#random() * count)
  }

  /** Other shards for those that denied, which should have room; null unless that could help. */
  elsewhere(choices: readonly ShardChoice[], answer: Answer, asked: number): ShardChoice[] | null {
    const deniers = new Set(answer.deniers())
    const moved: ShardChoice[] = []
    for (const choice of choices) {
      if (!deniers.delete(choice.index)) moved.push(choice)
      else {
        const shard = choice.rule.isTooExpensive(choice.cost) ? -1 : this.#next(choice, asked)
        if (shard < 0) return null
        moved.push({ ...choice, shard, tried: [...choice.tried, shard] })
      }
    }
    return deniers.size > 0 ? null : moved
  }

  /** A shard that was not tried: the one that said most recently that it would have room by now, else the fullest; -1 if none should have room. */
  #next({ rule, levels, cost, tried }: ShardChoice, asked: number): number {
    const now = this.#storeTime(asked)
    let [next, latest, most] = [-1, 0, cost]
    for (let shard = 0; shard < rule.count; shard++) {
      if (tried.includes(shard)) continue
      const room = levels.room(shard, cost, now)
      const saidReadyAt = levels.saidReadyAt(shard, cost, now)
      const isFuller = next < 0 ? room >= most : room > most
      if (saidReadyAt < latest || (saidReadyAt === latest && !isFuller)) continue
      ;[next, latest, most] = [shard, saidReadyAt, room]
    }
    return next
  }

  /** What the store answered about these shards. */
  note(choices: readonly ShardChoice[], answer: Answer): void {
    if (answer.isDegraded) return
    for (const { levels, shard, first, cost } of choices) levels.note(shard, answer, first, cost)
  }
}
