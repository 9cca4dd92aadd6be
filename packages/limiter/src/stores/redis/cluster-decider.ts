/**
 * Deciding in a cluster: one call where all rows are in one slot, else one for each slot and, in a slot that is on
 * the move, for each row.
 */
import { randomUUID } from 'node:crypto'
import type { Answer } from '../answer.js'
import { IdempotencyConflict, IdempotencyInProgress, undoneBy } from '../store.js'
import type { Transaction } from '../transaction.js'
import type { Addresses } from './addresses.js'
import type { Said } from './change-operation.js'
import { fingerprintOf, type Records, recordBody } from './records.js'
import { CLAIM, CONFIRM, UNCLAIM } from './script-codes.js'
import { decideParts, type SlotPart, type Slots } from './slot-parts.js'

/** How long an answer can be replayed, in milliseconds. */
const RECORD_MS = 300_000
/** With less than this part left, slots are asked one after the other. */
const TIGHT = 0.1

export interface ClusterParts extends Slots {
  readonly addresses: Addresses
  readonly records: Records
  /** How long a decision may take, in milliseconds. */
  readonly deadlineMs: number
  /** Decides a transaction of one slot. */
  readonly ofOneSlot: (transaction: Transaction, slot: number) => Promise<Answer>
  /** What the record of that key says. */
  readonly record: (change: RecordChange, transaction: Transaction) => Promise<Said>
  readonly isMoving: (slot: number) => boolean
  /** The smallest part that any limit of the rule's row had left; 1 if nobody knows. */
  readonly leftOf: (transaction: Transaction, rule: number) => number
}

export interface RecordChange {
  readonly code: number
  readonly slot: number
  readonly key: string
  readonly texts: readonly (string | Buffer)[]
}

export class ClusterDecider {
  readonly #parts: ClusterParts

  constructor(parts: ClusterParts) {
    this.#parts = parts
  }

  decide(transaction: Transaction): Promise<Answer> {
    const { addresses, ofOneSlot } = this.#parts
    const parts = this.#partsOf(transaction)
    const idempotency = transaction.dryRun ? null : transaction.idempotency
    const [{ slot }] = parts as [SlotPart]
    if (
      parts.length === 1 &&
      (idempotency === null || slot === addresses.slotOfRecord(idempotency))
    )
      return ofOneSlot(transaction, slot)
    return idempotency === null
      ? this.#decideParts(transaction, parts)
      : this.#decideOnce(transaction, parts)
  }

  #partsOf({ rules, values }: Transaction): SlotPart[] {
    const { addresses, isMoving } = this.#parts
    const parts: { slot: number; rules: number[] }[] = []
    for (const [i, { family }] of rules.entries()) {
      const slot = addresses.slotOfRow(family, values[i]!)
      const known = isMoving(slot) ? undefined : parts.find((part) => part.slot === slot)
      if (known === undefined) parts.push({ slot, rules: [i] })
      else known.rules.push(i)
    }
    return parts.sort((a, b) => a.slot - b.slot)
  }

  #decideParts(transaction: Transaction, parts: readonly SlotPart[]): Promise<Answer> {
    const { leftOf } = this.#parts
    const isTight = transaction.rules.some((_, i) => leftOf(transaction, i) <= TIGHT)
    return decideParts(this.#parts, transaction, parts, isTight)
  }

  /** Claims the key in its home slot, takes, and answers only once that is confirmed there. */
  async #decideOnce(transaction: Transaction, parts: readonly SlotPart[]): Promise<Answer> {
    const { addresses, records, deadlineMs, giveBack } = this.#parts
    const idempotency = transaction.idempotency!
    const key = addresses.recordKey(idempotency)
    const ask = this.#recordOf(transaction, key)
    const replayIn = ({ letter, record }: Said): Answer | null => {
      if (letter === 'c') throw new IdempotencyConflict()
      if (letter === 'p') throw new IdempotencyInProgress()
      return record === null ? null : records.replay(key, idempotency, record)
    }
    const known = replayIn(await ask(CLAIM, 2 * deadlineMs, ''))
    if (known !== null) return known
    let answer: Answer | null = null
    try {
      answer = await this.#decideParts(transaction, parts)
    } finally {
      if (answer?.allowed !== true) ask(UNCLAIM, 0, '').catch(() => {})
    }
    if (!answer.allowed) return answer
    let confirmed: Said
    try {
      confirmed = await ask(CONFIRM, RECORD_MS, recordBody(answer))
    } catch (failure) {
      // A record that may be there will be replayed, and must not say that something was taken which was not.
      if (undoneBy(failure) === 'unknown') records.noteOwn(key, answer)
      else giveBack(answer)
      throw failure
    }
    let isOurs = false
    try {
      const other = replayIn(confirmed)
      isOurs = other === null
      if (isOurs) records.noteOwn(key, answer)
      return other ?? answer
    } finally {
      if (!isOurs) giveBack(answer)
    }
  }

  /** Asks the home slot about the record. */
  #recordOf(transaction: Transaction, key: string) {
    const { addresses, record } = this.#parts
    const owner = randomUUID()
    const slot = addresses.slotOfRecord(transaction.idempotency!)
    const fingerprint = fingerprintOf(transaction.idempotency!)
    return (code: number, lifeMs: number, body: Buffer | string): Promise<Said> => {
      const texts = [owner, String(lifeMs), fingerprint, body]
      return record({ code, slot, key, texts }, transaction)
    }
  }
}
