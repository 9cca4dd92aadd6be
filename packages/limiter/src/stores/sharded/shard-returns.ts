/** Takes on their way back: each to the shard that it was taken from, what was gathered to all of them. */
import { randomInt } from 'node:crypto'
import { CONCURRENCY } from '../../algorithms/limit-numbers.js'
import { MARK_REST, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import { TwoGenerations } from '../../rules/two-generations.js'
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
import { gatheringOf, readMark } from './shard-mark.js'
import type { ShardRules } from './sharded-rule.js'

/** How many gatherings are kept until they are given back; twice as many at most. */
const MOST_GATHERINGS = 10_000
const MOST_ID = 2 ** 47

/** A part of what was gathered: where, and how much of it each limit still has to give back. */
export interface Piece {
  readonly shard: number
  readonly count: number
  /** As the store answered, with `at` for the rule's first limit. */
  readonly verdicts: Verdicts
  readonly at: number
  readonly left: number[]
}

/** A return as the store below knows it, and which of those that were asked for it belongs to. */
interface Mapped {
  readonly index: number
  readonly item: Return
  /** Puts it back where it certainly was not done, so that it can be asked for again. */
  readonly putBack?: () => void
}

export class ShardReturns {
  readonly #inner: Store
  readonly #rules: ShardRules
  readonly #gatherings = new TwoGenerations<number, readonly Piece[]>(MOST_GATHERINGS)

  constructor(inner: Store, rules: ShardRules) {
    this.#inner = inner
    this.#rules = rules
  }

  /** Keeps where something was gathered, under a number for its receipt that no other instance has. */
  keep(pieces: readonly Piece[]): number {
    const id = randomInt(MOST_ID)
    this.#gatherings.set(id, pieces)
    return id
  }

  async refund(returns: readonly Return[], now: number): Promise<number[] | Undone> {
    const mapped = returns.flatMap((item, index) => this.#mapped(item, index))
    const amounts = returns.map(() => 0)
    let rest = mapped
    // What was taken without the store is given back without it.
    for (const isLocal of [false, true]) {
      const part = mapped.filter(({ item }) => (item.verdicts[DEGRADED] !== 0) === isLocal)
      if (part.length === 0) continue
      const given = await this.#inner.refund(
        part.map(({ item }) => item),
        now,
      )
      if (!Array.isArray(given)) {
        if (given === 'not_done') for (const { putBack } of rest) putBack?.()
        return given
      }
      for (const [i, { index }] of part.entries()) amounts[index]! += given[i]!
      rest = rest.filter((one) => !part.includes(one))
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
    const gathering = gatheringOf(verdicts, at)
    if (gathering !== null) return this.#gathered(item, index, gathering)
    const mark = readMark(verdicts, at)
    if (mark === null) return [{ index, item }]
    const rest = [...verdicts.slice(0, FIRST_VERDICT), ...verdicts.slice(at, at + VERDICT_WIDTH)]
    rest[FIRST_VERDICT + MARK_REST] = mark.rest
    return this.#toShard(item, index, { ...mark, verdicts: rest, at: FIRST_VERDICT })
  }

  /** To one piece after the other, as much as each still has. */
  #gathered(item: Return, index: number, gathering: number): Mapped[] {
    const j = item.rule.limits.indexOf(item.limit)
    let { amount } = item
    return (this.#gatherings.get(gathering) ?? []).flatMap((piece) => {
      const part = Math.min(amount, piece.left[j]!)
      if (part === 0) return []
      amount -= part
      piece.left[j]! -= part
      const at = piece.at + j * VERDICT_WIDTH
      const putBack = () => {
        piece.left[j]! += part
      }
      return this.#toShard({ ...item, amount: part }, index, { ...piece, at }).map((mapped) => ({
        ...mapped,
        putBack,
      }))
    })
  }

  /** Of a shard that is there no more nothing is given back; under other numbers than then the store gives nothing. */
  #toShard(item: Return, index: number, taken: Omit<Piece, 'left'>): Mapped[] {
    const { shard, count, verdicts, at } = taken
    const rule = this.#rules.of(item.rule)
    if (rule === null || shard >= rule.count) return []
    const own = rule.shard(shard)
    const limit = own.limits[item.rule.limits.indexOf(item.limit)]!
    const takenUnder = Math.floor((item.takenUnder + shard) / count)
    return [{ index, item: { ...item, rule: own, limit, takenUnder, verdicts, at } }]
  }
}
