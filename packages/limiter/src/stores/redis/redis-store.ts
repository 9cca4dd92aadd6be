/**
 * Counters in Redis, shared by any number of processes. Whatever is asked in one turn of the event loop
 * goes in one call of a script, per slot in a cluster, and is decided by the server's clock. What Redis
 * does not answer is answered by the safeguard.
 */

import { randomUUID } from 'node:crypto'
import type { Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import type { LeaseAnswer, LeaseAsk, LeasingStore } from '../leased/lease-port.js'
import {
  type Answer,
  DEGRADED,
  type HoldPlace,
  type LimitChange,
  type Return,
  StoreFailure,
  type Transaction,
  type Undone,
  undoneBy,
  type Verdicts,
} from '../store.js'
import {
  BEAT,
  CHARGE,
  GRANT,
  type Item,
  RAISE,
  REFUND,
  RELEASE,
  RENEW,
  RESET,
} from './change-arguments.js'
import { ChangeLine, refundItem } from './change-line.js'
import { ClusterConsume } from './cluster-consume.js'
import { ConsumeLine } from './consume-line.js'
import { type Keys, slotOf } from './keys.js'
import { Places } from './places.js'
import type { RedisPort } from './redis-client.js'
import { Replays } from './replays.js'
import { RuleLayout } from './rule-layout.js'
import type { Safeguard } from './safeguard.js'
import { ScriptCalls } from './script-calls.js'
import { StoreClock } from './store-clock.js'

export interface RedisStoreParts {
  readonly port: RedisPort
  readonly safeguard: Safeguard
  readonly keys: Keys
  readonly deadlineMs: number
  readonly clock: StoreClock
}

export class RedisStore implements LeasingStore {
  readonly isSync = false
  readonly #id = randomUUID()
  readonly #safeguard: Safeguard
  readonly #places: Places
  readonly #calls: ScriptCalls
  readonly #line: ConsumeLine
  readonly #changes: ChangeLine
  readonly #cluster: ClusterConsume
  /** What Redis has to be told before it is asked. */
  readonly #owed: LimitChange[] = []
  readonly #stopHearing: () => void

  constructor({ port, safeguard, keys, deadlineMs, clock }: RedisStoreParts) {
    this.#safeguard = safeguard
    this.#stopHearing = port.onReconnect(() => safeguard.reconnected())
    const places = new Places(keys, port.isCluster)
    const calls = new ScriptCalls(port, safeguard)
    const replays = new Replays(places)
    const split = (transaction: Transaction) => this.#cluster.consume(transaction)
    const changes = new ChangeLine(calls, places, clock, safeguard)
    const line = new ConsumeLine({
      calls,
      places,
      clock,
      replays,
      safeguard,
      deadlineMs,
      split,
      create: (key, layout, now) => changes.create(key, layout, now),
      beforeSending: (now) => this.#tellOwed(now),
    })
    this.#places = places
    this.#calls = calls
    this.#line = line
    this.#changes = changes
    this.#cluster = new ClusterConsume({ line, changes, places, replays, safeguard, deadlineMs })
  }

  /** Calls of Redis since the start. */
  get calls(): number {
    return this.#calls.count
  }

  *use(rules: RuleSet): Slices<void> {
    this.#places.rules.set(rules.namespace, rules)
    const rest = this.#safeguard.local.use(rules)
    if (rest !== undefined) yield* rest
  }

  close(): Answer<void> {
    this.#stopHearing()
    return this.#safeguard.local.close()
  }

  consume(transaction: Transaction, since?: number): Answer<Verdicts> {
    const refusal = this.#safeguard.refuses(transaction)
    if (refusal !== null) return this.#safeguard.decide(transaction, refusal)
    for (const owed of this.#safeguard.owed(transaction)) this.#owed.push(owed)
    return this.#places.isCluster
      ? this.#cluster.consume(transaction, since)
      : this.#line.ask(transaction, 0, since)
  }

  lease(
    ask: LeaseAsk,
    answered: (answer: LeaseAnswer) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const transaction = leaseTransaction(ask)
    const isUsual = this.#safeguard.state === 'closed'
    const refusal = isUsual ? this.#safeguard.refuses(transaction) : 'breaker_open'
    if (refusal !== null) return failed(new StoreFailure(refusal, false))
    for (const owed of this.#safeguard.owed(transaction)) this.#owed.push(owed)
    this.#line.lease(ask, transaction, answered, failed as (failure: unknown) => void)
  }

  /** Before anything else is sent: what was used without Redis. */
  #tellOwed(now: number): void {
    if (this.#owed.length === 0) return
    // Of one counter the most that was used says it all.
    const most = new Map<string, LimitChange>()
    for (const change of this.#owed.splice(0)) {
      const { rule, limit, value, amount } = change
      const key = `${rule.name} ${limit.id} ${rule.family.key} ${value}`
      if (amount >= (most.get(key)?.amount ?? 0)) most.set(key, change)
    }
    this.#changes.changeLimits(RAISE, [...most.values()], now).catch(() => {})
  }

  /** What one decision took is all here or all there. */
  async refund(returns: readonly Return[], now: number): Promise<number[] | Undone> {
    const isLocal = returns.some(({ verdicts }) => verdicts[DEGRADED] !== 0)
    if (isLocal) return this.#safeguard.local.refund(returns, now)
    return this.#attempt(REFUND, returns, now, refundItem)
  }

  grant(changes: readonly LimitChange[], now: number): Promise<number[] | Undone> {
    return this.#attempt(GRANT, changes, now)
  }

  charge(changes: readonly LimitChange[], now: number): Promise<number[] | Undone> {
    return this.#attempt(CHARGE, changes, now)
  }

  async #attempt<C extends LimitChange>(
    code: number,
    changes: readonly C[],
    now: number,
    item?: (change: C) => Item,
  ): Promise<number[] | Undone> {
    try {
      return await this.#changes.changeLimits(code, changes, now, item)
    } catch (error) {
      return undoneBy(error)
    }
  }

  async reset(
    rows: readonly { readonly family: Family; readonly value: string }[],
    now: number,
  ): Promise<number | Undone> {
    const operations = rows.map(({ family, value }) => ({
      code: RESET,
      slot: this.#places.slotOfRow(family, value),
      key: this.#places.rowKey(family, value),
      layout: RuleLayout.ofFamily(family),
      texts: [],
      items: [],
    }))
    try {
      const used = await this.#changes.run(operations, now)
      await this.#safeguard.local.reset(rows, now)
      return used.filter(([each]) => each === 1).length
    } catch (error) {
      const undone = undoneBy(error)
      if (undone === 'unknown') await this.#safeguard.local.reset(rows, now)
      return undone
    }
  }

  async renew(hold: HoldPlace, now: number): Promise<number | Undone> {
    const local = await this.#safeguard.local.renew(hold, now)
    if (hold.isDegraded === true || local !== 0) return local
    try {
      const expiries = await this.#changes.changeHolds(RENEW, hold, now)
      return expiries.length === 0 ? 0 : Math.min(...expiries)
    } catch (error) {
      return undoneBy(error)
    }
  }

  async release(hold: HoldPlace, now: number): Promise<boolean | Undone> {
    const local = await this.#safeguard.local.release(hold, now)
    // Redis may have taken a hold that it did not answer for in time.
    try {
      const released = await this.#changes.changeHolds(RELEASE, hold, now)
      return local === true || released.some((each) => each > 0)
    } catch (error) {
      const undone = undoneBy(error)
      return local === true && undone !== 'unknown' ? true : undone
    }
  }

  /** Says that this instance is there, and finds out how many are. */
  async beat(): Promise<void> {
    const [namespace] = this.#places.rules.keys() as Iterable<string> as [string]
    const key = this.#places.keys.instances(namespace)
    const slot = this.#places.isCluster ? slotOf(namespace) : 0
    try {
      const beat = { code: BEAT, slot, key, layout: null, texts: [this.#id], items: [] }
      const [count] = await this.#changes.run([beat], 1000 * Date.now())
      this.#safeguard.counted(count![0] as number)
    } catch {
      // The next one may get through.
    }
  }
}

/** A lease, where it is looked at as a transaction: its row, and nothing to take. */
function leaseTransaction({ rule, value, now }: LeaseAsk): Transaction {
  return {
    rules: [rule],
    values: [value],
    costs: null,
    cost: 0,
    dryRun: false,
    holdId: '',
    idempotency: null,
    replayOf: null,
    now,
  }
}
