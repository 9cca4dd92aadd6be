/**
 * A store that decides from memory. For rows that are asked for often it holds tokens which the store below
 * has granted ahead of time, and spends them without asking; the sum over all instances never exceeds the
 * limit, because what is leased counts as taken until it is reported (algorithms/leases.ts). Everything
 * else is passed on.
 *
 * What holds here:
 * - Both clocks are read in the turn that spends; a lease that has ended by either is not spent.
 * - A report is sent at most once. If nobody knows whether it was heard, what was to be given back is gone,
 *   what was asked for was not granted, and what was reported stays reported.
 * - At most one lease is asked for at a time of a row. Those who find nothing to spend meanwhile wait for
 *   its answer, and for the next one if that was not enough, until the deadline that they would have had
 *   anyway. Near the limit a call's worth of them asks for itself, and a no answers the others.
 */
import { VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import {
  ALLOWED,
  type Answer,
  costOf,
  DECIDED_AT,
  DEGRADED,
  FIRST_VERDICT,
  type HoldPlace,
  type LimitChange,
  partOf,
  type Return,
  type Store,
  type Transaction,
  type Undone,
  type Verdicts,
} from '../store.js'
import { newVerdicts } from '../verdicts.js'
import type { Holding } from './holding.js'
import { LeaseCalls } from './lease-calls.js'
import type { LeasingStore } from './lease-port.js'
import { LeaseTally } from './lease-tally.js'
import type { LeaseTime } from './lease-time.js'
import type { LeasedRow } from './leased-row.js'
import { LeasedRows } from './leased-rows.js'
import { type Rest, type Stand, settle, untakeAll, whole, wouldBe } from './stands.js'

/** How often rates are reckoned and what is not needed is given back, in milliseconds. */
const BEAT_MS = 20

export interface LeasedStoreParts {
  readonly inner: LeasingStore
  readonly time: LeaseTime
  /** Rules are leased unless they say otherwise. */
  readonly isUsual: boolean
  /** The longest that a denial may be remembered, in milliseconds. */
  readonly mostDeniedMs: number
  /** How long a decision may wait for the store, in milliseconds. */
  readonly deadlineMs: number
}

export class LeasedStore implements Store {
  readonly isSync = false
  readonly tally = new LeaseTally()
  readonly #inner: LeasingStore
  readonly #time: LeaseTime
  readonly #mostDeniedMs: number
  readonly #rows: LeasedRows
  readonly #calls: LeaseCalls
  #stopBeat: (() => void) | null = null
  #isClosed = false

  constructor({ inner, time, isUsual, mostDeniedMs, deadlineMs }: LeasedStoreParts) {
    this.#inner = inner
    this.#time = time
    this.#mostDeniedMs = mostDeniedMs
    this.#rows = new LeasedRows(isUsual)
    this.#calls = new LeaseCalls(inner, time, this.tally, deadlineMs)
  }

  consume(transaction: Transaction): Answer<Verdicts> {
    if (transaction.idempotency !== null && !transaction.dryRun)
      return this.#inner.consume(transaction)
    return this.#decide(transaction, transaction.now, undefined, true)
  }

  /** At this time by the wall clock: who has waited comes later than he asked. `since`: since when, by the steady one. */
  #decide(
    transaction: Transaction,
    wall: number,
    since: number | undefined,
    mayWait: boolean,
  ): Answer<Verdicts> {
    const { rules, dryRun, costs } = transaction
    if (rules.length === 1 && !dryRun && costs === null)
      return this.#consumeOne(transaction, wall, since, mayWait)
    return this.#consumeSeveral(transaction, wall, since, mayWait)
  }

  #consumeOne(
    transaction: Transaction,
    wall: number,
    since: number | undefined,
    mayWait: boolean,
  ): Answer<Verdicts> {
    const { rules, values, cost } = transaction
    const row = this.#rowOf(rules[0]!, values[0]!)
    if (row === null) return this.#inner.consume(transaction, since)
    const steady = this.#time.steady()
    if (since === undefined) row.count(cost)
    const holding = row.take(cost, steady, wall)
    if (holding !== null) {
      holding.spent += cost
      this.tally.local++
      this.tally.spent += cost
      if (row.isLow(steady)) this.#calls.ask(row, wall, steady)
      return this.#spent(row, holding, wall)
    }
    if (row.denial.holds(cost, steady, wall)) {
      this.tally.local++
      return this.#denied(row, wall)
    }
    if (row.isCalling && mayWait) return this.#wait(row, transaction, cost, since ?? steady)
    this.#noteAsked(row.hasHoldings)
    this.#calls.giveBack(row, row.unspent, steady, wall)
    const answer = this.#inner.consume(transaction, since ?? steady)
    if (since === undefined && !row.isCalling && !row.isTight(steady))
      this.#calls.ask(row, wall, steady)
    return this.#heard(answer, (verdicts) =>
      row.decided(cost, verdicts, FIRST_VERDICT, { steady, wall }, this.#mostDeniedMs),
    )
  }

  #spent(row: LeasedRow, holding: Holding, wall: number): Verdicts {
    const at = this.#time.storeTime(wall)
    const out = newVerdicts(row.rule.limits.length)
    out[ALLOWED] = 1
    out[DECIDED_AT] = at
    out[DEGRADED] = 0
    row.writeTaken(holding, at, out, FIRST_VERDICT)
    return out
  }

  #denied(row: LeasedRow, wall: number): Verdicts {
    const out = newVerdicts(row.rule.limits.length)
    out[ALLOWED] = row.rule.shadow ? 1 : 0
    out[DECIDED_AT] = this.#time.storeTime(wall)
    out[DEGRADED] = 0
    row.denial.write(out[DECIDED_AT], out, FIRST_VERDICT)
    return out
  }

  /** Takes what it holds for some rules, asks for the others, and gives back what it took if those say no. */
  #consumeSeveral(
    transaction: Transaction,
    wall: number,
    since: number | undefined,
    mayWait: boolean,
  ): Answer<Verdicts> {
    const { rules, values, dryRun } = transaction
    const rows: (LeasedRow | null)[] = []
    for (let i = 0; i < rules.length; i++) rows.push(this.#rowOf(rules[i]!, values[i]!))
    if (rows.every((row) => row === null)) return this.#inner.consume(transaction, since)
    const steady = this.#time.steady()
    if (since === undefined && !dryRun)
      for (let i = 0; i < rows.length; i++) rows[i]?.count(costOf(transaction, i))
    if (!dryRun) {
      const verdicts = this.#spendAll(transaction, rows, steady, wall)
      if (verdicts !== null) return verdicts
    }
    const stands = rows.map((row, i): Stand => {
      const cost = costOf(transaction, i)
      if (row === null) return { row, holding: null, isDenied: false }
      const holding = row.take(cost, steady, wall)
      return { row, holding, isDenied: holding === null && row.denial.holds(cost, steady, wall) }
    })
    if (dryRun) untakeAll(transaction, stands)
    const asked = [...rules.keys()].filter((i) => stands[i]!.holding === null)
    const isKnown = asked.every((i) => stands[i]!.isDenied)
    if (isKnown) {
      this.tally.local++
      const allowed = asked.every((i) => rules[i]!.shadow)
      const known = { allowed, at: this.#time.storeTime(wall), degraded: 0, verdicts: null }
      return this.#conclude(transaction, stands, known)
    }
    const busy = asked.find((i) => stands[i]!.row?.isCalling === true)
    if (busy !== undefined && mayWait && !dryRun) {
      untakeAll(transaction, stands)
      const cost = costOf(transaction, busy)
      return this.#wait(stands[busy]!.row!, transaction, cost, since ?? steady)
    }
    return this.#askSome(transaction, stands, asked, wall, since ?? steady)
  }

  /** All of it is held: most requests. Null, and nothing is taken, where that is not so. */
  #spendAll(
    transaction: Transaction,
    rows: readonly (LeasedRow | null)[],
    steady: number,
    wall: number,
  ): Verdicts | null {
    const { rules } = transaction
    const held: Holding[] = []
    let limits = 0
    for (let i = 0; i < rows.length; i++) {
      const holding = rows[i]?.take(costOf(transaction, i), steady, wall) ?? null
      if (holding === null) {
        for (let j = 0; j < i; j++) rows[j]!.untake(held[j]!, costOf(transaction, j))
        return null
      }
      held.push(holding)
      limits += rules[i]!.limits.length
    }
    const at = this.#time.storeTime(wall)
    const out = newVerdicts(limits)
    out[ALLOWED] = 1
    out[DECIDED_AT] = at
    out[DEGRADED] = 0
    this.tally.local++
    let o = FIRST_VERDICT
    for (let i = 0; i < rows.length; i++) {
      const [row, holding, cost] = [rows[i]!, held[i]!, costOf(transaction, i)]
      holding.spent += cost
      this.tally.spent += cost
      if (row.isLow(steady)) this.#calls.ask(row, wall, steady)
      row.writeTaken(holding, at, out, o)
      o += rules[i]!.limits.length * VERDICT_WIDTH
    }
    return out
  }

  #askSome(
    transaction: Transaction,
    stands: readonly Stand[],
    asked: readonly number[],
    wall: number,
    since: number,
  ): Answer<Verdicts> {
    const { dryRun } = transaction
    const steady = this.#time.steady()
    const rows = asked.flatMap((i) => stands[i]!.row ?? [])
    if (!dryRun) {
      this.#noteAsked(rows.some((row) => row.hasHoldings))
      for (const row of rows) this.#calls.giveBack(row, row.unspent, steady, wall)
    }
    const part = asked.length === stands.length ? transaction : partOf(transaction, asked)
    const answer = this.#inner.consume(part, since)
    if (!dryRun)
      for (const row of rows)
        if (!row.isCalling && !row.isTight(steady)) this.#calls.ask(row, wall, steady)
    const conclude = (verdicts: Verdicts): Verdicts => {
      let at = FIRST_VERDICT
      for (const i of asked) {
        const cost = costOf(transaction, i)
        stands[i]!.row?.decided(cost, verdicts, at, { steady, wall }, this.#mostDeniedMs)
        at += transaction.rules[i]!.limits.length * VERDICT_WIDTH
      }
      if (asked.length === stands.length && !dryRun) return verdicts
      return this.#conclude(transaction, stands, {
        allowed: verdicts[ALLOWED] === 1,
        at: verdicts[DECIDED_AT]!,
        degraded: verdicts[DEGRADED]!,
        verdicts,
      })
    }
    if (!(answer instanceof Promise)) return conclude(answer)
    return answer.then(conclude, (error: unknown) => {
      if (!dryRun) untakeAll(transaction, stands)
      throw error
    })
  }

  #conclude(transaction: Transaction, stands: readonly Stand[], answer: Rest): Verdicts {
    if (transaction.dryRun) return wouldBe(transaction, stands, answer)
    this.tally.spent += settle(transaction, stands, answer.allowed)
    return whole(transaction, stands, answer)
  }

  #wait(row: LeasedRow, transaction: Transaction, cost: number, since: number): Promise<Verdicts> {
    // The caller's clock may be another than this one; both go on.
    const ahead = this.#time.wall() - transaction.now
    return new Promise((resolve, reject) => {
      const again = (mayWait: boolean) => {
        try {
          const wall = this.#time.wall() - ahead
          resolve(this.#decide(transaction, wall, since, mayWait))
        } catch (error) {
          reject(error)
        }
      }
      row.waiting.push({ again, cost, since, ahead })
    })
  }

  #heard(answer: Answer<Verdicts>, hear: (verdicts: Verdicts) => void): Answer<Verdicts> {
    if (!(answer instanceof Promise)) {
      hear(answer)
      return answer
    }
    return answer.then((verdicts) => {
      hear(verdicts)
      return verdicts
    })
  }

  /** A decision goes to the store, though something was held for it, or not. */
  #noteAsked(isEmpty: boolean): void {
    this.tally.asked++
    if (isEmpty) this.tally.empty++
  }

  #rowOf(rule: CompiledRule, value: string): LeasedRow | null {
    if (this.#isClosed) return null
    const row = this.#rows.find(rule, value, this.#time)
    if (this.#stopBeat === null && this.#rows.isLeasable(rule))
      this.#stopBeat = this.#time.every(BEAT_MS, () => this.#beat())
    return row
  }

  #beat(): void {
    const [steady, wall] = [this.#time.steady(), this.#time.wall()]
    this.#rows.beat(steady, (row) => {
      this.#calls.release(row, steady)
      if (row.isCalling) return
      const back = row.excess(steady)
      if (back > 0 || row.hasEnded(steady, wall)) this.#calls.call(row, 0, back, steady, wall)
    })
    this.tally.rows = this.#rows.held
    if (!this.#rows.isIdle) return
    this.#stopBeat?.()
    this.#stopBeat = null
  }

  *use(rules: RuleSet): Slices<void> {
    this.#calls.leave(this.#rows.removeChanged(rules))
    const rest = this.#inner.use(rules)
    if (rest !== undefined) yield* rest
  }

  /** What is held is given back, also what is just being granted; heard or not, within the deadline of a call. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopBeat?.()
    this.#calls.leave(this.#rows.removeAll())
    await this.#calls.settled()
    await this.#inner.close()
  }

  refund(returns: readonly Return[], now: number): Answer<number[] | Undone> {
    this.#forgetDenials(returns)
    return this.#inner.refund(returns, now)
  }

  grant(changes: readonly LimitChange[], now: number): Answer<number[] | Undone> {
    this.#forgetDenials(changes)
    return this.#inner.grant(changes, now)
  }

  #forgetDenials(changes: readonly LimitChange[]): void {
    for (const { rule, value } of changes) this.#rows.get(rule, value)?.denial.forget()
  }

  charge(changes: readonly LimitChange[], now: number): Answer<number[] | Undone> {
    return this.#inner.charge(changes, now)
  }

  reset(
    rows: readonly { readonly family: Family; readonly value: string }[],
    now: number,
  ): Answer<number | Undone> {
    for (const { family, value } of rows)
      for (const row of this.#rows.ofFamily(family, value)) row.denial.forget()
    return this.#inner.reset(rows, now)
  }

  renew(hold: HoldPlace, now: number): Answer<number | Undone> {
    return this.#inner.renew(hold, now)
  }

  release(hold: HoldPlace, now: number): Answer<boolean | Undone> {
    return this.#inner.release(hold, now)
  }
}
