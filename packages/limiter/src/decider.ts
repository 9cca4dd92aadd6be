/**
 * The life of a decision: request → rules that apply → one transaction → answer → decision. What
 * the store answers at once is decided without a promise. Hot code: what is read again and again is
 * kept, and nothing is allocated before the transaction.
 */

import type { LimitNumbers } from './algorithms/limit-numbers.js'
import { type Clock, microseconds } from './clock.js'
import type { State } from './decision.js'
import { DecisionRecord, FullDecisionRecord } from './decision-record.js'
import { SluiceError } from './errors.js'
import { CheckedRequest, type Request } from './request.js'
import { listedTransaction, transactionOf } from './request-transaction.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import type { Entry } from './rules/rule.js'
import type { RuleSet } from './rules/rule-set.js'
import { carryEffect } from './rules/succession.js'
import { drain, type Slices } from './slices.js'
import { Answer } from './stores/answer.js'
import {
  type Awaitable,
  IdempotencyConflict,
  IdempotencyInProgress,
  type Store,
  type TimedStore,
} from './stores/store.js'
import type { Moment, Transaction, TransactionRest } from './stores/transaction.js'
import { top, topLimit } from './top-limit.js'
import { WarningMemory } from './warning-memory.js'

export class Decider {
  rules: RuleSet
  readonly store: Store | TimedStore
  /** The store always answers at once. */
  readonly isSync: boolean
  isClosed = false
  /** Scopes stay known when the rules forget them: a change of rules must not turn good requests into bad ones. */
  readonly #scopes: Set<string>
  readonly #clock: Clock
  /** By when the store must answer what it is asked now; infinite if it answers at once. */
  readonly #deadline: () => number
  /** The same for transactions; nothing if it answers at once. */
  readonly #timing: Pick<TransactionRest, 'deadline'>
  readonly #asked = new CheckedRequest()
  readonly #warnings = new WarningMemory()
  /** Made once: a closure in `decide` would cost every call of it. */
  readonly #concludeLater = (answer: Answer): DecisionRecord => this.#conclude(answer)
  /** Counts the changes of rules that were in force. */
  revision = 0
  /** Counts those that were begun. */
  #changes = 0

  constructor(rules: RuleSet, store: Store | TimedStore, clock: Clock) {
    this.rules = rules
    this.store = store
    this.isSync = store.isSync === true
    this.#clock = clock
    this.#deadline = 'deadline' in store ? () => store.deadline() : () => Number.POSITIVE_INFINITY
    this.#timing = 'deadline' in store ? { deadline: this.#deadline } : {}
    this.#scopes = new Set()
    drain(this.use(rules))
  }

  /**
   * Puts these rules in force. What comes before and after may be done in slices; the change itself is one
   * step, so every decision is wholly under the old rules or wholly under the new. A later change wins:
   * one that it overtakes is given up. `since` is when they took effect, where that was before now.
   */
  *use(rules: RuleSet, since = Number.POSITIVE_INFINITY): Slices<void> {
    const change = ++this.#changes
    const changed = yield* carryEffect(rules, this.revision === 0 ? null : this.rules)
    if (change !== this.#changes) return
    this.#takeEffect(rules, changed, since)
    const rest = this.store.use(rules)
    if (rest !== undefined) yield* rest
  }

  #takeEffect(rules: RuleSet, changed: readonly LimitNumbers[], since: number): void {
    const effect = Math.min(since, this.now())
    for (const numbers of changed) numbers.since = effect
    this.rules = rules
    this.revision++
    for (const scope of rules.scopes) this.#scopes.add(scope)
  }

  /** Microseconds. */
  now(): number {
    return microseconds(this.#clock())
  }

  /** Now, and by when the store must have answered. */
  moment(): Moment {
    return { now: this.now(), deadline: this.#deadline() }
  }

  /** The checked request; good until the next one is read. */
  read(request: Request): CheckedRequest {
    if (this.isClosed) throw new SluiceError('closed', 'the limiter was closed')
    this.#asked.read(request, this.rules, this.#scopes)
    return this.#asked
  }

  /** What a request would ask of the store, without asking. */
  prepare(request: Request): { transaction: Transaction; asked: CheckedRequest } {
    const asked = this.read(request)
    const now = this.now()
    const matched = this.rules.match(asked, now)
    const dryRun = { ...request, dryRun: true }
    return { transaction: transactionOf(dryRun, asked, matched, now, this.#timing), asked }
  }

  /** What has become of the rules of an earlier decision. */
  inForceAt(now: number): (rule: CompiledRule, value: string) => CompiledRule | undefined {
    return (rule, value) => this.rules.inForce(rule, value, now)
  }

  decide(request: Request): Awaitable<DecisionRecord> {
    const asked = this.read(request)
    if (request.signal !== undefined) request.signal.throwIfAborted()
    const rules = this.rules
    const now = this.now()
    if (rules.hasLists) {
      const listed = this.#listed(asked, now)
      if (listed !== null) return listed
    }
    const matched = rules.match(asked, now)
    const transaction = transactionOf(request, asked, matched, now, this.#timing)
    if (matched.length === 0)
      return new DecisionRecord(Answer.open(transaction, now, true), -1, 0, 'normal')
    const answer =
      transaction.idempotency === null
        ? this.store.decide(transaction)
        : this.#decideOnce(transaction)
    if (answer instanceof Answer) return this.#conclude(answer)
    return answer.then(this.#concludeLater)
  }

  #decideOnce(transaction: Transaction): Awaitable<Answer> {
    try {
      const answer = this.store.decide(transaction)
      return answer instanceof Answer ? answer : answer.catch(refuseConflict)
    } catch (error) {
      return refuseConflict(error)
    }
  }

  #conclude(answer: Answer): DecisionRecord {
    topLimit(answer)
    const { rule, limit } = top
    let state: State = 'normal'
    if (!answer.allowed) state = 'throttled'
    else if (rule >= 0) {
      const { rules, values, dryRun } = answer.transaction
      const { family } = rules[rule]!
      if (this.#warnings.warns(family, values[rule]!, top.left, dryRun)) state = 'warning'
    }
    return new DecisionRecord(answer, rule, limit, state)
  }

  /** A block refuses before anything else; an exemption lets through all rules. */
  #listed(asked: CheckedRequest, now: number): DecisionRecord | null {
    const { blocks, exemptions } = this.rules
    for (const list of [blocks, exemptions]) {
      if (list.isEmpty) continue
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
        const isBlocked = list === blocks
        const answer = Answer.open(listedTransaction(value, now), now, !isBlocked)
        return new FullDecisionRecord(answer, -1, 0, isBlocked ? 'throttled' : 'normal', entry)
      }
    }
    return null
  }
}

function refuseConflict(error: unknown): never {
  if (error instanceof IdempotencyInProgress)
    throw new SluiceError(
      'idempotency_in_progress',
      'the request with this idempotencyKey is still being decided; ask again in a moment',
      { field: 'idempotencyKey' },
    )
  if (!(error instanceof IdempotencyConflict)) throw error
  throw new SluiceError(
    'idempotency_conflict',
    'idempotencyKey was used within 5 minutes for another request',
    {
      field: 'idempotencyKey',
    },
  )
}
