/** The limiter: everything that can be asked of it. How a decision comes about is the decider's. */
import { Changes, type HoldOrRequest } from './changes.js'
import type { Decider } from './decider.js'
import type { Decision } from './decision.js'
import { DecisionRecord } from './decision-record.js'
import { badRequest, SluiceError } from './errors.js'
import { type Hold, HoldRecord } from './hold.js'
import type { HoldTicket } from './hold-ticket.js'
import { Receipt, type Units } from './receipt.js'
import { type Request, requireRequest, type Subject } from './request.js'
import { newHoldId } from './request-transaction.js'
import { type Reservation, ReservationRecord, type Settlement } from './reservation.js'
import type { RulesDocument } from './rules/document.js'
import { explainMatch, type MatchExplanation } from './rules/explain.js'
import { RuleSet } from './rules/rule-set.js'
import { drain, inSlices, type Pace } from './slices.js'
import type { NotConfirmed } from './stores/operation.js'
import type { Awaitable } from './stores/store.js'

export interface Explanation extends MatchExplanation {
  /** As a dry run; nothing was taken. */
  readonly decision: Decision
  /** The resource as it was compared: without its query, and normalised where `isNormalized`. */
  readonly resource: string
  readonly isNormalized: boolean
  /** The tier that each scope's rules see, where there is one. */
  readonly tiers: Readonly<Record<string, string>>
  /** What the request costs, by unit. */
  readonly cost: Units
  readonly revision: number
}

/** What was given back: by unit the most that any limit gave. */
export type Refunded = Units

export interface RulesChange {
  /** When the rules took effect by the store's clock, in milliseconds; when they are put in force unless given. */
  readonly since?: number
  readonly pace?: Pace
}

export interface RateLimiter<Scope extends string = string> {
  check(request: Request<Scope>): Promise<Decision>
}

export class Limiter<Scope extends string = string> implements RateLimiter<Scope> {
  readonly #decider: Decider
  /** @internal For transports: these say whether a change was not done or has an unknown outcome. */
  readonly changes: Changes

  /** @internal */
  constructor(decider: Decider) {
    this.#decider = decider
    this.changes = new Changes(decider)
  }

  /** The rules in force. */
  get rules(): RuleSet {
    return this.#decider.rules
  }

  /** Counts the changes of rules. */
  get revision(): number {
    return this.#decider.revision
  }

  /** Decides, and takes what it allows. Rejects for a bad request, never for a denial. */
  async check(request: Request<Scope>): Promise<Decision> {
    return this.decide(request)
  }

  /** The same at once, over a store that can: memory. */
  checkSync(request: Request<Scope>): Decision {
    if (this.#decider.isSync) return this.#decider.decide(request) as Decision
    throw new SluiceError(
      'not_supported',
      'checkSync needs a store in memory; use check with this one',
    )
  }

  /** For transports: at once where the store answers at once, else a promise. */
  decide(request: Request<Scope>): Awaitable<Decision> {
    return this.#decider.decide(request) as Awaitable<Decision>
  }

  /** Throws what `check` would reject with for this request, and decides nothing. */
  validate(request: Request<Scope>): void {
    this.#decider.read(request)
  }

  /** What a check would answer now; takes nothing. */
  async peek(request: Request<Scope>): Promise<Decision> {
    requireRequest(request)
    return this.decide({ ...request, dryRun: true })
  }

  /**
   * Gives back what a decision took: all of it, a number of requests, or amounts by unit. At most that,
   * once, and never more than time has left of it. With a request instead of a decision it is a grant
   * to that subject: its cost, at most what is used. Null if the store could not be asked: a receipt is
   * still good then where certainly nothing was done, and used up where nobody knows.
   */
  async refund(
    what: Decision | Receipt | Request<Scope>,
    amount?: number | Units,
  ): Promise<Refunded | null> {
    if (what instanceof Receipt) return doneOrNull(await this.changes.refund(what, amount))
    if (what instanceof DecisionRecord)
      return what.receipt === null
        ? {}
        : doneOrNull(await this.changes.refund(what.receipt, amount))
    if (amount !== undefined)
      throw badRequest('amount', 'goes with a decision; a grant takes the cost of its request')
    requireRequest(what)
    return doneOrNull(await this.changes.grant(what as Request<Scope>))
  }

  /**
   * Gives back all that a subject has used, of every rule or of the one named. Answers how many counters
   * were in use; null if the store could not be asked, and whether it was done is not known.
   */
  async reset(
    subject: Subject<Scope>,
    options: { readonly rule?: string } = {},
  ): Promise<number | null> {
    return doneOrNull(await this.changes.reset(subject, options.rule))
  }

  /** Takes an estimate; `settle` corrects it once. Disposing it leaves the estimate. */
  async reserve(request: Request<Scope>): Promise<Reservation> {
    const decision = await this.#decider.decide(request)
    const reservation = new ReservationRecord(decision, (receipt, used) =>
      this.settle(receipt, used),
    )
    return reservation as Reservation
  }

  /**
   * Corrects what a receipt was given for to what it really cost: gives back the rest, or takes more. Null
   * as of `refund`.
   */
  async settle(receipt: Receipt, used: Units): Promise<Settlement | null> {
    return doneOrNull(await this.changes.settle(receipt, used))
  }

  /** Takes a hold under the concurrency limits that apply. It renews itself until it is released or disposed. */
  async hold(request: Request<Scope>): Promise<Hold> {
    requireRequest(request)
    const holdId = request.holdId ?? newHoldId()
    const askedAt = performance.now()
    const keeper = {
      renew: (ticket: HoldTicket) => this.changes.renewNow(ticket),
      release: async (ticket: HoldTicket) => (await this.release(ticket)) === true,
    }
    const decision = await this.#decider.decide({ ...request, holdId })
    const hold = new HoldRecord(decision, keeper, askedAt)
    return hold as Hold
  }

  /**
   * Makes a hold live on; its new expiry in milliseconds, or null: it has been lost. Where the store
   * cannot be asked, the expiry that is known stands until it has passed; where none is known, null.
   */
  async renew(hold: HoldOrRequest<Scope>): Promise<number | null> {
    return doneOrNull(await this.changes.renew(hold))
  }

  /** Whether anything was held; null if the store could not be asked. Releasing twice frees nobody else's. */
  async release(hold: HoldOrRequest<Scope>): Promise<boolean | null> {
    return doneOrNull(await this.changes.release(hold))
  }

  /** Which rules apply and why, which do not, and what would be decided. Takes nothing. */
  async explain(request: Request<Scope>): Promise<Explanation> {
    const decision = await this.peek(request)
    const { transaction, asked } = this.#decider.prepare(request)
    const { rules } = this.#decider
    // A scope may be called as a method of objects is.
    const tiers = Object.create(null) as Record<string, string>
    for (const scope of asked.scopes.slice(0, asked.count)) {
      const tier = rules.tierOf(scope, asked)
      if (tier !== null) tiers[scope] = tier
    }
    const cost: Record<string, number> = { ...Object.fromEntries(asked.plan.costs), ...asked.costs }
    if (asked.cost > 0) cost['requests'] = asked.cost
    const listed = decision.exempt || (!decision.allowed && decision.reason === 'blocked')
    const match = listed
      ? { applied: [], setAside: [], absentScopes: [] }
      : explainMatch(rules, asked, transaction.rules, transaction.now)
    const { resource, isNormalized } = asked
    return { decision, resource, isNormalized, ...match, tiers, cost, revision: this.revision }
  }

  /** Swaps the rules whole. What subjects have used carries over; throws with every fault, and then changes nothing. */
  setRules(rules: RulesDocument<Scope> | RuleSet): void {
    const next = rules instanceof RuleSet ? rules : RuleSet.compile(rules)
    this.#refuseStranger(next)
    drain(this.#decider.use(next))
  }

  /**
   * The same for very many rules, without a long pause: deciding goes on under the old rules up to one
   * instant, and under the new ones from then. A later change wins; one that it overtakes is given up.
   */
  async changeRules(rules: RuleSet, { since, pace }: RulesChange = {}): Promise<void> {
    this.#refuseStranger(rules)
    await inSlices(this.#decider.use(rules, since === undefined ? undefined : since * 1000), pace)
  }

  #refuseStranger(next: RuleSet): void {
    const { namespace } = this.#decider.rules
    if (next.namespace === namespace) return
    const message = `the rules are of namespace ${next.namespace}, the limiter of ${namespace}`
    throw new SluiceError('invalid_options', message, { field: 'namespace' })
  }

  async close(): Promise<void> {
    this.#decider.isClosed = true
    await this.#decider.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function doneOrNull<T>(result: T | NotConfirmed): T | null {
  return result === 'not_done' || result === 'unknown' ? null : result
}
