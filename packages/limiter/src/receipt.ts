/** What a decision took, for giving it back: at most that, once, and never more than time has left of it. */
import { VERDICT_WIDTH } from './algorithms/verdict.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import {
  costOf,
  FIRST_VERDICT,
  type LimitChange,
  type Return,
  type Transaction,
  type Verdicts,
  wasTaken,
} from './store/store.js'

/** Amounts by unit: `{ requests: 1, tokens: 1500 }`. */
export type Units = Readonly<Record<string, number>>

/** The rule as it is in force now for a value; undefined if it is gone. */
type InForce = (rule: CompiledRule, value: string) => CompiledRule | undefined

/** One for each take, however often its answer is replayed. */
const receipts = new WeakMap<Verdicts, Receipt>()

export class Receipt {
  readonly #transaction: Transaction
  readonly #verdicts: Verdicts
  readonly #left: Record<string, number>

  private constructor(transaction: Transaction, verdicts: Verdicts) {
    this.#transaction = transaction
    this.#verdicts = verdicts
    this.#left = Object.fromEntries(
      transaction.rules.map((rule, i) => [rule.unit, costOf(transaction, i)]),
    )
  }

  /** @internal */
  static of(transaction: Transaction, verdicts: Verdicts): Receipt {
    const receipt = receipts.get(verdicts) ?? new Receipt(transaction, verdicts)
    receipts.set(verdicts, receipt)
    return receipt
  }

  /** What has not been given back yet, by unit. */
  get left(): Units {
    return { ...this.#left }
  }

  /** @internal Lowers what is left, and says what to give back for it. */
  redeem(amounts: Units, inForce: InForce): Return[] {
    const redeemed: Record<string, number> = {}
    for (const [unit, left] of Object.entries(this.#left)) {
      const amount = Math.min(amountOf(amounts, unit), left)
      redeemed[unit] = amount
      this.#left[unit] = left - amount
    }
    return this.changes(redeemed, inForce)
  }

  /** @internal The same change for every limit that was taken from and is still there. */
  changes(amounts: Units, inForce: InForce): Return[] {
    const { rules, values } = this.#transaction
    const verdicts = this.#verdicts
    const changes: Return[] = []
    let at = FIRST_VERDICT - VERDICT_WIDTH
    for (const [i, taken] of rules.entries()) {
      const amount = amountOf(amounts, taken.unit)
      const value = values[i]!
      const rule = inForce(taken, value)
      for (const { id, numbers } of taken.limits) {
        at += VERDICT_WIDTH
        const limit = rule?.limits.find((other) => other.id === id)
        if (amount === 0 || rule === undefined || limit === undefined) continue
        if (wasTaken(verdicts, at))
          changes.push({ rule, limit, value, amount, takenUnder: numbers.amount, verdicts, at })
      }
    }
    return changes
  }
}

function amountOf(amounts: Units, unit: string): number {
  return Object.hasOwn(amounts, unit) ? amounts[unit]! : 0
}

/** The most that any limit of each unit gave or took. */
export function byUnit(changes: readonly LimitChange[], amounts: readonly number[]): Units {
  const units: Record<string, number> = {}
  for (const [i, { rule }] of changes.entries()) {
    units[rule.unit] = Math.max(amountOf(units, rule.unit), amounts[i]!)
  }
  return units
}
