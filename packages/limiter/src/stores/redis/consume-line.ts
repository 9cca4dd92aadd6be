/**
 * Transactions on their way to Redis. All of one turn of the event loop go in one call, at most 64, for
 * each slot; in a slot that is on the move between nodes each goes alone.
 */
import type { LeaseAnswer, LeaseAsk } from '../leased/lease-port.js'
import {
  costOf,
  type DegradedReason,
  IdempotencyConflict,
  IdempotencyInProgress,
  StoreFailure,
  type Transaction,
  type Verdicts,
} from '../store.js'
import { type Answers, leaseAnswerOf, skip, verdictsOf } from './consume-answers.js'
import { type Asked, consumeArguments } from './consume-arguments.js'
import { describeTransaction, fingerprintOf } from './idempotency-record.js'
import type { Places } from './places.js'
import type { Reply } from './redis-client.js'
import type { Replays } from './replays.js'
import type { RuleLayout } from './rule-layout.js'
import type { Safeguard } from './safeguard.js'
import { isTryAgain, Script, type ScriptCalls } from './script-calls.js'
import { CONSUME } from './scripts.js'
import type { StoreClock } from './store-clock.js'

/** A script of more would keep Redis for too long: transactions of one bucket rule, or fewer that weigh more. */
const MOST_IN_A_CALL = 64
/** How long the rows of a slot that is on the move are asked for one by one. */
const SPLIT_MS = 1000
/** Before a slot that is on the move is asked again. */
const MOVING_PAUSE_MS = 10
/** Longer than this before a transaction comes here, and it has waited for something. */
const WAITED_MS = 2
/** How often other calendar bounds may be needed. */
const MOST_ASKS = 3

const script = new Script(CONSUME)

type Resolve = (verdicts: Verdicts) => void
type Reject = (error: unknown) => void

interface Pending extends Asked {
  readonly slot: number
  readonly resolve: Resolve
  readonly reject: Reject
  /** Of a lease, instead of `resolve`. */
  readonly leased: ((answer: LeaseAnswer) => void) | null
  /** Part of a transaction in several slots: whoever asked deals with failures. */
  readonly isPart: boolean
  readonly startedAt: number
  /** It began to be decided before it came here. */
  readonly hasWaited: boolean
  asks: number
  /** Its keys were created, because their slot is on the move. */
  isCreated: boolean
}

export interface LineParts {
  readonly calls: ScriptCalls
  readonly places: Places
  readonly clock: StoreClock
  readonly replays: Replays
  readonly safeguard: Safeguard
  readonly deadlineMs: number
  /** Decides a transaction whose rows are in one slot, but not on one node, row by row. */
  readonly split: (transaction: Transaction) => Promise<Verdicts>
  /** Creates a row, and what it keeps beside, one by one. */
  readonly create: (key: string, layout: RuleLayout, now: number) => Promise<unknown>
  readonly beforeSending: (now: number) => void
}

export class ConsumeLine {
  readonly #parts: LineParts
  readonly #saw: Safeguard['saw']
  readonly #batches = new Map<number, Pending[]>()
  readonly #weights = new Map<number, number>()
  readonly #splitUntil = new Map<number, number>()
  #isScheduled = false

  constructor(parts: LineParts) {
    this.#parts = parts
    const { safeguard } = parts
    this.#saw = (rule, value, taken, cost, verdicts, at) =>
      safeguard.saw(rule, value, taken, cost, verdicts, at)
  }

  /** Answered by the safeguard where Redis does not. `since`: when it began to be decided, by `performance.now`. */
  ask(transaction: Transaction, slot: number, since = performance.now()): Promise<Verdicts> {
    return new Promise((resolve, reject) => {
      if (performance.now() >= since + this.#parts.deadlineMs)
        this.degrade(transaction, 'store_timeout', resolve, reject)
      else this.#push(this.#pending(transaction, slot, false, since, resolve, reject))
    })
  }

  /** Rejects with a StoreFailure where Redis does not answer. */
  askPart(transaction: Transaction, slot: number): Promise<Verdicts> {
    return new Promise((resolve, reject) =>
      this.#push(this.#pending(transaction, slot, true, performance.now(), resolve, reject)),
    )
  }

  /** Goes along with what is asked in this turn; rejects with a StoreFailure where Redis does not answer. */
  lease(
    ask: LeaseAsk,
    transaction: Transaction,
    leased: (answer: LeaseAnswer) => void,
    reject: Reject,
  ): void {
    const { places } = this.#parts
    const { rule, value } = ask
    this.#push({
      transaction,
      layouts: [places.layoutOf(rule)],
      keys: [places.rowKey(rule.family, value)],
      once: null,
      lease: ask,
      slot: places.slotOfRow(rule.family, value),
      resolve: () => {},
      leased,
      reject,
      isPart: true,
      startedAt: performance.now(),
      hasWaited: false,
      asks: 0,
      isCreated: false,
    })
  }

  /** The slot's keys are on their way to another node. */
  isSplit(slot: number): boolean {
    return this.#splitUntil.size > 0 && (this.#splitUntil.get(slot) ?? 0) > performance.now()
  }

  #pending(
    transaction: Transaction,
    slot: number,
    isPart: boolean,
    startedAt: number,
    resolve: Resolve,
    reject: Reject,
  ): Pending {
    const { places } = this.#parts
    const { rules, values, idempotency, dryRun } = transaction
    const layouts: RuleLayout[] = []
    const keys: string[] = []
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      layouts.push(places.layoutOf(rule))
      keys.push(places.rowKey(rule.family, values[i]!))
    }
    let once: Asked['once'] = null
    if (idempotency !== null && !dryRun)
      once = [
        places.recordKey(transaction),
        fingerprintOf(idempotency),
        describeTransaction(transaction),
      ]
    return {
      transaction,
      layouts,
      keys,
      once,
      lease: null,
      slot,
      resolve,
      leased: null,
      reject,
      isPart,
      startedAt,
      hasWaited: performance.now() - startedAt > WAITED_MS,
      asks: 0,
      isCreated: false,
    }
  }

  #push(pending: Pending): void {
    const { slot } = pending
    if (this.isSplit(slot)) return this.#send([pending])
    const batch = this.#batches.get(slot)
    const before = this.#weights.get(slot) ?? 0
    const weight = before + weightOf(pending)
    if (batch !== undefined && weight <= MOST_IN_A_CALL) {
      batch.push(pending)
      this.#weights.set(slot, weight)
    } else {
      if (batch !== undefined) this.#send(batch)
      this.#batches.set(slot, [pending])
      this.#weights.set(slot, weightOf(pending))
    }
    if (weight === MOST_IN_A_CALL) {
      const full = this.#batches.get(slot)!
      this.#batches.delete(slot)
      this.#weights.delete(slot)
      this.#send(full)
    } else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#flush())
    }
  }

  #flush(): void {
    this.#isScheduled = false
    const batches = [...this.#batches.values()]
    this.#batches.clear()
    this.#weights.clear()
    for (const batch of batches) this.#send(batch)
  }

  /** `isAgain`: what was asked before has no more time than it had. */
  #send(batch: readonly Pending[], isAgain = false): void {
    const { calls, clock, deadlineMs } = this.#parts
    const failed = (failure: StoreFailure) => this.#failed(batch, failure)
    try {
      const { now } = batch[0]!.transaction
      this.#parts.beforeSending(now)
      const sentAt = clock.asking(now)
      const { keys, args } = consumeArguments(batch, clock.told, clock.packed)
      const call = { script, keys, args, isTold: true }
      const read = (reply: Reply) => {
        clock.answered(now, sentAt, reply[0] as number)
        this.#read(batch, reply)
      }
      const waited = isAgain ? batch : batch.filter(({ hasWaited }) => hasWaited)
      if (waited.length === 0) return calls.run(call, read, failed)
      const notAfter = Math.min(...waited.map(({ startedAt }) => startedAt)) + deadlineMs
      // With little time left it says nothing of Redis if that was not enough.
      const isTold = isAgain || notAfter - performance.now() > deadlineMs / 2
      calls.run({ ...call, notAfter, isTold }, read, failed)
    } catch (error) {
      failed(new StoreFailure('store_refused', false, error))
    }
  }

  #read(batch: readonly Pending[], reply: Reply): void {
    const [time, letters, texts, ...records] = reply as [number, Buffer, Buffer, ...Buffer[]]
    const now = Math.abs(time)
    const answers = { now, letters, texts, records, letterAt: 0, textAt: 0, recordAt: 0 }
    for (let i = 0; i < batch.length; i++) {
      const pending = batch[i]!
      try {
        this.#readOne(pending, String.fromCharCode(letters[answers.letterAt++]!), answers)
      } catch (error) {
        this.#failed([pending], new StoreFailure('store_refused', true, error))
      }
    }
  }

  #readOne(pending: Pending, letter: string, answers: Answers): void {
    const { transaction, once, resolve, reject } = pending
    const { replays } = this.#parts
    if (pending.leased !== null && letter === '1') {
      pending.leased(leaseAnswerOf(pending, answers, this.#saw))
      return
    }
    if (letter === '1' || letter === '0') {
      const verdicts = verdictsOf(pending, letter === '1', answers, this.#saw)
      if (once !== null && letter === '1') replays.note(once[0], transaction, verdicts)
      resolve(verdicts)
      return
    }
    skip(pending, answers)
    if (letter === 'r')
      resolve(replays.answer(transaction, once![0], answers.records[answers.recordAt++]!))
    else if (letter === 'c') reject(new IdempotencyConflict())
    else if (letter === 'p') reject(new IdempotencyInProgress())
    else if (letter === 'b' && pending.asks++ < MOST_ASKS) this.#push(pending)
    else this.#failed([pending], new StoreFailure('store_refused', false))
  }

  #failed(batch: readonly Pending[], failure: StoreFailure): void {
    const isMoving = isTryAgain(failure)
    if (isMoving) this.#noteMove(batch[0]!.slot)
    for (const pending of batch) {
      const { transaction, isPart, resolve, reject } = pending
      const hasTime = performance.now() - pending.startedAt < 0.8 * this.#parts.deadlineMs
      if (isMoving && hasTime && pending.lease === null) this.#askMoving(pending, batch.length > 1)
      else if (isPart) reject(failure)
      else this.degrade(transaction, failure.reason, resolve, reject)
    }
  }

  /** The slot is on the move, and nothing was done: with fewer keys it can be, or in a moment. */
  #askMoving(pending: Pending, wasInBatch: boolean): void {
    const { transaction, keys, layouts, isPart, resolve, reject } = pending
    if (wasInBatch) this.#send([pending], true)
    else if (keys.length > 1 && !isPart) this.#parts.split(transaction).then(resolve, reject)
    else if (layouts[0]!.besides.length > 0 && !pending.isCreated) this.#createAndSend(pending)
    else setTimeout(() => this.#send([pending], true), MOVING_PAUSE_MS)
  }

  /** A row and what it keeps beside: once all of them are there, they are all where the slot moves to. */
  #createAndSend(pending: Pending): void {
    pending.isCreated = true
    const again = () => this.#send([pending], true)
    const { keys, layouts, transaction } = pending
    this.#parts.create(keys[0]!, layouts[0]!, transaction.now).then(again, again)
  }

  #noteMove(slot: number): void {
    if (this.#splitUntil.size > 1000) this.#splitUntil.clear()
    this.#splitUntil.set(slot, performance.now() + SPLIT_MS)
  }

  /** The answer without Redis. */
  degrade(
    transaction: Transaction,
    reason: DegradedReason,
    resolve: Resolve,
    reject: Reject,
  ): void {
    try {
      resolve(this.#parts.safeguard.decide(transaction, reason))
    } catch (conflict) {
      reject(conflict)
    }
  }
}

/** What a transaction may cost Redis: many rules, a walk through a log, an entry for each place that is held. */
function weightOf({ transaction, layouts, lease }: Pending): number {
  let weight = lease === null ? 1 : 4
  for (let i = 0; i < layouts.length; i++) {
    const layout = layouts[i]!
    weight += 1 / 8
    if (layout.besides.length === 0) continue
    weight += layout.longestLog / 512
    if (transaction.holdId !== '') weight += costOf(transaction, i) / 16
  }
  return Math.min(MOST_IN_A_CALL, Math.floor(weight))
}
