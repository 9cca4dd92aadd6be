/**
 * Deciding in a cluster: one call where all rows are in one slot, else one for each slot and, in a slot
 * that is on the move, for each row. All of them have one deadline together.
 */
import { randomUUID } from 'node:crypto'
import {
  ALLOWED,
  type DegradedReason,
  IdempotencyConflict,
  IdempotencyInProgress,
  StoreFailure,
  type Transaction,
  undoneBy,
  type Verdicts,
} from '../store.js'
import { CLAIM, CONFIRM, REFUND, RELEASE, UNCLAIM } from './change-arguments.js'
import { type ChangeLine, refundItem } from './change-line.js'
import type { ConsumeLine } from './consume-line.js'
import { describeTransaction, fingerprintOf, recordBody } from './idempotency-record.js'
import type { Places } from './places.js'
import type { Replays } from './replays.js'
import type { Safeguard } from './safeguard.js'
import { consumeParts, type Part, type Slots, type Takes, takesOf } from './several-slots.js'

/** How long an answer can be replayed, in milliseconds. */
const RECORD_MS = 300_000
/** With less than this part left, slots are asked one after the other. */
const TIGHT = 0.1

export interface ClusterParts {
  readonly line: ConsumeLine
  readonly changes: ChangeLine
  readonly places: Places
  readonly replays: Replays
  readonly safeguard: Safeguard
  readonly deadlineMs: number
}

export class ClusterConsume implements Slots {
  readonly #parts: ClusterParts

  constructor(parts: ClusterParts) {
    this.#parts = parts
  }

  /** `since`: when it began to be decided, by `performance.now`. */
  consume(transaction: Transaction, since = performance.now()): Promise<Verdicts> {
    const { line, places } = this.#parts
    const parts = this.#partsOf(transaction)
    const { idempotency, dryRun } = transaction
    const once = idempotency !== null && !dryRun
    const [{ slot }] = parts as [Part]
    if (parts.length === 1 && (!once || slot === places.slotOfRecord(transaction)))
      return line.ask(transaction, slot, since)
    const answer = once
      ? this.#consumeOnce(transaction, parts)
      : this.#consumeParts(transaction, parts)
    return this.#inTime(transaction, answer, !once, since)
  }

  /** What is taken after the deadline is given back, if it can be. */
  #inTime(
    transaction: Transaction,
    answer: Promise<Verdicts>,
    canGiveBack: boolean,
    since: number,
  ): Promise<Verdicts> {
    const { line, safeguard, deadlineMs } = this.#parts
    return new Promise((resolve, reject) => {
      let isOver = false
      const degrade = (reason: DegradedReason) => line.degrade(transaction, reason, resolve, reject)
      const missed = () => {
        if (isOver) return
        isOver = true
        deadline.meet()
        degrade('store_timeout')
      }
      const deadline = safeguard.deadline(missed)
      const leftMs = since + deadlineMs - performance.now()
      if (leftMs < deadlineMs - 2) setTimeout(missed, Math.max(0, leftMs)).unref()
      const answered = (verdicts: Verdicts) => {
        deadline.meet()
        const isLate = isOver
        isOver = true
        if (!isLate) resolve(verdicts)
        else if (canGiveBack && verdicts[ALLOWED] === 1 && !transaction.dryRun)
          this.giveBack(takesOf(transaction, verdicts))
      }
      const failed = (failure: unknown) => {
        deadline.meet()
        if (isOver) return
        isOver = true
        if (failure instanceof StoreFailure) degrade(failure.reason)
        else reject(failure)
      }
      answer.then(answered, failed)
    })
  }

  #partsOf({ rules, values }: Transaction): Part[] {
    const { line, places } = this.#parts
    const parts: { slot: number; rules: number[] }[] = []
    for (const [i, { family }] of rules.entries()) {
      const slot = places.slotOfRow(family, values[i]!)
      const known = line.isSplit(slot) ? undefined : parts.find((part) => part.slot === slot)
      if (known === undefined) parts.push({ slot, rules: [i] })
      else known.rules.push(i)
    }
    return parts.sort((a, b) => a.slot - b.slot)
  }

  #consumeParts(transaction: Transaction, parts: readonly Part[]): Promise<number[]> {
    const { rules, values } = transaction
    const { safeguard } = this.#parts
    const isTight = rules.some((rule, i) => safeguard.leftOf(rule, values[i]!) <= TIGHT)
    return consumeParts(this, transaction, parts, isTight)
  }

  ask(part: Transaction): Promise<Verdicts> {
    const { line, places } = this.#parts
    return line.askPart(part, places.slotOfRow(part.rules[0]!.family, part.values[0]!))
  }

  giveBack({ returns, holds, now }: Takes): void {
    const { changes } = this.#parts
    changes.changeLimits(REFUND, returns, now, refundItem).catch(() => {})
    for (const hold of holds) changes.changeHolds(RELEASE, hold, now).catch(() => {})
  }

  /** Claims the key in its home slot, takes, and answers only once that is confirmed there. */
  async #consumeOnce(transaction: Transaction, parts: readonly Part[]): Promise<Verdicts> {
    const { places, replays, deadlineMs } = this.#parts
    const key = places.recordKey(transaction)
    const record = this.#recordOf(transaction, key)
    const replay = (answer: Buffer): Verdicts | null => {
      const letter = String.fromCharCode(answer[0]!)
      if (letter === 'c') throw new IdempotencyConflict()
      if (letter === 'p') throw new IdempotencyInProgress()
      return letter === 'r' ? replays.answer(transaction, key, answer.subarray(1)) : null
    }
    const known = replay(await record(CLAIM, 2 * deadlineMs, ''))
    if (known !== null) return known
    let verdicts: number[] | null = null
    try {
      verdicts = await this.#consumeParts(transaction, parts)
    } finally {
      if (verdicts?.[ALLOWED] !== 1) record(UNCLAIM, 0, '').catch(() => {})
    }
    if (verdicts[ALLOWED] !== 1) return verdicts
    const limits = transaction.rules.map((rule) => rule.limits.length)
    const body = recordBody(describeTransaction(transaction), verdicts, limits)
    let confirmed: Buffer
    try {
      confirmed = await record(CONFIRM, RECORD_MS, body)
    } catch (failure) {
      // A record that may be there will be replayed, and must not say that something was taken which was not.
      if (undoneBy(failure) === 'unknown') replays.note(key, transaction, verdicts)
      else this.giveBack(takesOf(transaction, verdicts))
      throw failure
    }
    let isOurs = false
    try {
      const other = replay(confirmed)
      isOurs = other === null
      if (isOurs) replays.note(key, transaction, verdicts)
      return other ?? verdicts
    } finally {
      if (!isOurs) this.giveBack(takesOf(transaction, verdicts))
    }
  }

  /** Asks the home slot about the record. */
  #recordOf(transaction: Transaction, key: string) {
    const owner = randomUUID()
    const slot = this.#parts.places.slotOfRecord(transaction)
    const fingerprint = fingerprintOf(transaction.idempotency!)
    return async (code: number, lifeMs: number, body: Buffer | string): Promise<Buffer> => {
      const texts = [owner, String(lifeMs), fingerprint, body]
      const operation = { code, slot, key, layout: null, texts, items: [] }
      const [answer] = await this.#parts.changes.run([operation], transaction.now)
      return answer![0] as Buffer
    }
  }
}
