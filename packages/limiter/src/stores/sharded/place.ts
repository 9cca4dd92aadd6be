/** The rules of a transaction that are in shards, with the shard that each is to be taken from, and the transaction that asks for it. */
import { NEVER, NOT_NOW, SHUT, STATUS, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { LeasingStore } from '../leased/lease-port.js'
import {
  costOf,
  DECIDED_AT,
  DEGRADED,
  FIRST_VERDICT,
  type Transaction,
  type Verdicts,
} from '../store.js'
import type { LevelBook } from './level-book.js'
import type { RowLevels } from './row-levels.js'
import type { ShardedRule, ShardRules } from './sharded-rule.js'

export interface Place {
  /** Which of the transaction's rules it is, and where that one's verdicts stand. */
  readonly index: number
  readonly at: number
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

/** Whether there is anything to split: asked of every transaction. */
export function mayBeSplit(rules: readonly CompiledRule[]): boolean {
  for (let i = 0; i < rules.length; i++) if (rules[i]!.family.shards > 1) return true
  return false
}

export class Places {
  readonly #rules: ShardRules
  readonly #levels: LevelBook
  readonly #random: Random

  constructor(rules: ShardRules, levels: LevelBook, random: Random) {
    this.#rules = rules
    this.#levels = levels
    this.#random = random
  }

  of(transaction: Transaction): Place[] {
    const places: Place[] = []
    let at = FIRST_VERDICT
    for (const [index, compiled] of transaction.rules.entries()) {
      const rule = this.#rules.of(compiled)
      const value = transaction.values[index]!
      const cost = costOf(transaction, index)
      if (rule !== null)
        places.push({ ...this.single(rule, value, cost, transaction.now), index, at })
      at += compiled.limits.length * VERDICT_WIDTH
    }
    return places
  }

  /** The one place of a transaction with this rule alone. */
  single(rule: ShardedRule, value: string, cost: number, asked: number): Place {
    const levels = this.#levels.of(rule, value)
    const shard = this.#choose(rule, levels, cost, asked)
    return { index: 0, at: FIRST_VERDICT, rule, levels, value, cost, shard, tried: [shard] }
  }

  /** Null where the rule is not split. */
  splitOf(rule: CompiledRule): ShardedRule | null {
    return this.#rules.of(rule)
  }

  /** Of two drawn the fuller: none is preferred, else the others would stand full and lose their refill. */
  #choose(rule: ShardedRule, levels: RowLevels, cost: number, asked: number): number {
    // The first is the smallest, and says that this can never pass.
    if (rule.isTooExpensive(cost)) return 0
    const now = this.#levels.storeTime(asked)
    const [x, y] = [this.#draw(rule.count), this.#draw(rule.count)]
    return levels.room(x, cost, now) >= levels.room(y, cost, now) ? x : y
  }

  #draw(count: number): number {
    return Math.floor(this.#random() * count)
  }

  /** What the store answered about these shards. */
  note(places: readonly Place[], asked: number, verdicts: Verdicts): void {
    if (verdicts[DEGRADED] !== 0) return
    this.#levels.heard(asked, verdicts[DECIDED_AT]!)
    for (const { levels, shard, at, cost } of places) levels.note(shard, verdicts, at, cost)
  }

  /** The store's time, as far as is known. */
  now(asked: number): number {
    return this.#levels.storeTime(asked)
  }
}

/** What was asked of the store below, and its answer. */
export interface Answered {
  readonly asked: Transaction
  readonly verdicts: Verdicts
  /** The earlier request, where the answer is one that was given before. */
  readonly replayOf: Transaction | null
}

/** Originals of answers that are given again under their idempotency key. */
const originals = new WeakMap<Verdicts, Transaction>()

/** Asks for these shards, and learns from the answer. `since`: when the decision began, where that was not just now. */
export async function ask(
  inner: LeasingStore,
  places: Places,
  transaction: Transaction,
  chosen: readonly Place[],
  since?: number,
): Promise<Answered> {
  const asked = shardsOf(transaction, chosen)
  for (const { levels, shard, cost } of chosen) levels.expect(shard, cost)
  const verdicts = await inner.consume(asked, since)
  // Whoever asked knows nothing of shards.
  if (asked.replayOf !== null)
    return { asked, verdicts, replayOf: originals.get(verdicts) ?? wholeOf(asked.replayOf) }
  places.note(chosen, transaction.now, verdicts)
  if (transaction.idempotency !== null) originals.set(verdicts, transaction)
  return { asked, verdicts, replayOf: null }
}

/** Says so, where the answer that is given is an earlier one. */
export function answerAgain(transaction: Transaction, { replayOf }: Answered): boolean {
  if (replayOf === null) return false
  ;(transaction as { replayOf: Transaction | null }).replayOf = replayOf
  return true
}

function wholeOf(transaction: Transaction): Transaction {
  return { ...transaction, rules: transaction.rules.map((rule) => rule.whole ?? rule) }
}

/** The same of these shards. */
function shardsOf(transaction: Transaction, places: readonly Place[]): Transaction {
  const rules = [...transaction.rules]
  for (const { index, rule, shard } of places) rules[index] = rule.shard(shard)
  const { values, costs, cost, dryRun, holdId, idempotency, now } = transaction
  return { rules, values, costs, cost, dryRun, holdId, idempotency, replayOf: null, now }
}

/** The enforced rules that deny, by their places in the transaction. */
export function deniersOf({ rules }: Transaction, verdicts: Verdicts): number[] {
  const deniers: number[] = []
  let at = FIRST_VERDICT
  for (const [i, { limits, shadow }] of rules.entries()) {
    const isDenied = limits.some((_, j) => isNo(verdicts[at + j * VERDICT_WIDTH + STATUS]!))
    if (isDenied && !shadow) deniers.push(i)
    at += limits.length * VERDICT_WIDTH
  }
  return deniers
}

function isNo(status: number): boolean {
  return status === NOT_NOW || status === NEVER || status === SHUT
}
