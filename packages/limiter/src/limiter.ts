/**
 * The limiter: request → rules that apply → one transaction → decision. It knows the store's port and
 * nothing of any store; whatever answers at once is decided without a promise.
 */
import { CONCURRENCY } from './algorithms/limit-numbers.js'
import { REMAINING } from './algorithms/verdict.js'
import { type Clock, microseconds } from './clock.js'
import { type Decision, DecisionRecord, type State, topLimit } from './decision.js'
import { badRequest, SluiceError } from './errors.js'
import { type Hold, HoldRecord } from './hold.js'
import { HoldTicket } from './hold-ticket.js'
import { byUnit, Receipt, type Units } from './receipt.js'
import {
  CheckedRequest,
  type Request,
  readUnits,
  type Subject,
  shortText,
  wholeNumber,
} from './request.js'
import { type Reservation, ReservationRecord } from './reservation.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import type { RulesDocument } from './rules/document.js'
import { explainMatch, type MatchExplanation } from './rules/explain.js'
import type { Plan } from './rules/plan.js'
import type { Entry } from './rules/rule.js'
import { RuleSet } from './rules/rule-set.js'
import { carryEffect } from './rules/succession.js'
import {
  ALLOWED,
  type Answer,
  IdempotencyConflict,
  type LimitChange,
  type Return,
  type Store,
  type SyncStore,
  type Transaction,
  type Verdicts,
} from './store/store.js'
import { newHoldId, transactionOf } from './transaction.js'
import { WarningMemory } from './warning-memory.js'

export interface Explanation extends MatchExplanation {
  /** As a dry run; nothing was taken. */
  readonly decision: Decision
  /** The tier that each scope's rules see, where one is assigned. */
  readonly tiers: Readonly<Record<string, string>>
  /** What the request costs, by unit. */
  readonly cost: Units
  readonly revision: number
}

/** What was given back: by unit the most that any limit gave. */
export type Refunded = Units

export interface RateLimiter<Scope extends string = string> {
  check(request: Request<Scope>): Promise<Decision>
}

export class Limiter<Scope extends string = string> implements RateLimiter<Scope> {
  readonly #store: Store
  readonly #clock: Clock
  readonly #asked = new CheckedRequest()
  readonly #warnings = new WarningMemory()
  #rules: RuleSet
  /** Scopes stay known when the rules forget them: a change of rules must not turn good requests into bad ones. */
  #scopes: Set<string>
  #revision = 1
  #closed = false

  constructor(rules: RuleSet, store: Store, clock: Clock) {
    this.#rules = rules
    this.#store = store
    this.#clock = clock
    this.#scopes = new Set(rules.scopes)
    carryEffect(rules, null, this.#now())
    store.use(rules)
  }

  /** The rules in force. */
  get rules(): RuleSet {
    return this.#rules
  }

  /** Counts the changes of rules. */
  get revision(): number {
    return this.#revision
  }

  /** Decides, and takes what it allows. Rejects for a bad request, never for a denial. */
  async check(request: Request<Scope>): Promise<Decision> {
    return this.decide(request)
  }

  /** The same at once, over a store that can: memory. */
  checkSync(request: Request<Scope>): Decision {
    if (!isSync(this.#store))
      throw new SluiceError(
        'not_supported',
        'checkSync needs a store in memory; use check with this one',
      )
    return this.decide(request) as Decision
  }

  /** What a check would answer now; takes nothing. */
  async peek(request: Request<Scope>): Promise<Decision> {
    return this.decide({ ...request, dryRun: true })
  }

  /** For transports: at once where the store answers at once, else a promise. */
  decide(request: Request<Scope>): Answer<Decision> {
    return this.#decide(request, Decided) as Answer<Decision>
  }

  #decide<T extends DecisionRecord>(request: Request, make: Maker<T>): Answer<T> {
    request.signal?.throwIfAborted()
    const asked = this.#read(request)
    const rules = this.#rules
    const now = this.#now()
    if (!rules.blocks.isEmpty || !rules.exemptions.isEmpty) {
      const listed = this.#listed(asked, now)
      if (listed !== null)
        return new make(
          listed.transaction,
          listed.verdicts,
          null,
          listed.state,
          asked.resource,
          listed.entry,
        )
    }
    const plan = rules.plan(asked.resource, asked.method)
    const matched = rules.match(plan, asked, now)
    const transaction = transactionOf(request, asked, plan, matched, now)
    if (matched.length === 0) return new make(transaction, [1, now], null, 'normal', asked.resource)
    const resource = asked.resource
    const verdicts = this.#consume(transaction)
    if (isVerdicts(verdicts)) return this.#conclude(transaction, verdicts, resource, make)
    return verdicts.then((v) => this.#conclude(transaction, v, resource, make))
  }

  #read(request: Request): CheckedRequest {
    if (this.#closed) throw new SluiceError('closed', 'the limiter was closed')
    this.#asked.read(request, this.#rules, this.#scopes)
    return this.#asked
  }

  #now(): number {
    return microseconds(this.#clock())
  }

  #consume(transaction: Transaction): Answer<Verdicts> {
    if (transaction.idempotency === null) return this.#store.consume(transaction)
    const conflict = (error: unknown): never => {
      if (!(error instanceof IdempotencyConflict)) throw error
      throw new SluiceError(
        'idempotency_conflict',
        'idempotencyKey was used within 5 minutes for another request',
        {
          field: 'idempotencyKey',
        },
      )
    }
    try {
      const answer = this.#store.consume(transaction)
      return isVerdicts(answer) ? answer : answer.catch(conflict)
    } catch (error) {
      return conflict(error)
    }
  }

  #conclude<T extends DecisionRecord>(
    transaction: Transaction,
    verdicts: Verdicts,
    resource: string,
    make: Maker<T>,
  ): T {
    const top = topLimit(transaction.replayOf ?? transaction, verdicts)
    let state: State = 'normal'
    if (verdicts[ALLOWED] !== 1) state = 'throttled'
    else if (top !== null) {
      const left = verdicts[top.at + REMAINING]! / top.limit.numbers.burst
      if (this.#warnings.warns(top.rule.family, top.value, left)) state = 'warning'
    }
    return new make(transaction, verdicts, top, state, resource)
  }

  /** A block refuses before anything else; an exemption lets through all rules. */
  #listed(asked: CheckedRequest, now: number) {
    for (const list of [this.#rules.blocks, this.#rules.exemptions]) {
      for (let i = 0; i < asked.count; i++) {
        const scope = asked.scopes[i]!
        const value = asked.values[i]!
        const entry: Entry | null = list.find(
          scope,
          value,
          scope === 'ip' ? asked.address : null,
          now,
        )
        if (entry === null) continue
        const blocked = list === this.#rules.blocks
        const state: State = blocked ? 'throttled' : 'normal'
        const transaction = { ...NOTHING, values: [value], now }
        return { transaction, verdicts: [blocked ? 0 : 1, now], state, entry }
      }
    }
    return null
  }

  /**
   * Gives back what a decision took: all of it, a number of requests, or amounts by unit. At most that,
   * once, and never more than time has left of it. With a request instead of a decision it is a grant to
   * that subject: its cost, at most what is used.
   */
  async refund(
    what: Decision | Receipt | Request<Scope>,
    amount?: number | Units,
  ): Promise<Refunded> {
    if (what instanceof Receipt) return this.#refund(what, amount)
    if (what instanceof DecisionRecord)
      return what.receipt === null ? {} : this.#refund(what.receipt, amount)
    if (amount !== undefined)
      throw badRequest('amount', 'goes with a decision; a grant takes the request’s own cost')
    return this.#grant(what as Request<Scope>)
  }

  async #refund(receipt: Receipt, amount: number | Units | undefined): Promise<Refunded> {
    const returns: Return[] = receipt.redeem(amount === undefined ? receipt.left : unitsOf(amount))
    return byUnit(returns, await this.#store.refund(returns, this.#now()))
  }

  async #grant(request: Request<Scope>): Promise<Refunded> {
    const { transaction } = this.#prepare(request)
    const changes: LimitChange[] = transaction.rules.flatMap(({ limits }, rule) =>
      limits.map((_, limit) => ({
        transaction,
        rule,
        limit,
        amount: transaction.costs?.[rule] ?? transaction.cost,
      })),
    )
    return byUnit(changes, await this.#store.grant(changes, this.#now()))
  }

  /** The transaction that a request would be, without deciding it. */
  #prepare(request: Request): { transaction: Transaction; plan: Plan; asked: CheckedRequest } {
    const asked = this.#read(request)
    const now = this.#now()
    const plan = this.#rules.plan(asked.resource, asked.method)
    const matched = this.#rules.match(plan, asked, now)
    return {
      transaction: transactionOf({ ...request, dryRun: true }, asked, plan, matched, now),
      plan,
      asked,
    }
  }

  /** Gives back all that a subject has used, of every rule or of the one named. Answers how many counters were in use. */
  async reset(subject: Subject<Scope>, options: { readonly rule?: string } = {}): Promise<number> {
    const asked = this.#read({ subject })
    const rows: { rule: CompiledRule; value: string }[] = []
    const seen = new Set<string>()
    for (const rule of this.#rules.rules.concat(this.#rules.defaultRule ?? [])) {
      const { family } = rule
      if (options.rule !== undefined && options.rule !== family.name && options.rule !== rule.name)
        continue
      const index = asked.scopes.indexOf(rule.scope)
      if (index < 0 || index >= asked.count || seen.has(family.key)) continue
      seen.add(family.key)
      rows.push({ rule, value: asked.counted[index]! })
    }
    if (options.rule !== undefined && !this.#rules.families.has(options.rule.split('@')[0]!))
      throw badRequest('rule', `${JSON.stringify(options.rule)} is not the name of a rule`)
    return this.#store.reset(rows, this.#now())
  }

  /** Takes an estimate; `settle` corrects it once. Disposing it leaves the estimate. */
  async reserve(request: Request<Scope>): Promise<Reservation> {
    const reservation = await this.#decide(request, ReservationRecord)
    reservation.bind(async (returns, charges) => {
      const now = this.#now()
      const givenBack = byUnit(returns, await this.#store.refund(returns, now))
      const taken = byUnit(charges, await this.#store.charge(charges, now))
      return { givenBack, taken }
    })
    return reservation as Reservation
  }

  /** Takes a hold under the concurrency limits that apply. It renews itself until it is released or disposed. */
  async hold(request: Request<Scope>): Promise<Hold> {
    const hold = await this.#decide(
      { ...request, holdId: request.holdId ?? newHoldId() },
      HoldRecord,
    )
    hold.start({ renew: (ticket) => this.renew(ticket), release: (ticket) => this.release(ticket) })
    return hold as Hold
  }

  /** Makes a hold live on; its new expiry in milliseconds, or null: it has been lost. */
  async renew(
    hold: HoldTicket | (Request<Scope> & { readonly holdId: string }),
  ): Promise<number | null> {
    const expiry = await this.#store.renew(this.#placeOf(hold), this.#now())
    return expiry === 0 ? null : Math.floor(expiry / 1000)
  }

  /** Whether anything was held. Releasing twice frees nobody else's. */
  async release(
    hold: HoldTicket | (Request<Scope> & { readonly holdId: string }),
  ): Promise<boolean> {
    return this.#store.release(this.#placeOf(hold), this.#now())
  }

  #placeOf(hold: HoldTicket | (Request<Scope> & { readonly holdId: string })) {
    if (hold instanceof HoldTicket) return hold
    const id = shortText('holdId', hold.holdId)
    const { transaction } = this.#prepare(hold)
    const rows = transaction.rules.map((rule, i) => ({ rule, value: transaction.values[i]! }))
    return {
      id,
      rows: rows.filter(({ rule }) =>
        rule.limits.some((limit) => limit.numbers.kind === CONCURRENCY),
      ),
    }
  }

  /** Which rules apply and why, which do not, and what would be decided. Takes nothing. */
  async explain(request: Request<Scope>): Promise<Explanation> {
    const decision = await this.peek(request)
    const { transaction, plan, asked } = this.#prepare(request)
    const match = explainMatch(this.#rules, plan, asked, transaction.rules, transaction.now)
    const tiers: Record<string, string> = {}
    for (let i = 0; i < asked.count; i++) {
      const tier = this.#rules.tierOf(asked.scopes[i]!, asked)
      if (tier !== null) tiers[asked.scopes[i]!] = tier
    }
    const cost = { ...Object.fromEntries(plan.costs), ...asked.costs }
    if (asked.cost > 0) cost['requests'] = asked.cost
    const listed = decision.exempt || (!decision.allowed && decision.reason === 'blocked')
    const applied = listed ? { applied: [], setAside: [], absentScopes: [] } : match
    return { decision, ...applied, tiers, cost, revision: this.#revision }
  }

  /** Swaps the rules whole. What subjects have used carries over; throws with every fault, and then changes nothing. */
  setRules(rules: RulesDocument<Scope> | RuleSet): void {
    const next = rules instanceof RuleSet ? rules : RuleSet.compile(rules)
    if (next.namespace !== this.#rules.namespace)
      throw new SluiceError(
        'invalid_options',
        `the rules are of namespace ${next.namespace}, the limiter of ${this.#rules.namespace}`,
        { field: 'namespace' },
      )
    carryEffect(next, this.#rules, this.#now())
    this.#rules = next
    this.#revision++
    for (const scope of next.scopes) this.#scopes.add(scope)
    this.#store.use(next)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

type Maker<T extends DecisionRecord> = new (
  ...args: ConstructorParameters<typeof DecisionRecord>
) => T
const Decided: Maker<DecisionRecord> = DecisionRecord

const NOTHING: Transaction = {
  rules: [],
  values: [],
  costs: null,
  cost: 0,
  dryRun: false,
  holdId: '',
  idempotency: null,
  replayOf: null,
  now: 0,
}

function isSync(store: Store): store is SyncStore {
  return 'isSync' in store && store.isSync === true
}

function isVerdicts(answer: Answer<Verdicts>): answer is Verdicts {
  return Array.isArray(answer)
}

function unitsOf(amount: number | Units): Units {
  if (typeof amount === 'number')
    return { requests: wholeNumber('amount', amount, 0, 1_000_000_000) }
  readUnits(amount, 0)
  return amount
}
