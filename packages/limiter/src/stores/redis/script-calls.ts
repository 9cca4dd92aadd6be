/**
 * Runs scripts: by their SHA, by their text where Redis does not have them, within a deadline, and once
 * more within the same deadline where the first attempt certainly did not run. After a timeout nothing is
 * sent again.
 */
import { createHash } from 'node:crypto'
import { type DegradedReason, StoreFailure } from '../store.js'
import { type RedisPort, type Reply, STILL_CONNECTING } from './redis-client.js'

export class Script {
  readonly text: string
  readonly sha: string

  constructor(text: string) {
    this.text = text
    this.sha = createHash('sha1').update(text).digest('hex')
  }
}

export interface Deadline {
  /** By `performance.now`. */
  readonly at: number
  /** It is over in time. */
  meet(): void
}

/** What is told of every call, and sets its deadline. */
export interface CallWatch {
  /** Calls `missed` unless the deadline is met in time. */
  started(missed: () => void): Deadline
  succeeded(): void
  failed(): void
  /** It went along with another, and says nothing of its own. */
  ended(): void
  /** It was answered, but not by a Redis that could do it: a slot is on the move. */
  undecided(): void
}

export interface ScriptCall {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
  /** Whether its outcome is to be told: not of what goes along with other calls. */
  readonly isTold: boolean
  /** The server may not have the script, and must not lose a moment: it is sent in full. */
  readonly isInFull?: boolean
  /** By `performance.now`, where it must be over before its own deadline. */
  readonly notAfter?: number
  /** Is given the reply of each attempt, which may come long after the deadline. */
  readonly sent?: (reply: Promise<unknown>) => void
}

/** Milliseconds before what did not run is sent once more. */
const PAUSE_MS = 25
/** Milliseconds before a node that is being connected to is tried. */
const CONNECTING_PAUSE_MS = 5

/** What Redis says before it does anything; a script stops there at its first write. */
const REFUSALS =
  /\b(OOM|READONLY|LOADING|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOAUTH|NOPERM|WRONGPASS)\b/
/** Those that may be over in a moment. */
const PASSING = /\b(READONLY|LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\b/
/** Nothing was sent. */
const NOT_SENT =
  /isn't writeable|isn't ready|The client is (closed|offline)|ECONNREFUSED|Cannot find node/

export class ScriptCalls {
  readonly #port: RedisPort
  readonly #watch: CallWatch
  /** So many were run since the start. */
  count = 0

  constructor(port: RedisPort, watch: CallWatch) {
    this.#port = port
    this.#watch = watch
  }

  /** Calls one of the two, once. */
  run(call: ScriptCall, answered: (reply: Reply) => void, failed: (failure: StoreFailure) => void) {
    this.count++
    const command = call.isInFull === true ? 'EVAL' : 'EVALSHA'
    new RunningCall(this.#port, this.#watch, call, answered, failed).attempt(command, false)
  }
}

/** A call until it is answered, has failed, or has missed its deadline: whichever comes first. */
class RunningCall {
  readonly #deadline: Deadline
  #isOver = false

  constructor(
    private readonly port: RedisPort,
    private readonly watch: CallWatch,
    private readonly call: ScriptCall,
    private readonly answered: (reply: Reply) => void,
    private readonly failed: (failure: StoreFailure) => void,
  ) {
    const missed = () => this.#fail(new StoreFailure('store_timeout', true))
    this.#deadline = watch.started(missed)
    if (call.notAfter !== undefined)
      setTimeout(missed, Math.max(0, call.notAfter - performance.now())).unref()
  }

  attempt(command: 'EVALSHA' | 'EVAL', isLast: boolean): void {
    const { script, keys, args } = this.call
    const failed = (error: unknown) => this.#failed(error, command, isLast)
    let reply: Promise<Reply>
    try {
      reply = this.port.run(command, command === 'EVALSHA' ? script.sha : script.text, keys, args)
    } catch (error) {
      return failed(error)
    }
    this.call.sent?.(reply)
    reply.then(this.#answered, failed)
  }

  readonly #answered = (reply: Reply): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline.meet()
    if (this.call.isTold) this.watch.succeeded()
    else this.watch.ended()
    this.answered(reply)
  }

  #failed(error: unknown, command: 'EVALSHA' | 'EVAL', isLast: boolean): void {
    if (this.#isOver) return
    const message = error instanceof Error ? error.message : String(error)
    if (command === 'EVALSHA' && message.startsWith('NOSCRIPT')) return this.attempt('EVAL', isLast)
    const failure = failureOf(error, message)
    const hasTime = performance.now() + PAUSE_MS < this.#end
    // Nothing was sent: the client is still connecting to that node, and there is time.
    if (message.startsWith(STILL_CONNECTING) && hasTime)
      return this.#again(command, isLast, CONNECTING_PAUSE_MS)
    const mayPass = PASSING.test(message) || NOT_SENT.test(message)
    // A slot on the move is whoever asked's to deal with: asking the same again would not do.
    const isMoving = isTryAgain(failure)
    if (isLast || failure.mayHaveRun || !mayPass || isMoving || !hasTime) return this.#fail(failure)
    this.#again('EVALSHA', true, PAUSE_MS)
  }

  #again(command: 'EVALSHA' | 'EVAL', isLast: boolean, afterMs: number): void {
    setTimeout(() => {
      if (!this.#isOver) this.attempt(command, isLast)
    }, afterMs)
  }

  get #end(): number {
    return Math.min(this.#deadline.at, this.call.notAfter ?? Number.POSITIVE_INFINITY)
  }

  #fail(failure: StoreFailure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline.meet()
    this.port.findOwners()
    if (!this.call.isTold) this.watch.ended()
    else if (isTryAgain(failure)) this.watch.undecided()
    else this.watch.failed()
    this.failed(failure)
  }
}

function failureOf(error: unknown, message: string): StoreFailure {
  const refused = REFUSALS.test(message)
  let reason: DegradedReason = 'store_unreachable'
  if (refused || /^(ERR|WRONGTYPE|NOSCRIPT|CROSSSLOT)\b/.test(message)) reason = 'store_refused'
  return new StoreFailure(reason, !refused && !NOT_SENT.test(message), error)
}

/** Whether a slot is in migration, and the keys are not all in one place. Nothing was done. */
export function isTryAgain(failure: StoreFailure): boolean {
  return /\bTRYAGAIN\b|Too many Cluster redirections/.test(failure.message)
}
