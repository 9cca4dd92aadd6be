/** What a decision took, for giving it back: at most that, once, and never more than time has left of it. */
import type { CompiledRule } from './rules/compiled-rule.js'
import type { Answer, Take } from './stores/answer.js'
import type { Charge, LimitOperation, NotConfirmed, Refund } from './stores/operation.js'
import { costOf } from './stores/transaction.js'

/** Amounts by unit: `{ requests: 1, tokens: 1500 }`. */
export type Units = Readonly<Record<string, number>>

/** The rule as it is in force now for a value; undefined if it is gone. */
type InForce = (rule: CompiledRule, value: string) => CompiledRule | undefined

/** What one rule was charged, and the limits that took it. */
export interface RuleTake {
  /** As it was then; undefined if nothing is known of it any more. */
  readonly rule: CompiledRule | undefined
  readonly unit: string
  readonly value: string
  readonly cost: number
  readonly limits: readonly { readonly id: string; readonly take: Take }[]
}

/** One for each take, however often its answer is replayed: by the answer's numbers. */
const receipts = new WeakMap<readonly number[], Receipt>()

export class Receipt {
  readonly #takes: readonly RuleTake[]
  readonly #left: Record<string, number>
  /** A change was asked for, and the store did not say whether it was done. */
  isOutcomeUnknown = false

  private constructor(takes: readonly RuleTake[]) {
    this.#takes = takes
    this.#left = Object.fromEntries(takes.map(({ unit, cost }) => [unit, cost]))
  }

  /** @internal */
  static of(answer: Answer): Receipt {
    const receipt = receipts.get(answer.numbers) ?? new Receipt(takesOf(answer))
    receipts.set(answer.numbers, receipt)
    return receipt
  }

  /** @internal From what was written down of it. */
  static restored(takes: readonly RuleTake[]): Receipt {
    return new Receipt(takes)
  }

  /** What has not been given back yet, by unit. */
  get left(): Units {
    return { ...this.#left }
  }

  /** @internal Lowers what is left, and says what to give back for it. */
  redeem(amounts: Units, inForce: InForce): Refund[] {
    const redeemed: Record<string, number> = {}
    for (const [unit, left] of Object.entries(this.#left)) {
      const amount = Math.min(amountOf(amounts, unit), left)
      redeemed[unit] = amount
      this.#left[unit] = left - amount
    }
    return this.#each(redeemed, inForce, (of, take) => ({ kind: 'refund', ...of, take }))
  }

  /** @internal A change failed. If it was not done, the receipt is as before; if its outcome is unknown, the receipt is used up. */
  undone(why: NotConfirmed, before: Units): void {
    if (why === 'unknown') this.isOutcomeUnknown = true
    else Object.assign(this.#left, before)
  }

  /** @internal Takes more of every limit that was taken from and is still there. */
  charges(amounts: Units, inForce: InForce): Charge[] {
    return this.#each(amounts, inForce, (of) => ({ kind: 'charge', ...of }))
  }

  #each<O extends LimitOperation>(
    amounts: Units,
    inForce: InForce,
    operation: (of: Omit<Charge, 'kind'>, take: Take) => O,
  ): O[] {
    return this.#takes.flatMap(({ rule: takenBy, unit, value, limits }) => {
      const amount = amountOf(amounts, unit)
      const rule = takenBy === undefined ? undefined : inForce(takenBy, value)
      if (amount === 0 || rule === undefined) return []
      return limits.flatMap(({ id, take }) => {
        const limit = rule.limits.find((other) => other.id === id)
        return limit === undefined ? [] : [operation({ rule, limit, value, amount }, take)]
      })
    })
  }
}

function takesOf(answer: Answer): RuleTake[] {
  const { transaction } = answer
  const takes = transaction.rules.map((rule, i) => {
    const value = transaction.values[i]!
    const limits: { id: string; take: Take }[] = []
    return { rule, unit: rule.unit, value, cost: costOf(transaction, i), limits }
  })
  for (const one of answer.each())
    if (answer.wasTaken(one.index))
      takes[one.ruleIndex]!.limits.push({ id: one.limit.id, take: answer.takeOf(one) })
  return takes
}

function amountOf(amounts: Units, unit: string): number {
  return Object.hasOwn(amounts, unit) ? amounts[unit]! : 0
}

/** The most that any limit of each unit gave or took. */
export function byUnit(operations: readonly LimitOperation[], amounts: readonly number[]): Units {
  const units: Record<string, number> = {}
  for (const [i, { rule }] of operations.entries()) {
    units[rule.unit] = Math.max(amountOf(units, rule.unit), amounts[i]!)
  }
  return units
}
