/**
 * The life of a decision: request → rules that apply → one transaction → verdicts → decision. Whatever
 * the store answers at once is decided without a promise. Hot code: what is read again and again is
 * kept, and nothing is allocated before the transaction.
 */

import type { LimitNumbers } from './algorithms/limit-numbers.js'
import { type Clock, microseconds } from './clock.js'
import type { State } from './decision.js'
import { DecisionRecord } from './decision-record.js'
import { SluiceError } from './errors.js'
import { CheckedRequest, type Request } from './request.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import type { Entry } from './rules/rule.js'
import type { RuleSet } from './rules/rule-set.js'
import { carryEffect } from './rules/succession.js'
import { drain, type Slices } from './slices.js'
import {
  ALLOWED,
  type Answer,
  IdempotencyConflict,
  IdempotencyInProgress,
  type Store,
  type Transaction,
  type Verdicts,
} from './stores/store.js'
import { top, topLimit } from './top-limit.js'
import { nothingOf, transactionOf } from './transaction.js'
import { WarningMemory } from './warning-memory.js'

export class Decider {
  rules: RuleSet
  readonly store: Store
  /** The store always answers at once. */
  readonly isSync: boolean
  isClosed = false
  /** Scopes stay known when the rules forget them: a change of rules must not turn good requests into bad ones. */
  readonly #scopes: Set<string>
  readonly #clock: Clock
  readonly #asked = new CheckedRequest()
  readonly #warnings = new WarningMemory()
  /** Counts the changes of rules that were in force. */
  revision = 0
  /** Counts those that were begun. */
  #changes = 0

  constructor(rules: RuleSet, store: Store, clock: Clock) {
    this.rules = rules
    this.store = store
    this.isSync = store.isSync === true
    this.#clock = clock
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
    return { transaction: transactionOf({ ...request, dryRun: true }, asked, matched, now), asked }
  }

  /** What has become of the rules of an earlier decision. */
  inForceAt(now: number): (rule: CompiledRule, value: string) => CompiledRule | undefined {
    return (rule, value) => this.rules.inForce(rule, value, now)
  }

  decide(request: Request): Answer<DecisionRecord> {
    const asked = this.read(request)
    if (request.signal !== undefined) request.signal.throwIfAborted()
    const rules = this.rules
    const now = this.now()
    if (rules.hasLists) {
      const listed = this.#listed(asked, now)
      if (listed !== null) return listed
    }
    const matched = rules.match(asked, now)
    const transaction = transactionOf(request, asked, matched, now)
    if (matched.length === 0)
      return new DecisionRecord(transaction, [1, now, 0], -1, 0, 'normal', null)
    const verdicts =
      transaction.idempotency === null
        ? this.store.consume(transaction)
        : this.#consumeOnce(transaction)
    if (isVerdicts(verdicts)) return this.#conclude(transaction, verdicts)
    return verdicts.then((v) => this.#conclude(transaction, v))
  }

  #consumeOnce(transaction: Transaction): Answer<Verdicts> {
    try {
      const answer = this.store.consume(transaction)
      return isVerdicts(answer) ? answer : answer.catch(refuseConflict)
    } catch (error) {
      return refuseConflict(error)
    }
  }

  #conclude(transaction: Transaction, verdicts: Verdicts): DecisionRecord {
    const { rules, values } = transaction.replayOf ?? transaction
    topLimit(rules, verdicts)
    const { rule, at } = top
    let state: State = 'normal'
    if (verdicts[ALLOWED] !== 1) state = 'throttled'
    else if (rule >= 0) {
      const { dryRun } = transaction
      const { family } = rules[rule]!
      if (this.#warnings.warns(family, values[rule]!, top.left, dryRun)) state = 'warning'
    }
    return new DecisionRecord(transaction, verdicts, rule, at, state, null)
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
        const transaction = nothingOf(value, now)
        if (list === blocks)
          return new DecisionRecord(transaction, [0, now, 0], -1, 0, 'throttled', entry)
        return new DecisionRecord(transaction, [1, now, 0], -1, 0, 'normal', entry)
      }
    }
    return null
  }
}

function isVerdicts(answer: Answer<Verdicts>): answer is Verdicts {
  return Array.isArray(answer)
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
