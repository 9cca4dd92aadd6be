/** What a decision took, for giving it back: at most that, once, and never more than time has left of it. */
import { VERDICT_WIDTH } from './algorithms/verdict.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import {
  costOf,
  FIRST_VERDICT,
  type LimitChange,
  type Return,
  type Transaction,
  type Undone,
  type Verdicts,
  wasTaken,
} from './stores/store.js'

/** Amounts by unit: `{ requests: 1, tokens: 1500 }`. */
export type Units = Readonly<Record<string, number>>

/** The rule as it is in force now for a value; undefined if it is gone. */
type InForce = (rule: CompiledRule, value: string) => CompiledRule | undefined

/** What one rule was charged, and the limits that took it. */
interface Take {
  /** As it was then; undefined if nothing is known of it any more. */
  readonly rule: CompiledRule | undefined
  readonly unit: string
  readonly value: string
  readonly cost: number
  /** `at`: where the verdict stands that the limit took it with. */
  readonly limits: readonly { id: string; takenUnder: number; at: number }[]
}

/** One for each take, however often its answer is replayed. */
const receipts = new WeakMap<Verdicts, Receipt>()

export class Receipt {
  readonly #takes: readonly Take[]
  readonly #verdicts: Verdicts
  readonly #left: Record<string, number>
  /** A change was asked for, and the store did not say whether it was done. */
  isOutcomeUnknown = false

  private constructor(takes: readonly Take[], verdicts: Verdicts) {
    this.#takes = takes
    this.#verdicts = verdicts
    this.#left = Object.fromEntries(takes.map(({ unit, cost }) => [unit, cost]))
  }

  /** @internal */
  static of(transaction: Transaction, verdicts: Verdicts): Receipt {
    const receipt = receipts.get(verdicts) ?? new Receipt(takesOf(transaction, verdicts), verdicts)
    receipts.set(verdicts, receipt)
    return receipt
  }

  /** @internal From what was written down of it. */
  static restored(takes: readonly Take[], verdicts: Verdicts): Receipt {
    return new Receipt(takes, verdicts)
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

  /** @internal A change failed. If it was not done, the receipt is as before; if its outcome is unknown, the receipt is used up. */
  undone(why: Undone, before: Units): void {
    if (why === 'unknown') this.isOutcomeUnknown = true
    else Object.assign(this.#left, before)
  }

  /** @internal The same change for every limit that was taken from and is still there. */
  changes(amounts: Units, inForce: InForce): Return[] {
    const verdicts = this.#verdicts
    return this.#takes.flatMap((take) => {
      const amount = amountOf(amounts, take.unit)
      const { value } = take
      const rule = take.rule === undefined ? undefined : inForce(take.rule, value)
      if (amount === 0 || rule === undefined) return []
      return take.limits.flatMap(({ id, takenUnder, at }) => {
        const limit = rule.limits.find((other) => other.id === id)
        return limit === undefined ? [] : [{ rule, limit, value, amount, takenUnder, verdicts, at }]
      })
    })
  }
}

function takesOf(transaction: Transaction, verdicts: Verdicts): Take[] {
  let at = FIRST_VERDICT - VERDICT_WIDTH
  return transaction.rules.map((rule, i) => {
    const limits = rule.limits.flatMap(({ id, numbers }) => {
      at += VERDICT_WIDTH
      return wasTaken(verdicts, at) ? [{ id, takenUnder: numbers.amount, at }] : []
    })
    const value = transaction.values[i]!
    return { rule, unit: rule.unit, value, cost: costOf(transaction, i), limits }
  })
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
