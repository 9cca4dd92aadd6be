/**
 * Operations on their way to Redis. All of one turn of the event loop go in one call for each slot, in order, as
 * many as a call may hold; in a slot that is on the move between nodes each goes alone.
 */
import type { Timers } from '../deadlines.js'
import { StoreFailure } from '../store.js'
import { type Batch, isMoving, type ScriptCalls, type UnansweredHandler } from './script-calls.js'
import { MOST_IN_A_CALL, type ScriptOperation } from './script-operation.js'

/** How long the rows of a slot that is on the move are asked for one by one. */
const MOVING_MS = 1000
/** Before a slot that is on the move is asked again. */
const MOVING_PAUSE_MS = 10
/** How often an operation is sent with other calendar bounds. */
const MOST_ASKS = 3
/** Slots on the move that are remembered. */
const MOST_MOVING = 1000

interface PendingBatch extends Batch {
  readonly operations: ScriptOperation[]
  weight: number
}

export class OperationQueue implements UnansweredHandler {
  readonly #calls: ScriptCalls
  readonly #timers: Timers
  /** Creates the keys of an operation one by one. */
  readonly #create: (operation: ScriptOperation) => Promise<unknown>
  readonly #batches = new Map<number, PendingBatch>()
  readonly #movingUntil = new Map<number, number>()
  #isScheduled = false

  constructor(
    calls: ScriptCalls,
    timers: Timers,
    create: (operation: ScriptOperation) => Promise<unknown>,
  ) {
    this.#calls = calls
    this.#timers = timers
    this.#create = create
  }

  push(operation: ScriptOperation): void {
    const { slot, weight } = operation
    if (this.isMoving(slot)) return this.#sendAlone(operation)
    let batch = this.#batches.get(slot)
    if (batch !== undefined && batch.weight + weight > MOST_IN_A_CALL) {
      this.#send(batch)
      batch = undefined
    }
    if (batch === undefined) {
      batch = { operations: [], askedAt: this.#timers.now(), weight: 0 }
      this.#batches.set(slot, batch)
    }
    batch.operations.push(operation)
    batch.weight += weight
    if (batch.weight === MOST_IN_A_CALL) {
      this.#batches.delete(slot)
      this.#send(batch)
    } else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.flush())
    }
  }

  /** The slot's keys are on their way to another node. */
  isMoving(slot: number): boolean {
    return this.#movingUntil.size > 0 && (this.#movingUntil.get(slot) ?? 0) > this.#timers.now()
  }

  /** Sends what was pushed, without waiting for the end of the turn. */
  flush(): void {
    this.#isScheduled = false
    const batches = [...this.#batches.values()]
    this.#batches.clear()
    for (const batch of batches) this.#send(batch)
  }

  #sendAlone(operation: ScriptOperation): void {
    this.#send({ operations: [operation], askedAt: this.#timers.now() })
  }

  /** What has no time left is not sent. */
  #send({ operations, askedAt }: Batch): void {
    const now = this.#timers.now()
    const inTime = operations.filter((operation) => operation.deadline > now)
    if (inTime.length > 0) this.#calls.run({ operations: inTime, askedAt }, this)
    if (inTime.length === operations.length) return
    const failure = new StoreFailure('store_timeout', 'not_done')
    for (const operation of operations) if (operation.deadline <= now) operation.fail(failure)
  }

  again(operation: ScriptOperation): void {
    if (operation.boundsAttempts++ < MOST_ASKS) this.push(operation)
    else operation.fail(new StoreFailure('store_refused', 'not_done'))
  }

  failed(operations: readonly ScriptOperation[], failure: StoreFailure): void {
    const isMove = isMoving(failure)
    if (isMove) this.#noteMove(operations[0]!.slot)
    for (const operation of operations) {
      const hasTime = this.#timers.now() + 2 * MOVING_PAUSE_MS < operation.deadline
      if (isMove && hasTime && operation.canWait) this.#askMoving(operation, operations.length > 1)
      else operation.fail(failure)
    }
  }

  /** The slot is on the move and nothing was done: sends it again with fewer keys, or a little later. */
  #askMoving(operation: ScriptOperation, wasInBatch: boolean): void {
    const again = () => this.#sendAlone(operation)
    if (wasInBatch) return again()
    if (operation.askRowByRow()) return
    const hasSideKeys = operation.layouts.some(({ sideKeys }) => sideKeys.length > 0)
    if (operation.keys.length === 1 && hasSideKeys && !operation.isCreated) {
      // Once every key exists, no command is refused for keys in two places.
      operation.isCreated = true
      this.#create(operation).then(again, again)
    } else setTimeout(again, MOVING_PAUSE_MS)
  }

  #noteMove(slot: number): void {
    if (this.#movingUntil.size > MOST_MOVING) this.#movingUntil.clear()
    this.#movingUntil.set(slot, this.#timers.now() + MOVING_MS)
  }
}
