/**
 * Deciding in a cluster: one call where all rows are in one slot, else one for each slot and, in a slot that is on
 * the move, for each row.
 *
 * Rows are charged in each slot directly, not reserved first. If one slot denies, what the others took is given back, once. An
 * admitted request is charged in full in each limit, and giving back never adds more than was taken, so limits are never
 * exceeded. After a crash in between, what was taken is missing until it is refilled.
 *
 * All slots are asked in parallel while every limit has room; near the limit one after the other in the order of their
 * numbers, so that requests do not deny each other for ever.
 */
import { randomUUID } from 'node:crypto'
import { BUCKET, CONCURRENCY } from '../../algorithms/limit-numbers.js'
import { span, spanned } from '../../algorithms/token-time.js'
import { Answer, type AnsweredLimit } from '../answer.js'
import { IdempotencyConflict, IdempotencyInProgress, notConfirmedBy } from '../store.js'
import { costOf, partOf, REPLAYABLE_US, type Transaction, withParts } from '../transaction.js'
import type { ScriptAnswer } from './change-operation.js'
import type { Addresses } from './keys.js'
import { fingerprintOf, type Records, recordBody } from './records.js'
import { CLAIM, CONFIRM, LETTER_CONFLICT, LETTER_IN_PROGRESS, UNCLAIM } from './script-protocol.js'

/** With less than this part left, slots are asked one after the other. */
const NEAR_LIMIT = 0.1

export interface ClusterParts extends Slots {
  readonly addresses: Addresses
  readonly records: Records
  /** How long a decision may take, in milliseconds. */
  readonly deadlineMs: number
  /** Decides a transaction of one slot. */
  readonly decideInSlot: (transaction: Transaction, slot: number) => Promise<Answer>
  /** Claims, confirms or gives up the record of that key; answers what it says. */
  readonly record: (change: RecordChange, transaction: Transaction) => Promise<ScriptAnswer>
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
    const { addresses, decideInSlot, isMoving } = this.#parts
    const parts = this.#partsOf(transaction)
    const idempotency = transaction.dryRun ? null : transaction.idempotency
    const [{ slot }] = parts as [SlotPart]
    // The keys of a slot on the move may be in two places: the record is asked for by itself then.
    const isWithRecord =
      idempotency === null || (slot === addresses.slotOfRecord(idempotency) && !isMoving(slot))
    if (parts.length === 1 && isWithRecord) return decideInSlot(transaction, slot)
    return idempotency === null
      ? this.#decideBySlot(transaction, parts)
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

  #decideBySlot(transaction: Transaction, parts: readonly SlotPart[]): Promise<Answer> {
    const { leftOf } = this.#parts
    const isNearLimit = transaction.rules.some((_, i) => leftOf(transaction, i) <= NEAR_LIMIT)
    return combineSlotAnswers(this.#parts, transaction, parts, isNearLimit)
  }

  /** Claims the key in its home slot, takes, and answers only once that is confirmed there. */
  async #decideOnce(transaction: Transaction, parts: readonly SlotPart[]): Promise<Answer> {
    const { addresses, records, deadlineMs, giveBack } = this.#parts
    const idempotency = transaction.idempotency!
    const key = addresses.recordKey(idempotency)
    const askRecord = this.#recordOf(transaction, key)
    const replayIn = ({ letter, record }: ScriptAnswer): Answer | null => {
      if (letter === LETTER_CONFLICT) throw new IdempotencyConflict()
      if (letter === LETTER_IN_PROGRESS) throw new IdempotencyInProgress()
      return record === null ? null : records.replay(key, idempotency, record)
    }
    const known = replayIn(await askRecord(CLAIM, 2 * deadlineMs, ''))
    if (known !== null) return known
    let answer: Answer | null = null
    try {
      answer = await this.#decideBySlot(transaction, parts)
    } finally {
      if (answer?.allowed !== true) askRecord(UNCLAIM, 0, '').catch(() => {})
    }
    if (!answer.allowed) return answer
    let confirmed: ScriptAnswer
    try {
      confirmed = await askRecord(CONFIRM, REPLAYABLE_US / 1000, recordBody(answer))
    } catch (failure) {
      // A record that may be there will be replayed, and must not say that something was taken which was not.
      if (notConfirmedBy(failure) === 'unknown') records.noteOwn(key, answer)
      else {
        giveBack(answer)
        askRecord(UNCLAIM, 0, '').catch(() => {})
      }
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

  /** What asks the record's slot about it. */
  #recordOf(transaction: Transaction, key: string) {
    const { addresses, record } = this.#parts
    const owner = randomUUID()
    const slot = addresses.slotOfRecord(transaction.idempotency!)
    const fingerprint = fingerprintOf(transaction.idempotency!)
    return (code: number, lifeMs: number, body: Buffer | string): Promise<ScriptAnswer> => {
      const texts = [owner, String(lifeMs), fingerprint, body]
      return record({ code, slot, key, texts }, transaction)
    }
  }
}

/** The rules of a transaction whose rows are together, by their places. */
interface SlotPart {
  readonly slot: number
  readonly rules: readonly number[]
}

interface Slots {
  /** Takes from the rows of one slot, or from none; rejects with a StoreFailure. */
  readonly askPart: (part: Transaction) => Promise<Answer>
  /** Not waited for. */
  readonly giveBack: (answer: Answer) => void
}

async function combineSlotAnswers(
  slots: Slots,
  transaction: Transaction,
  parts: readonly SlotPart[],
  isNearLimit: boolean,
): Promise<Answer> {
  const partsToAsk = parts.map(({ rules }) => partOf(transaction, rules))
  const answers = isNearLimit
    ? await oneByOne(slots, partsToAsk)
    : await allAtOnce(slots, partsToAsk)
  const allowed = answers.every((answer) => answer.allowed)
  const decidedAt = Math.max(...answers.map((answer) => answer.decidedAt))
  const whole = Answer.open(transaction, decidedAt, allowed)
  for (const [n, { rules }] of parts.entries()) {
    const part = answers[n]!
    for (const [i, rule] of rules.entries()) {
      const count = transaction.rules[rule]!.limits.length
      whole.copyLimits(whole.firstOf(rule), part, part.firstOf(i), count)
    }
    if (!allowed) showUntaken(part, rules, whole)
  }
  if (!allowed) giveBack(slots, answers)
  return whole
}

async function allAtOnce(slots: Slots, partsToAsk: readonly Transaction[]): Promise<Answer[]> {
  const settled = await Promise.allSettled(partsToAsk.map((part) => slots.askPart(part)))
  const answers = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = settled.find((result) => result.status === 'rejected')
  if (failed === undefined) return answers
  giveBack(slots, answers)
  throw failed.reason
}

/** After a denial the other slots are asked as a dry run. */
async function oneByOne(slots: Slots, partsToAsk: readonly Transaction[]): Promise<Answer[]> {
  const answers: Answer[] = []
  try {
    for (const part of partsToAsk) {
      const isDenied = answers.some(({ allowed }) => !allowed)
      answers.push(await slots.askPart(isDenied ? withParts(part, { dryRun: true }) : part))
    }
  } catch (failure) {
    giveBack(slots, answers)
    throw failure
  }
  return answers
}

/** Not waited for: until it arrives others may be denied what is on its way back. */
function giveBack(slots: Slots, answers: readonly Answer[]): void {
  for (const answer of answers)
    if (answer.allowed && !answer.transaction.dryRun) slots.giveBack(answer)
}

/** The whole is denied: what a part took is shown as if it had not been taken. */
function showUntaken(part: Answer, rules: readonly number[], whole: Answer): void {
  if (part.transaction.dryRun) return
  for (const one of part.each()) {
    // An id that was held before was only renewed.
    const isRenewal = one.limit.numbers.kind === CONCURRENCY && part.markRest(one.index) === 0
    if (!part.wasTaken(one.index) || isRenewal) continue
    const rule = rules[one.ruleIndex]!
    const limit = whole.firstOf(rule) + one.index - part.firstOf(one.ruleIndex)
    untake(one, costOf(part.transaction, one.ruleIndex), part.decidedAt, whole, limit)
  }
}

/** Exact for buckets; of others the reset time may be that of the take which is given back. */
function untake(
  { limit: { numbers } }: AnsweredLimit,
  cost: number,
  now: number,
  whole: Answer,
  limit: number,
): void {
  const difference = Math.min(numbers.burst, whole.difference(limit) + cost)
  whole.setDifference(limit, difference)
  if (numbers.kind === BUCKET) {
    span(cost, numbers)
    whole.setResetAt(limit, Math.max(now, whole.mark(limit) - spanned[0]!))
  } else if (difference === numbers.burst) whole.setResetAt(limit, now)
}
