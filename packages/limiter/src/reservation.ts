/** A decision about an estimate, to be corrected once what it really cost is known. */
import { type Allowed, DecisionRecord, type Denied } from './decision.js'
import type { Units } from './receipt.js'
import { readUnits, wholeNumber } from './request.js'
import type { LimitChange, Return } from './store/store.js'

export interface Settlement {
  readonly givenBack: Units
  /** What was taken beyond the estimate; what was not there is debt that delays later requests. */
  readonly taken: Units
}

interface Settles extends AsyncDisposable {
  /** The real cost, in requests or by unit; units that are not named stand. Once: again it answers the same. */
  settle(used: number | Units): Promise<Settlement>
}

export type Reservation = (Allowed & Settles) | (Denied & Settles)

type Settle = (returns: readonly Return[], charges: readonly LimitChange[]) => Promise<Settlement>

export class ReservationRecord extends DecisionRecord {
  private settleWith: Settle | undefined
  private settled: Promise<Settlement> | undefined

  /** @internal */
  bind(settleWith: Settle): void {
    this.settleWith = settleWith
  }

  async settle(used: number | Units): Promise<Settlement> {
    const units =
      typeof used === 'number' ? { requests: wholeNumber('used', used, 0, 1_000_000_000) } : used
    readUnits(units, 0)
    this.settled ??= this.correct(units)
    return this.settled
  }

  private async correct(used: Units): Promise<Settlement> {
    const { receipt } = this
    if (receipt === null || this.settleWith === undefined) return { givenBack: {}, taken: {} }
    const less: Record<string, number> = {}
    const more: Record<string, number> = {}
    for (const [unit, estimate] of Object.entries(receipt.left)) {
      const difference = (Object.hasOwn(used, unit) ? used[unit]! : estimate) - estimate
      if (difference < 0) less[unit] = -difference
      else more[unit] = difference
    }
    return this.settleWith(receipt.redeem(less), receipt.changes(more))
  }

  /** Unsettled, the estimate stands. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
