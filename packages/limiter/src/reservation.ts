/** A decision about an estimate, to be corrected once what it really cost is known. */
import type { Allowed, Denied } from './decision.js'
import { type DecisionRecord, FullDecisionRecord } from './decision-record.js'
import type { Receipt, Units } from './receipt.js'
import { readUnits, wholeNumber } from './request.js'

export interface Settlement {
  readonly givenBack: Units
  /** What was taken beyond the estimate; what was not there is debt that delays later requests. */
  readonly taken: Units
}

interface Settles extends AsyncDisposable {
  /**
   * The real cost, in requests or by unit; units that are not named stand. Once: again it answers the same.
   * Null if the store could not be asked; it can be tried again where certainly nothing was done.
   */
  settle(used: number | Units): Promise<Settlement | null>
}

export type Reservation = (Allowed & Settles) | (Denied & Settles)

type Settle = (receipt: Receipt, used: Units) => Promise<Settlement | null>

/** What is to be given back of an estimate, and what is to be taken besides. */
export function differences(estimates: Units, used: Units): { less: Units; more: Units } {
  const less: Record<string, number> = {}
  const more: Record<string, number> = {}
  for (const [unit, estimate] of Object.entries(estimates)) {
    const difference = (Object.hasOwn(used, unit) ? used[unit]! : estimate) - estimate
    if (difference < 0) less[unit] = -difference
    else more[unit] = difference
  }
  return { less, more }
}

export class ReservationRecord extends FullDecisionRecord {
  private readonly settleWith: Settle
  private settled: Promise<Settlement | null> | undefined

  constructor(decision: DecisionRecord, settleWith: Settle) {
    super(...decision.parts)
    this.settleWith = settleWith
  }

  async settle(used: number | Units): Promise<Settlement | null> {
    const units =
      typeof used === 'number' ? { requests: wholeNumber('used', used, 0, 1_000_000_000) } : used
    readUnits(units, 0)
    this.settled ??= this.correct(units)
    const settled = await this.settled
    if (settled === null) this.settled = undefined
    return settled
  }

  private async correct(used: Units): Promise<Settlement | null> {
    const { receipt } = this
    return receipt === null ? { givenBack: {}, taken: {} } : this.settleWith(receipt, used)
  }

  /** Unsettled, the estimate stands. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
