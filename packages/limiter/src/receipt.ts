/** What a decision took, for giving it back: at most that, once, and never more than time has left of it. */
import { STATUS, VERDICT_WIDTH, YES } from './algorithms/verdict.js'
import {
  costOf,
  type LimitChange,
  type Return,
  type Transaction,
  type Verdicts,
  verdictsOf,
} from './store/store.js'

/** Amounts by unit: `{ requests: 1, tokens: 1500 }`. */
export type Units = Readonly<Record<string, number>>

export class Receipt {
  /** @internal */ readonly transaction: Transaction
  /** @internal */ readonly verdicts: Verdicts
  readonly #left: Record<string, number>

  /** @internal */
  constructor(transaction: Transaction, verdicts: Verdicts) {
    this.transaction = transaction
    this.verdicts = verdicts
    this.#left = Object.fromEntries(
      transaction.rules.map((rule, i) => [rule.unit, costOf(transaction, i)]),
    )
  }

  /** What has not been given back yet, by unit. */
  get left(): Units {
    return { ...this.#left }
  }

  /** @internal Lowers what is left, and says what to give back for it. */
  redeem(amounts: Units): Return[] {
    const taken: Record<string, number> = {}
    for (const unit of Object.keys(this.#left)) {
      const amount = Math.min(Object.hasOwn(amounts, unit) ? amounts[unit]! : 0, this.#left[unit]!)
      this.#left[unit]! -= amount
      taken[unit] = amount
    }
    return this.changes(taken).map((change) => ({ ...change, verdicts: this.verdicts }))
  }

  /** @internal The same change for every limit that was taken from. */
  changes(amounts: Units): LimitChange[] {
    const { transaction, verdicts } = this
    return transaction.rules.flatMap(({ limits, unit }, rule) => {
      const amount = Object.hasOwn(amounts, unit) ? amounts[unit]! : 0
      const at = verdictsOf(transaction, rule)
      return limits.flatMap((_, limit) => {
        const taken = verdicts[at + limit * VERDICT_WIDTH + STATUS] === YES
        return taken && amount > 0 ? [{ transaction, rule, limit, amount }] : []
      })
    })
  }
}

/** The most that any limit of each unit gave or took. */
export function byUnit(
  changes: readonly LimitChange[],
  amounts: readonly number[],
): Record<string, number> {
  const units: Record<string, number> = {}
  for (const [i, { transaction, rule }] of changes.entries()) {
    const { unit } = transaction.rules[rule]!
    units[unit] = Math.max(units[unit] ?? 0, amounts[i]!)
  }
  return units
}
