/**
 * Rules in shards over a store whose rows each have one place: the load of one hot row on several of them.
 * Each shard is a row with its part of every limit, so whatever the choice, no more is admitted than the
 * limit; choosing well is what keeps anything from being stranded. Rules without shards pass through.
 */

import type { Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import type { LeaseAnswer, LeaseAsk, LeasingStore } from '../leased/lease-port.js'
import {
  ALLOWED,
  type Answer,
  DEGRADED,
  type HoldPlace,
  type LimitChange,
  type Return,
  type StoreFailure,
  type Transaction,
  type Undone,
  type Verdicts,
} from '../store.js'
import { LevelBook } from './level-book.js'
import { look } from './look.js'
import {
  type Answered,
  answerAgain,
  ask,
  deniersOf,
  mayBeSplit,
  type Place,
  Places,
  type Random,
} from './place.js'
import { present } from './presented.js'
import { ShardChanges } from './shard-changes.js'
import { leaseFromShards } from './shard-leases.js'
import { ShardReturns } from './shard-returns.js'
import { ShardRules } from './sharded-rule.js'
import { type Patience, TimeLimit } from './time-limit.js'

/** How many more shards are asked where the first denies. */
const MOST_MORE = 2

export interface ShardedStoreOptions {
  /** How long a decision may take, whatever it asks. */
  readonly deadlineMs: number
  readonly random?: Random
}

export class ShardedStore implements LeasingStore {
  readonly isSync = false
  readonly #inner: LeasingStore
  readonly #rules = new ShardRules()
  readonly #places: Places
  readonly #timeLimit: TimeLimit
  readonly #returns: ShardReturns
  readonly #changes: ShardChanges

  constructor(inner: LeasingStore, { deadlineMs, random }: ShardedStoreOptions) {
    this.#inner = inner
    this.#places = new Places(this.#rules, new LevelBook(), random ?? Math.random)
    this.#timeLimit = new TimeLimit(deadlineMs)
    this.#returns = new ShardReturns(inner, this.#rules)
    this.#changes = new ShardChanges(inner, this.#places)
  }

  consume(transaction: Transaction, since?: number): Answer<Verdicts> {
    if (!mayBeSplit(transaction.rules)) return this.#inner.consume(transaction, since)
    return this.#consume(transaction, since)
  }

  async #consume(transaction: Transaction, since?: number): Promise<Verdicts> {
    const places = this.#places.of(transaction)
    if (places.length === 0) return this.#inner.consume(transaction, since)
    if (transaction.dryRun) return look(this.#inner, this.#places, transaction, places)
    const patience = this.#timeLimit.begin()
    try {
      return await this.#take(transaction, places, patience, since ?? performance.now())
    } finally {
      patience.end()
    }
  }

  async #take(
    transaction: Transaction,
    chosen: readonly Place[],
    patience: Patience,
    since: number,
  ): Promise<Verdicts> {
    let places = chosen
    let answer = await this.#ask(transaction, places, since)
    for (let more = 0; more < MOST_MORE && answer.verdicts[ALLOWED] !== 1; more++) {
      const others = this.#elsewhere(transaction, places, answer.verdicts)
      if (others === null) break
      const asking = this.#ask(transaction, others, since)
      const next = await patience.wait(asking, (late) => this.#undo(transaction, late))
      // Not in time, or not at all: the no that there is stands.
      if (next === null || isLost(next.verdicts)) break
      places = others
      answer = next
    }
    if (!answerAgain(transaction, answer)) present(places, answer.verdicts)
    return answer.verdicts
  }

  #ask(transaction: Transaction, places: readonly Place[], since: number): Promise<Answered> {
    return ask(this.#inner, this.#places, transaction, places, since)
  }

  /** Other shards for those that denied, which should have room; null unless that could help. */
  #elsewhere(
    transaction: Transaction,
    places: readonly Place[],
    verdicts: Verdicts,
  ): Place[] | null {
    const deniers = new Set(deniersOf(transaction, verdicts))
    const moved = places.map((place) => {
      if (!deniers.delete(place.index)) return place
      if (place.rule.isTooExpensive(place.cost)) return null
      const shard = this.#next(place, transaction.now)
      return shard < 0 ? null : { ...place, shard, tried: [...place.tried, shard] }
    })
    const isHelpless = deniers.size > 0 || moved.includes(null)
    return isHelpless ? null : (moved as Place[])
  }

  /** Of those that were not tried the one that said last that it would have room by now, else the fullest; -1 if none should have. */
  #next({ rule, levels, cost, tried }: Place, asked: number): number {
    const now = this.#places.now(asked)
    let [next, latest, most] = [-1, 0, cost]
    for (let shard = 0; shard < rule.count; shard++) {
      if (tried.includes(shard)) continue
      const room = levels.room(shard, cost, now)
      const promisedAt = levels.promisedAt(shard, cost, now)
      const isFuller = next < 0 ? room >= most : room > most
      if (promisedAt < latest || (promisedAt === latest && !isFuller)) continue
      ;[next, latest, most] = [shard, promisedAt, room]
    }
    return next
  }

  /** A take that nobody waits for any more. Of one under a key the record says so, and it is answered when asked again. */
  #undo({ idempotency }: Transaction, { asked, verdicts }: Answered): void {
    if (idempotency === null) this.#returns.undo(asked, verdicts)
  }

  refund(returns: readonly Return[], now: number): Answer<number[] | Undone> {
    return this.#returns.refund(returns, now)
  }

  grant(changes: readonly LimitChange[], now: number): Answer<number[] | Undone> {
    if (!mayBeSplit(changes.map(({ rule }) => rule))) return this.#inner.grant(changes, now)
    return this.#changes.grant(changes, now)
  }

  charge(changes: readonly LimitChange[], now: number): Answer<number[] | Undone> {
    if (!mayBeSplit(changes.map(({ rule }) => rule))) return this.#inner.charge(changes, now)
    return this.#changes.charge(changes, now)
  }

  /** A row is one, however many shards it has. */
  async reset(
    rows: readonly { readonly family: Family; readonly value: string }[],
    now: number,
  ): Promise<number | Undone> {
    const whole = rows.filter(({ family }) => family.shards === 1)
    const split = rows.filter(({ family }) => family.shards > 1)
    const counts = await Promise.all([
      ...(whole.length === 0 ? [] : [this.#inner.reset(whole, now)]),
      ...split.map(async ({ family, value }) => {
        // Whoever's limits cannot be split counts in the whole row.
        const families = [family, ...this.#rules.familiesOf(family)]
        const used = await this.#inner.reset(
          families.map((each) => ({ family: each, value })),
          now,
        )
        return typeof used === 'number' ? Math.min(1, used) : used
      }),
    ])
    const undone = counts.filter((count) => typeof count !== 'number')
    if (undone.length === 0) return (counts as number[]).reduce((sum, count) => sum + count, 0)
    return undone.length === counts.length && undone.every((why) => why === 'not_done')
      ? 'not_done'
      : 'unknown'
  }

  renew(hold: HoldPlace, now: number): Answer<number | Undone> {
    return this.#inner.renew(hold, now)
  }

  release(hold: HoldPlace, now: number): Answer<boolean | Undone> {
    return this.#inner.release(hold, now)
  }

  lease(
    ask: LeaseAsk,
    answered: (answer: LeaseAnswer) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const rule = this.#rules.of(ask.rule)
    if (rule === null) this.#inner.lease(ask, answered, failed)
    else leaseFromShards(this.#inner, this.#places, rule, ask, answered, failed)
  }

  use(rules: RuleSet): Slices<void> | void {
    return this.#inner.use(rules)
  }

  close(): Answer<void> {
    return this.#inner.close()
  }
}

/** A no for want of a store. */
function isLost(verdicts: Verdicts): boolean {
  return verdicts[ALLOWED] !== 1 && verdicts[DEGRADED] !== 0
}
