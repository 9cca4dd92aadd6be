/**
 * A store that decides from memory. For rows that are requested often it holds tokens that the store below has
 * granted ahead of time, and spends them without a call. The sum over all instances never exceeds the limit, because
 * leased tokens count as used until they are reported (algorithms/leases.ts). Everything else is passed on.
 *
 * What holds here:
 * - Both clocks are read in the turn that spends; a lease that has ended by either is not spent.
 * - A report is sent at most once. If its outcome is unknown, the tokens that it gave back are gone, no lease was
 *   granted, and what it reported stays reported.
 * - At most one lease of a row is on its way. Requests that find no tokens meanwhile wait for it, and for the next
 *   one if it was too small, at most until their deadline. Near the limit up to 64 waiting requests are sent to the
 *   store themselves; the first denial then answers the rest.
 */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import { Answer } from '../answer.js'
import type { LeasingStore } from '../leasing.js'
import type { Changed, Operation } from '../operation.js'
import type { Awaitable, Store } from '../store.js'
import { costOf, type Moment, partOf, type Transaction } from '../transaction.js'
import type { Holding, SentAt } from './holding.js'
import { LeaseCalls, LeaseTally } from './lease-calls.js'
import type { LeaseTime } from './lease-time.js'
import type { LeasedRow, Waiting } from './leased-row.js'
import { LeasedRows } from './leased-rows.js'
import { type KnownRow, putBack, spendAll, writeDryRun, writeShares } from './partial-leases.js'

/** How often rates are computed and what is not needed is given back, in milliseconds. */
const TICK_MS = 20

export interface LeasedStoreParts {
  readonly inner: LeasingStore
  readonly time: LeaseTime
  /** Rules are leased unless they say otherwise. */
  readonly leasedByDefault: boolean
  /** The longest that a denial may be remembered, in milliseconds. */
  readonly mostDeniedMs: number
}

/**
 * A request is decided for the first time, again after it has waited for a lease, or at its deadline: then it waits no
 * more. Unless tokens are held or a denial is remembered, the store below answers by failure mode, because there is no
 * time left for a call.
 */
type Attempt = 'first' | 'again' | 'at_deadline'

export class LeasedStore implements Store {
  readonly isSync = false
  readonly tally = new LeaseTally()
  readonly #inner: LeasingStore
  readonly #time: LeaseTime
  readonly #mostDeniedMs: number
  readonly #rows: LeasedRows
  readonly #calls: LeaseCalls
  #stopTicking: (() => void) | null = null
  #isClosed = false

  constructor({ inner, time, leasedByDefault, mostDeniedMs }: LeasedStoreParts) {
    this.#inner = inner
    this.#time = time
    this.#mostDeniedMs = mostDeniedMs
    this.#rows = new LeasedRows(leasedByDefault)
    this.#calls = new LeaseCalls(inner, time, this.tally)
  }

  decide(transaction: Transaction): Awaitable<Answer> {
    if (transaction.idempotency !== null && !transaction.dryRun)
      return this.#inner.decide(transaction)
    return this.#decide(transaction, transaction.now, 'first')
  }

  /** At this time by the wall clock: a request that has waited is decided later than it was asked. */
  #decide(transaction: Transaction, wall: number, attempt: Attempt): Awaitable<Answer> {
    const { rules, dryRun, costs } = transaction
    if (rules.length === 1 && !dryRun && costs === null)
      return this.#decideOne(transaction, wall, attempt)
    return this.#decideSeveral(transaction, wall, attempt)
  }

  #decideOne(transaction: Transaction, wall: number, attempt: Attempt): Awaitable<Answer> {
    const { rules, values, cost } = transaction
    const row = this.#rowOf(rules[0]!, values[0]!)
    if (row === null) return this.#inner.decide(transaction)
    const steady = this.#time.steady()
    const isFirst = attempt === 'first'
    if (isFirst) row.count(cost)
    const holding = row.take(cost, steady, wall)
    if (holding !== null) {
      holding.spent += cost
      this.tally.local++
      this.tally.spent += cost
      if (row.isLow(steady)) this.#calls.ask(row, wall, steady)
      const answer = Answer.open(transaction, this.#time.storeTime(wall), true)
      row.writeTaken(holding, answer, 0)
      return answer
    }
    if (row.denial.holds(cost, steady, wall)) {
      this.tally.local++
      const answer = Answer.open(transaction, this.#time.storeTime(wall), row.rule.shadow)
      row.denial.write(answer, 0)
      return answer
    }
    if (row.isCalling && attempt !== 'at_deadline') return this.#wait(row, transaction, cost, wall)
    return this.#askOne(transaction, row, isFirst, { steady, wall })
  }

  /** Asks the store. A method of its own, because a closure in `#decideOne` would cost every call of that. */
  #askOne(
    transaction: Transaction,
    row: LeasedRow,
    isFirst: boolean,
    askedAt: SentAt,
  ): Awaitable<Answer> {
    const { steady, wall } = askedAt
    this.#noteAsked(row.hasHoldings)
    this.#calls.giveBack(row, row.unspent, steady, wall)
    const answer = this.#inner.decide(transaction)
    if (isFirst && !row.isCalling && !row.isPaused(steady)) this.#calls.ask(row, wall, steady)
    const answered = (later: Answer) => {
      row.decided(transaction.cost, later, 0, askedAt, this.#mostDeniedMs)
      return later
    }
    return answer instanceof Promise ? answer.then(answered) : answered(answer)
  }

  /** Takes what it holds for some rules, asks for the others, and gives back what it took if those say no. */
  #decideSeveral(transaction: Transaction, wall: number, attempt: Attempt): Awaitable<Answer> {
    const { rules, values, dryRun } = transaction
    const rows: (LeasedRow | null)[] = []
    for (let i = 0; i < rules.length; i++) rows.push(this.#rowOf(rules[i]!, values[i]!))
    if (rows.every((row) => row === null)) return this.#inner.decide(transaction)
    const steady = this.#time.steady()
    if (attempt === 'first' && !dryRun)
      for (let i = 0; i < rows.length; i++) rows[i]?.count(costOf(transaction, i))
    if (!dryRun) {
      const answer = this.#spendHeld(transaction, rows, steady, wall)
      if (answer !== null) return answer
    }
    const shares = rows.map((row, i): KnownRow => {
      const cost = costOf(transaction, i)
      if (row === null) return { row, holding: null, isDenied: false }
      const holding = row.take(cost, steady, wall)
      return { row, holding, isDenied: holding === null && row.denial.holds(cost, steady, wall) }
    })
    if (dryRun) putBack(transaction, shares)
    const missing = [...rules.keys()].filter((i) => shares[i]!.holding === null)
    if (missing.every((i) => shares[i]!.isDenied)) {
      this.tally.local++
      const allowed = missing.every((i) => rules[i]!.shadow)
      const answer = Answer.open(transaction, this.#time.storeTime(wall), allowed)
      return this.#conclude(answer, shares, null)
    }
    const busy = missing.find((i) => shares[i]!.row?.isCalling === true)
    if (busy !== undefined && attempt !== 'at_deadline' && !dryRun) {
      putBack(transaction, shares)
      return this.#wait(shares[busy]!.row!, transaction, costOf(transaction, busy), wall)
    }
    return this.#askRest(transaction, shares, missing, wall)
  }

  /** All of it is held: most requests. Null, and nothing is taken, where that is not so. */
  #spendHeld(
    transaction: Transaction,
    rows: readonly (LeasedRow | null)[],
    steady: number,
    wall: number,
  ): Answer | null {
    const held: Holding[] = []
    for (let i = 0; i < rows.length; i++) {
      const holding = rows[i]?.take(costOf(transaction, i), steady, wall) ?? null
      if (holding === null) {
        for (let j = 0; j < i; j++) rows[j]!.untake(held[j]!, costOf(transaction, j))
        return null
      }
      held.push(holding)
    }
    const answer = Answer.open(transaction, this.#time.storeTime(wall), true)
    this.tally.local++
    let first = 0
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!
      const holding = held[i]!
      const cost = costOf(transaction, i)
      holding.spent += cost
      this.tally.spent += cost
      if (row.isLow(steady)) this.#calls.ask(row, wall, steady)
      row.writeTaken(holding, answer, first)
      first += row.rule.limits.length
    }
    return answer
  }

  /** Asks the store about the rules, by their places, that nothing is held for. */
  #askRest(
    transaction: Transaction,
    shares: readonly KnownRow[],
    missing: readonly number[],
    wall: number,
  ): Awaitable<Answer> {
    const { dryRun } = transaction
    const steady = this.#time.steady()
    const rows = missing.flatMap((i) => shares[i]!.row ?? [])
    if (!dryRun) {
      this.#noteAsked(rows.some((row) => row.hasHoldings))
      for (const row of rows) this.#calls.giveBack(row, row.unspent, steady, wall)
    }
    const isWhole = missing.length === shares.length
    const answer = this.#inner.decide(isWhole ? transaction : partOf(transaction, missing))
    if (!dryRun)
      for (const row of rows)
        if (!row.isCalling && !row.isPaused(steady)) this.#calls.ask(row, wall, steady)
    const heard = (rest: Answer): Answer => {
      let first = 0
      for (const i of missing) {
        const cost = costOf(transaction, i)
        shares[i]!.row?.decided(cost, rest, first, { steady, wall }, this.#mostDeniedMs)
        first += transaction.rules[i]!.limits.length
      }
      if (isWhole && !dryRun) return rest
      const whole = Answer.open(transaction, rest.decidedAt, rest.allowed)
      whole.degradedReason = rest.degradedReason
      return this.#conclude(whole, shares, rest)
    }
    if (!(answer instanceof Promise)) return heard(answer)
    return answer.then(heard, (error: unknown) => {
      if (!dryRun) putBack(transaction, shares)
      throw error
    })
  }

  /** Writes the answer about all rules; it says already whether the request is allowed. */
  #conclude(answer: Answer, shares: readonly KnownRow[], rest: Answer | null): Answer {
    const { transaction } = answer
    if (transaction.dryRun) writeDryRun(answer, shares, rest)
    else {
      if (answer.allowed) this.tally.spent += spendAll(transaction, shares)
      else putBack(transaction, shares)
      writeShares(answer, shares, rest)
    }
    return answer
  }

  /** Decides again when the row's lease is there, at the latest at the request's deadline. */
  #wait(row: LeasedRow, transaction: Transaction, cost: number, wall: number): Promise<Answer> {
    // The caller's clock may be another than this one; both go on.
    const clockDifferenceUs = this.#time.wall() - wall
    return new Promise((resolve, reject) => {
      const decide = (attempt: Attempt) => {
        try {
          resolve(this.#decide(transaction, this.#time.wall() - clockDifferenceUs, attempt))
        } catch (error) {
          reject(error)
        }
      }
      const deadline = this.#time.deadline(transaction.deadline, () => {
        waiting.isOver = true
        decide('at_deadline')
      })
      const decideAgain = () => {
        deadline.meet()
        decide('again')
      }
      const waiting: Waiting = { cost, clockDifferenceUs, isOver: false, decideAgain }
      row.waiting.push(waiting)
    })
  }

  /** Counts a decision by the store. `hadLease`: the row had a lease, with too few tokens. */
  #noteAsked(hadLease: boolean): void {
    this.tally.asked++
    if (hadLease) this.tally.empty++
  }

  #rowOf(rule: CompiledRule, value: string): LeasedRow | null {
    if (this.#isClosed) return null
    const row = this.#rows.find(rule, value, this.#time)
    if (this.#stopTicking === null && this.#rows.isLeasable(rule))
      this.#stopTicking = this.#time.every(TICK_MS, () => this.#tick())
    return row
  }

  #tick(): void {
    const [steady, wall] = [this.#time.steady(), this.#time.wall()]
    this.#rows.tick(steady, (row) => {
      if (row.isCalling) return
      const back = row.excess(steady)
      if (back > 0 || row.hasExpired(steady, wall)) this.#calls.call(row, 0, back, steady, wall)
    })
    this.tally.rows = this.#rows.held
    if (!this.#rows.isIdle) return
    this.#stopTicking?.()
    this.#stopTicking = null
  }

  *use(rules: RuleSet): Slices<void> {
    this.#calls.leave(this.#rows.removeChanged(rules))
    const rest = this.#inner.use(rules)
    if (rest !== undefined) yield* rest
  }

  /** What is held is given back, also what is just being granted; heard or not, within the deadline of a call. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopTicking?.()
    this.#calls.leave(this.#rows.removeAll())
    await this.#calls.settled()
    await this.#inner.close()
  }

  change(operations: readonly Operation[], moment: Moment): Awaitable<readonly Changed[]> {
    for (const operation of operations) this.#forgetDenials(operation)
    return this.#inner.change(operations, moment)
  }

  /** Of rows that something is given back to. */
  #forgetDenials(operation: Operation): void {
    const { kind, value } = operation
    if (kind === 'refund' || kind === 'grant')
      this.#rows.get(operation.rule, value)?.denial.forget()
    else if (kind === 'reset')
      for (const row of this.#rows.ofFamily(operation.family, value)) row.denial.forget()
  }
}
