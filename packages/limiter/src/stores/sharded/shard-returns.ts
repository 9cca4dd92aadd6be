/** Takes on their way back: each to the shard that it was taken from. */
import { CONCURRENCY } from '../../algorithms/limit-numbers.js'
import { MARK_REST, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import {
  costOf,
  DEGRADED,
  FIRST_VERDICT,
  type Return,
  type Store,
  type Transaction,
  type Undone,
  type Verdicts,
  wasTaken,
} from '../store.js'
import { readMark, type ShardMark } from './shard-mark.js'
import type { ShardRules } from './sharded-rule.js'

/** A return as the store below knows it, and which of those that were asked for it belongs to. */
interface Mapped {
  readonly index: number
  readonly item: Return
}

export class ShardReturns {
  readonly #inner: Store
  readonly #rules: ShardRules

  constructor(inner: Store, rules: ShardRules) {
    this.#inner = inner
    this.#rules = rules
  }

  async refund(returns: readonly Return[], now: number): Promise<number[] | Undone> {
    const mapped = returns.flatMap((item, index) => this.#mapped(item, index))
    const amounts = returns.map(() => 0)
    // What was taken without the store is given back without it.
    for (const isLocal of [false, true]) {
      const part = mapped.filter(({ item }) => (item.verdicts[DEGRADED] !== 0) === isLocal)
      if (part.length === 0) continue
      const given = await this.#inner.refund(
        part.map(({ item }) => item),
        now,
      )
      if (!Array.isArray(given)) return given
      for (const [i, { index }] of part.entries()) amounts[index]! += given[i]!
    }
    return amounts
  }

  /** Gives back all that an answer took, of shards or of whole rules; not waited for. */
  undo(asked: Transaction, verdicts: Verdicts): void {
    const returns: Return[] = []
    const held: { rule: CompiledRule; value: string }[] = []
    let at = FIRST_VERDICT
    for (const [i, rule] of asked.rules.entries()) {
      const [value, amount] = [asked.values[i]!, costOf(asked, i)]
      for (const limit of rule.limits) {
        const { amount: takenUnder, kind } = limit.numbers
        const isTaken = wasTaken(verdicts, at)
        // An id that was held before lives on: nothing was taken for it.
        if (isTaken && kind === CONCURRENCY && verdicts[at + MARK_REST] !== 0)
          held.push({ rule, value })
        else if (isTaken && kind !== CONCURRENCY)
          returns.push({ rule, limit, value, amount, takenUnder, verdicts, at })
        at += VERDICT_WIDTH
      }
    }
    if (returns.length > 0) this.refund(returns, asked.now).catch(() => {})
    if (held.length > 0)
      Promise.resolve(this.#inner.release({ id: asked.holdId, rows: held }, asked.now)).catch(
        () => {},
      )
  }

  #mapped(item: Return, index: number): Mapped[] {
    const { verdicts, at } = item
    const mark = readMark(verdicts, at)
    if (mark === null) return [{ index, item }]
    const own = [...verdicts.slice(0, FIRST_VERDICT), ...verdicts.slice(at, at + VERDICT_WIDTH)]
    own[FIRST_VERDICT + MARK_REST] = mark.rest
    return this.#toShard({ ...item, verdicts: own, at: FIRST_VERDICT }, index, mark)
  }

  /** Of a shard that is there no more nothing is given back; under other numbers than then the store gives nothing. */
  #toShard(item: Return, index: number, { shard, count }: ShardMark): Mapped[] {
    const rule = this.#rules.of(item.rule)
    if (rule === null || count === 0 || shard >= rule.count) return []
    const own = rule.shard(shard)
    const limit = own.limits[item.rule.limits.indexOf(item.limit)]!
    const takenUnder = Math.floor((item.takenUnder + shard) / count)
    return [{ index, item: { ...item, rule: own, limit, takenUnder } }]
  }
}
