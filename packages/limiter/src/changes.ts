/**
 * Every change of counters but a decision: giving back, granting, settling, resetting, renewing, releasing. Each answers
 * what was changed, `not_done` if certainly nothing was, or `unknown` if the store did not say: then it may have
 * been done, and must not be tried again unless it does the same when it is done twice (a reset, a renewal, a release).
 */
import type { Decider } from './decider.js'
import { badRequest } from './errors.js'
import { HoldTicket } from './hold-ticket.js'
import { byUnit, type Receipt, type Units } from './receipt.js'
import {
  type Request,
  readUnits,
  requireRequest,
  type Subject,
  shortText,
  wholeNumber,
} from './request.js'
import { differences, type Settlement } from './reservation.js'
import {
  type Grant,
  type HoldOperation,
  type NotConfirmed,
  type Operation,
  together,
} from './stores/operation.js'
import { costOf } from './stores/transaction.js'

/** A hold with the decision that took it, or its id with the request it was taken for. */
export type HoldOrRequest<Scope extends string = string> =
  | HoldTicket
  | (Request<Scope> & { readonly holdId: string })

export class Changes {
  readonly #decider: Decider

  constructor(decider: Decider) {
    this.#decider = decider
  }

  /** Gives back what a receipt is for: all that is left of it, a number of requests, or amounts by unit. */
  async refund(receipt: Receipt, amount?: number | Units): Promise<Units | NotConfirmed> {
    if (receipt.isOutcomeUnknown) return 'unknown'
    const { left } = receipt
    const amounts = amount === undefined ? left : unitsOf(amount)
    const refunds = receipt.redeem(amounts, this.#decider.inForceAt(this.#decider.now()))
    const { undone, amounts: given } = await this.#change(refunds)
    if (undone === null) return byUnit(refunds, given)
    receipt.undone(undone, left)
    return undone
  }

  /** Gives a subject the cost of a request, at most what is used. */
  async grant(request: Request): Promise<Units | NotConfirmed> {
    const { transaction } = this.#decider.prepare(request)
    const grants: Grant[] = transaction.rules.flatMap((rule, i) => {
      const [value, amount] = [transaction.values[i]!, costOf(transaction, i)]
      return rule.limits.map((limit) => ({ kind: 'grant', rule, limit, value, amount }))
    })
    const { undone, amounts } = await this.#change(grants)
    return undone ?? byUnit(grants, amounts)
  }

  /** Corrects what a receipt is for to what was used: gives back the rest, or takes more. */
  async settle(receipt: Receipt, used: Units): Promise<Settlement | NotConfirmed> {
    readUnits(used, 0)
    if (receipt.isOutcomeUnknown) return 'unknown'
    const { left } = receipt
    const { less, more } = differences(left, used)
    const inForce = this.#decider.inForceAt(this.#decider.now())
    const refunds = receipt.redeem(less, inForce)
    const given = await this.#change(refunds)
    if (given.undone !== null) {
      receipt.undone(given.undone, left)
      return given.undone
    }
    const givenBack = byUnit(refunds, given.amounts)
    const charges = receipt.charges(more, inForce)
    const taken = await this.#change(charges)
    if (taken.undone === null) return { givenBack, taken: byUnit(charges, taken.amounts) }
    // A part was given back, so it is settled: what was not taken is not asked for again.
    if (taken.undone === 'not_done' && refunds.length > 0) return { givenBack, taken: {} }
    receipt.undone(taken.undone, left)
    return taken.undone
  }

  /** Gives back all that a subject has used, of every rule or of the one named; how many counters were in use. */
  async reset(subject: Subject, rule?: string): Promise<number | NotConfirmed> {
    const { rules } = this.#decider
    const family = rule?.split('@')[0]
    if (family !== undefined && !rules.families.has(family))
      throw badRequest('rule', `is ${JSON.stringify(rule)}; expected the name of a rule`)
    const asked = this.#decider.read({ subject })
    const resets = [...rules.families.values()].flatMap((candidate): Operation[] => {
      const index = asked.scopes.indexOf(candidate.scope)
      if (index < 0 || index >= asked.count) return []
      if (family !== undefined && candidate.name !== family) return []
      return [{ kind: 'reset', family: candidate, value: asked.counted[index]! }]
    })
    const { undone, amounts } = await this.#change(resets)
    return undone ?? amounts.filter((used) => used > 0).length
  }

  /**
   * Makes a hold live on; its new expiry in milliseconds, or null: it has been lost. Where the store cannot be
   * asked, the expiry that is known stands until it has passed.
   */
  async renew(hold: HoldOrRequest): Promise<number | null | NotConfirmed> {
    const now = this.#decider.now()
    const expiry = await this.renewNow(hold)
    if (typeof expiry === 'number') return expiry === 0 ? null : Math.floor(expiry / 1000)
    const known = hold instanceof HoldTicket ? hold.expiresAtMs : 0
    return known > now / 1000 ? known : expiry
  }

  /** Its new expiry in microseconds, the earliest of its limits'; 0 if it has been lost. */
  async renewNow(hold: HoldOrRequest): Promise<number | NotConfirmed> {
    const { undone, amounts } = await this.#change(this.#ofHold('renew', hold))
    return undone ?? (amounts.length === 0 ? 0 : Math.min(...amounts))
  }

  /** Whether anything was held. */
  async release(hold: HoldOrRequest): Promise<boolean | NotConfirmed> {
    const { undone, amounts } = await this.#change(this.#ofHold('release', hold))
    return undone ?? amounts.some((released) => released > 0)
  }

  async #change(operations: readonly Operation[]) {
    if (operations.length === 0) return together([])
    return together(await this.#decider.store.change(operations, this.#decider.moment()))
  }

  #ofHold(kind: HoldOperation['kind'], hold: HoldOrRequest): HoldOperation[] {
    const { id, rows, isDegraded } = this.placeOf(hold)
    return rows.map((row) => ({ kind, ...row, holdId: id, isLocal: isDegraded }))
  }

  /** Which rows hold an id. */
  placeOf(hold: HoldOrRequest): Pick<HoldTicket, 'id' | 'rows' | 'isDegraded'> {
    if (hold instanceof HoldTicket) return hold
    requireRequest(hold)
    const id = shortText('holdId', hold.holdId)
    const { rules, values } = this.#decider.prepare(hold).transaction
    const rows = rules.map((rule, i) => ({ rule, value: values[i]! }))
    return { id, rows: rows.filter(({ rule }) => rule.hasHolds), isDegraded: false }
  }
}

function unitsOf(amount: number | Units): Units {
  if (typeof amount === 'number')
    return { requests: wholeNumber('amount', amount, 0, 1_000_000_000) }
  readUnits(amount, 0)
  return amount
}
