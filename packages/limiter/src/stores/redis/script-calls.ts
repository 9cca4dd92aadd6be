/**
 * Runs the script: by its SHA, by its text where Redis does not have it, and once more where the first attempt
 * certainly did not run and there is time. Each operation fails when its deadline has passed; after that
 * nothing is sent again for it.
 */
import { createHash } from 'node:crypto'
import type { DegradedReason } from '../answer.js'
import type { Deadline, Timers } from '../deadlines.js'
import type { Call, CallOutcome, HearCalls } from '../remote-store.js'
import { StoreFailure } from '../store.js'
import { type RedisPort, type Reply, STILL_CONNECTING } from './redis-client.js'
import { SCRIPT } from './script.js'
import type { ScriptOperation } from './script-operation.js'
import { argumentsOf, ScriptReply } from './script-protocol.js'
import type { StoreClock } from './store-clock.js'

const SHA = createHash('sha1').update(SCRIPT).digest('hex')

/** Milliseconds before what did not run is sent once more. */
const PAUSE_MS = 25
/** Milliseconds before a node that is still being connected to is tried again, and for how long a beat goes on trying. */
const CONNECTING_PAUSE_MS = 5
const LONGEST_CONNECTING_MS = 100

/** What Redis says before it does anything; a script stops there at its first write. */
const REFUSALS =
  /\b(OOM|READONLY|LOADING|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOAUTH|NOPERM|WRONGPASS)\b/
/** Those that may be over in a moment. */
const PASSING = /\b(READONLY|LOADING|CLUSTERDOWN|MASTERDOWN)\b/
/** Nothing was sent. */
const NOT_SENT =
  /isn't writeable|isn't ready|The client is (closed|offline)|ECONNREFUSED|Cannot find node/

export interface CallParts {
  readonly port: RedisPort
  readonly timers: Timers
  readonly clock: StoreClock
}

/** Told of operations that were not answered, or are to be asked again with other calendar bounds. */
export interface UnansweredHandler {
  failed(operations: readonly ScriptOperation[], failure: StoreFailure): void
  again(operation: ScriptOperation): void
}

/** Operations of one slot that go in one call. */
export interface Batch {
  readonly operations: readonly ScriptOperation[]
  /** When the first was asked, by the steady clock in milliseconds. */
  readonly askedAt: number
}

export class ScriptCalls {
  readonly #parts: CallParts
  /** Calls since the start; further attempts are not counted. */
  count = 0
  hear: HearCalls = { started() {}, ended() {} }

  constructor(parts: CallParts) {
    this.#parts = parts
  }

  run(batch: Batch, unanswered: UnansweredHandler): void {
    this.count++
    const { operations } = batch
    const node = this.#parts.port.nodeOf(operations[0]!.slot)
    const call = { node, isBeat: operations.every(({ isBeat }) => isBeat) }
    new RunningCall(call, batch, this.#parts, this.hear, unanswered).attempt('EVALSHA', false)
  }
}

/** A call until it is answered, has failed, or none of its operations has time left. */
class RunningCall {
  readonly #operations: readonly ScriptOperation[]
  readonly #askedAt: number
  readonly #parts: CallParts
  readonly #hear: HearCalls
  readonly #unanswered: UnansweredHandler
  readonly #call: Call
  readonly #startedAt: number
  #deadline: Deadline
  /** It is on its way: what it asks may be done. */
  #isSent = false
  #isTold = false

  constructor(
    call: Call,
    { operations, askedAt }: Batch,
    parts: CallParts,
    hear: HearCalls,
    unanswered: UnansweredHandler,
  ) {
    this.#operations = operations
    this.#askedAt = askedAt
    this.#parts = parts
    this.#hear = hear
    this.#unanswered = unanswered
    this.#call = call
    this.#startedAt = parts.timers.now()
    this.#deadline = this.#nextDeadline()
    hear.started(call)
  }

  attempt(command: 'EVALSHA' | 'EVAL', isLast: boolean): void {
    const operations = this.#waiting
    const { port, clock } = this.#parts
    let reply: Promise<Reply>
    const failed = (error: unknown) => this.#attemptFailed(error, command, isLast)
    try {
      clock.asking(operations[0]!.now)
      const { keys, args } = argumentsOf(operations, clock.scriptTime, clock.packed)
      reply = port.run(command, command === 'EVALSHA' ? SHA : SCRIPT, keys, args)
    } catch (error) {
      return failed(error)
    }
    this.#isSent = true
    reply.then((answer) => this.#answered(operations, answer), failed)
  }

  #answered(operations: readonly ScriptOperation[], reply: Reply): void {
    this.#deadline.meet()
    this.#tell('answered')
    this.#parts.clock.answered(operations[0]!.now, this.#askedAt, reply[0] as number)
    const read = new ScriptReply(reply)
    for (let i = 0; i < operations.length; i++) {
      const operation = operations[i]!
      try {
        if (!operation.read(read) && !operation.isOver) this.#unanswered.again(operation)
      } catch (error) {
        operation.fail(new StoreFailure('store_refused', 'unknown', error))
      }
    }
  }

  #attemptFailed(error: unknown, command: 'EVALSHA' | 'EVAL', isLast: boolean): void {
    if (this.#waiting.length === 0) return
    const message = error instanceof Error ? error.message : String(error)
    if (command === 'EVALSHA' && message.startsWith('NOSCRIPT')) return this.attempt('EVAL', isLast)
    const failure = failureOf(error, message)
    if (failure.undone === 'not_done') {
      this.#isSent = false
      // Nothing was sent: the client is still connecting to that node, and there is time.
      if (message.startsWith(STILL_CONNECTING) && this.#hasTime && !this.#isLongBeat)
        return this.#attemptAgain(command, isLast, CONNECTING_PAUSE_MS)
      const mayPass = PASSING.test(message) || NOT_SENT.test(message)
      // Asking the same again would not do while a slot is on the move.
      if (mayPass && !isLast && !isMoving(failure) && this.#hasTime)
        return this.#attemptAgain('EVALSHA', true, PAUSE_MS)
    }
    // A slot on the move says nothing of its node.
    this.#fail(this.#waiting, failure, isMoving(failure) ? 'undecided' : 'failed')
  }

  #attemptAgain(command: 'EVALSHA' | 'EVAL', isLast: boolean, afterMs: number): void {
    setTimeout(() => {
      if (this.#waiting.length > 0) this.attempt(command, isLast)
    }, afterMs)
  }

  get #waiting(): readonly ScriptOperation[] {
    const { length } = this.#operations
    for (let i = 0; i < length; i++)
      if (this.#operations[i]!.isOver) return this.#operations.filter(({ isOver }) => !isOver)
    return this.#operations
  }

  /** Some operation has time for another attempt. */
  get #hasTime(): boolean {
    const soon = this.#parts.timers.now() + PAUSE_MS
    return this.#waiting.some(({ deadline }) => deadline > soon)
  }

  /** A beat has much time, which is not for trying a node that is not there. */
  get #isLongBeat(): boolean {
    const ms = this.#parts.timers.now() - this.#startedAt
    return this.#call.isBeat && ms > LONGEST_CONNECTING_MS
  }

  #nextDeadline(): Deadline {
    let next = Number.POSITIVE_INFINITY
    for (const { deadline, isOver } of this.#operations)
      if (!isOver && deadline < next) next = deadline
    return this.#parts.timers.deadline(next, () => this.#missed())
  }

  #missed(): void {
    const now = this.#parts.timers.now()
    const late = this.#waiting.filter(({ deadline }) => deadline <= now)
    const failure = new StoreFailure('store_timeout', this.#isSent ? 'unknown' : 'not_done')
    this.#deadline = NO_DEADLINE
    this.#fail(late, failure, 'late')
    if (this.#waiting.length > 0) this.#deadline = this.#nextDeadline()
  }

  #fail(operations: readonly ScriptOperation[], failure: StoreFailure, outcome: CallOutcome): void {
    this.#deadline.meet()
    this.#parts.port.findOwners()
    this.#tell(outcome)
    this.#unanswered.failed(operations, failure)
  }

  #tell(outcome: CallOutcome): void {
    if (this.#isTold) return
    this.#isTold = true
    const ms = this.#parts.timers.now() - this.#startedAt
    const { node, isBeat } = this.#call
    this.#hear.ended({ node, isBeat, outcome, ms })
  }
}

const NO_DEADLINE: Deadline = { meet() {} }

function failureOf(error: unknown, message: string): StoreFailure {
  const refused = REFUSALS.test(message)
  let reason: DegradedReason = 'store_unreachable'
  if (refused || /^(ERR|WRONGTYPE|NOSCRIPT|CROSSSLOT)\b/.test(message)) reason = 'store_refused'
  return new StoreFailure(reason, refused || NOT_SENT.test(message) ? 'not_done' : 'unknown', error)
}

/** Whether nothing was done because a slot is in migration and its keys are not all in one place. */
export function isMoving({ message, undone }: StoreFailure): boolean {
  return undone === 'not_done' && /\bTRYAGAIN\b|Too many Cluster redirections/.test(message)
}
