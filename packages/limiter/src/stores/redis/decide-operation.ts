/**
 * A transaction for the script. Rows of nothing but buckets come back as they were found, and the verdicts are
 * computed here with the algorithm that the script ran; that costs Redis least.
 */
import { decideTat, noteTake } from '../../algorithms/bucket.js'
import { YES } from '../../algorithms/status.js'
import { GIVEN_BACK, STATUS, VERDICT_WIDTH } from '../../algorithms/verdict.js'
import { Answer } from '../answer.js'
import { FIRST_VERDICT } from '../answer-numbers.js'
import type { LastSeenRows } from '../last-seen-rows.js'
import type { DecisionCallbacks } from '../remote-store.js'
import { IdempotencyConflict, IdempotencyInProgress, StoreFailure } from '../store.js'
import { costOf, type Transaction } from '../transaction.js'
import type { Addresses } from './keys.js'
import { describeTransaction, fingerprintOf, type Records } from './records.js'
import type { RuleLayout } from './rule-layout.js'
import { MOST_IN_A_CALL, ScriptOperation } from './script-operation.js'
import {
  type ArgumentWriter,
  DECIDE,
  LETTER_ALLOWED,
  LETTER_CONFLICT,
  LETTER_DENIED,
  LETTER_IN_PROGRESS,
  LETTER_NOTHING,
  LETTER_NUMBERS,
  LETTER_OTHER_BOUNDS,
  LETTER_REPLAYED,
  LETTER_SUMS,
  LOOK,
  type ScriptReply,
} from './script-protocol.js'

/** What every decision operation needs of its store. */
export interface DecideNeeds {
  readonly addresses: Addresses
  readonly lastSeen: LastSeenRows
  readonly records: Records
}

/** Asks for each row of a transaction by itself, because its slot is on the move. */
export type AskRowByRow = (transaction: Transaction, callbacks: DecisionCallbacks) => void

export class DecideOperation extends ScriptOperation {
  readonly layouts: readonly RuleLayout[]
  readonly #transaction: Transaction
  readonly #needs: DecideNeeds
  readonly #callbacks: DecisionCallbacks
  readonly #rowByRow: AskRowByRow | null
  /** Its idempotency record; null if it has none. */
  readonly #recordKey: string | null

  constructor(
    transaction: Transaction,
    slot: number,
    needs: DecideNeeds,
    callbacks: DecisionCallbacks,
    rowByRow: AskRowByRow | null = null,
  ) {
    super(slot, transaction.now, transaction.deadline)
    const { rules, idempotency, dryRun } = transaction
    const { addresses } = needs
    const layouts: RuleLayout[] = []
    for (let i = 0; i < rules.length; i++) layouts.push(addresses.layoutOf(rules[i]!))
    this.layouts = layouts
    this.#recordKey = idempotency === null || dryRun ? null : addresses.recordKey(idempotency)
    this.#transaction = transaction
    this.#needs = needs
    this.#callbacks = callbacks
    this.#rowByRow = rowByRow
  }

  get keys(): string[] {
    const { rules, values } = this.#transaction
    return rules.map(({ family }, i) => this.#needs.addresses.rowKey(family, values[i]!))
  }

  /** Many rules, a walk through a log, an entry for each place that is held. */
  get weight(): number {
    let weight = 1
    for (let i = 0; i < this.layouts.length; i++) {
      const layout = this.layouts[i]!
      weight += 1 / 8
      if (layout.sideKeys.length === 0) continue
      weight += layout.longestLog / 512
      if (this.#transaction.holdId !== '') weight += costOf(this.#transaction, i) / 16
    }
    return Math.min(MOST_IN_A_CALL, Math.floor(weight))
  }

  override pushKeys(keys: string[]): void {
    if (this.#recordKey !== null) keys.push(this.#recordKey)
    const { rules, values } = this.#transaction
    const { addresses } = this.#needs
    for (let i = 0; i < rules.length; i++)
      this.pushRow(keys, addresses.rowKey(rules[i]!.family, values[i]!), this.layouts[i]!)
  }

  override get simpleLayout(): RuleLayout | null {
    const { cost, costs, dryRun, holdId } = this.#transaction
    if (this.layouts.length > 1 || cost !== 1 || costs !== null || dryRun) return null
    return holdId === '' && this.#recordKey === null ? this.layouts[0]! : null
  }

  override asksTheSame(other: ScriptOperation): boolean {
    if (!(other instanceof DecideOperation)) return false
    const [x, y] = [this.#transaction, other.#transaction]
    if (x.cost !== y.cost || x.dryRun !== y.dryRun || x.costs !== null || y.costs !== null)
      return false
    if (x.holdId !== '' || y.holdId !== '') return false
    if (this.#recordKey !== null || other.#recordKey !== null) return false
    if (x.rules === y.rules) return true
    return x.rules.length === y.rules.length && x.rules.every((rule, i) => rule === y.rules[i])
  }

  write(out: ArgumentWriter): void {
    const transaction = this.#transaction
    out.begin(transaction.dryRun ? LOOK : DECIDE, 0, 0, this.layouts.length)
    if (transaction.holdId !== '') out.texts('one', transaction.holdId)
    if (this.#recordKey !== null)
      out.texts('two', fingerprintOf(transaction.idempotency!), describeTransaction(transaction))
    for (let i = 0; i < this.layouts.length; i++)
      out.push(out.rule(this.layouts[i]!), costOf(transaction, i))
  }

  read(reply: ScriptReply): boolean {
    const letter = reply.letter()
    if (letter === LETTER_ALLOWED || letter === LETTER_DENIED) {
      const answer = this.#answer(reply, letter === LETTER_ALLOWED)
      if (this.#recordKey !== null && answer.allowed)
        this.#needs.records.noteOwn(this.#recordKey, answer)
      this.#settle(answer)
      return true
    }
    reply.skip(this.layouts.map(({ limits }) => 1 + VERDICT_WIDTH * limits.length))
    if (letter === LETTER_OTHER_BOUNDS) return false
    if (letter === LETTER_REPLAYED) this.#settle(this.#replay(reply.record()))
    else if (letter === LETTER_CONFLICT) this.#refuse(new IdempotencyConflict())
    else if (letter === LETTER_IN_PROGRESS) this.#refuse(new IdempotencyInProgress())
    else this.fail(new StoreFailure('store_refused', 'not_done'))
    return true
  }

  #replay(record: Buffer): Answer {
    return this.#needs.records.replay(this.#recordKey!, this.#transaction.idempotency!, record)
  }

  #settle(answer: Answer): void {
    if (this.isOver) return this.#transaction.late?.(answer)
    this.isOver = true
    this.#callbacks.answered(answer)
  }

  #refuse(error: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.#callbacks.failed(error)
  }

  protected failed(failure: StoreFailure): void {
    this.#callbacks.failed(failure)
  }

  override askRowByRow(): boolean {
    const rowByRow = this.#rowByRow
    const isOneRow = this.layouts.length === 1 && this.#recordKey === null
    if (isOneRow || rowByRow === null) return false
    this.isOver = true
    rowByRow(this.#transaction, this.#callbacks)
    return true
  }

  #answer(reply: ScriptReply, allowed: boolean): Answer {
    const transaction = this.#transaction
    const answer = Answer.open(transaction, reply.now, allowed)
    const { numbers } = answer
    const takes = allowed && !transaction.dryRun
    let at = FIRST_VERDICT
    let limit = 0
    for (let i = 0; i < this.layouts.length; i++) {
      const layout = this.layouts[i]!
      const letter = reply.letter()
      const cost = costOf(transaction, i)
      const width = VERDICT_WIDTH * layout.limits.length
      let taken = 0
      if (letter === LETTER_NUMBERS) {
        taken = reply.number()
        reply.numbers(width, numbers, at)
      } else {
        taken = this.#compute(i, letter, reply, answer, at)
        if (letter !== LETTER_NOTHING) reply.textAt += layout.sumsAt
        if (letter === LETTER_SUMS) reply.textAt += 8 * layout.limits.length
      }
      this.#needs.lastSeen.record(answer, i, limit, taken, takes ? cost : 0)
      at += width
      limit += layout.limits.length
    }
    return answer
  }

  /** The verdicts for rule i, whose row of buckets is as it was found, from numbers[from] on; returns what was ever taken from the row, this take included. */
  #compute(i: number, letter: number, reply: ScriptReply, answer: Answer, from: number): number {
    const { texts, textAt: row, now } = reply
    const { limits, tatAt, sumsAt, takenAt } = this.layouts[i]!
    const { numbers: out, allowed } = answer
    const cost = costOf(this.#transaction, i)
    const takes = allowed && !this.#transaction.dryRun
    const isThere = letter !== LETTER_NOTHING
    let o = from
    let taken = 0
    for (let j = 0; j < limits.length; j++) {
      const { numbers } = limits[j]!
      const at = row + tatAt[j]!
      const t = isThere ? texts.readDoubleLE(at) : 0
      const f = isThere && numbers.rest !== 0 ? texts.readDoubleLE(at + 8) : 0
      decideTat(t, f, numbers, cost, now, out, o)
      out[o + GIVEN_BACK] = 0
      if (takes && out[o + STATUS] === YES) {
        noteTake(cost, out, o)
        if (letter === LETTER_SUMS) out[o + GIVEN_BACK] = texts.readDoubleLE(row + sumsAt + 8 * j)
        taken = cost
      }
      o += VERDICT_WIDTH
    }
    return (isThere ? texts.readDoubleLE(row + takenAt) : 0) + taken
  }
}
