/**
 * Every change of counters but a decision: giving back, granting, settling, resetting, renewing, releasing. Each answers
 * what was changed, `not_done` if certainly nothing was, or `unknown` if the store did not say: then it may have
 * been done and must not be tried again.
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
import { costOf, type HoldPlace, type LimitChange, type Undone } from './stores/store.js'

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
  async refund(receipt: Receipt, amount?: number | Units): Promise<Units | Undone> {
    if (receipt.isOutcomeUnknown) return 'unknown'
    const now = this.#decider.now()
    const amounts = amount === undefined ? receipt.left : unitsOf(amount)
    const { left } = receipt
    const returns = receipt.redeem(amounts, this.#decider.inForceAt(now))
    const given = await this.#decider.store.refund(returns, now)
    if (Array.isArray(given)) return byUnit(returns, given)
    receipt.undone(given, left)
    return given
  }

  /** Gives a subject the cost of a request, at most what is used. */
  async grant(request: Request): Promise<Units | Undone> {
    const { transaction } = this.#decider.prepare(request)
    const changes: LimitChange[] = transaction.rules.flatMap((rule, i) => {
      const [value, amount] = [transaction.values[i]!, costOf(transaction, i)]
      return rule.limits.map((limit) => ({ rule, limit, value, amount }))
    })
    const given = await this.#decider.store.grant(changes, transaction.now)
    return Array.isArray(given) ? byUnit(changes, given) : given
  }

  /** Corrects what a receipt is for to what was used: gives back the rest, or takes more. */
  async settle(receipt: Receipt, used: Units): Promise<Settlement | Undone> {
    readUnits(used, 0)
    if (receipt.isOutcomeUnknown) return 'unknown'
    const { store } = this.#decider
    const { left } = receipt
    const { less, more } = differences(left, used)
    const now = this.#decider.now()
    const inForce = this.#decider.inForceAt(now)
    const returns = receipt.redeem(less, inForce)
    const given = returns.length === 0 ? [] : await store.refund(returns, now)
    if (!Array.isArray(given)) {
      receipt.undone(given, left)
      return given
    }
    const givenBack = byUnit(returns, given)
    const charges = receipt.changes(more, inForce)
    const charged = charges.length === 0 ? [] : await store.charge(charges, now)
    if (Array.isArray(charged)) return { givenBack, taken: byUnit(charges, charged) }
    // A part was given back, so it is settled: what was not taken is not asked for again.
    if (charged === 'not_done' && returns.length > 0) return { givenBack, taken: {} }
    receipt.undone(charged, left)
    return charged
  }

  /** Gives back all that a subject has used, of every rule or of the one named; how many counters were in use. */
  async reset(subject: Subject, rule?: string): Promise<number | Undone> {
    const { rules } = this.#decider
    const family = rule?.split('@')[0]
    if (family !== undefined && !rules.families.has(family))
      throw badRequest('rule', `is ${JSON.stringify(rule)}; expected the name of a rule`)
    const asked = this.#decider.read({ subject })
    const rows = [...rules.families.values()].flatMap((candidate) => {
      const index = asked.scopes.indexOf(candidate.scope)
      if (index < 0 || index >= asked.count) return []
      if (family !== undefined && candidate.name !== family) return []
      return [{ family: candidate, value: asked.counted[index]! }]
    })
    return this.#decider.store.reset(rows, this.#decider.now())
  }

  /**
   * Makes a hold live on; its new expiry in milliseconds, or null: it has been lost. Where the store cannot be
   * asked, the expiry that is known stands until it has passed.
   */
  async renew(hold: HoldOrRequest): Promise<number | null | Undone> {
    const now = this.#decider.now()
    const expiry = await this.#decider.store.renew(this.placeOf(hold), now)
    if (typeof expiry === 'number') return expiry === 0 ? null : Math.floor(expiry / 1000)
    const known = hold instanceof HoldTicket ? hold.expiresAtMs : 0
    return known > now / 1000 ? known : expiry
  }

  /** Whether anything was held. */
  async release(hold: HoldOrRequest): Promise<boolean | Undone> {
    return this.#decider.store.release(this.placeOf(hold), this.#decider.now())
  }

  placeOf(hold: HoldOrRequest): HoldPlace {
    if (hold instanceof HoldTicket) return hold
    requireRequest(hold)
    const id = shortText('holdId', hold.holdId)
    const { rules, values } = this.#decider.prepare(hold).transaction
    const rows = rules.map((rule, i) => ({ rule, value: values[i]! }))
    return { id, rows: rows.filter(({ rule }) => rule.hasHolds) }
  }
}

function unitsOf(amount: number | Units): Units {
  if (typeof amount === 'number')
    return { requests: wholeNumber('amount', amount, 0, 1_000_000_000) }
  readUnits(amount, 0)
  return amount
}
