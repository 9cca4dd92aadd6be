/**
 * What stands between a limiter and a store that may be slow, away or coming back: deadlines, the breaker,
 * the fallback, and a return that does not fall upon the store all at once: rows come back at random
 * within 100 ms, at most 16 calls in flight at first, twice as many every 100 ms.
 */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import {
  DECIDED_AT,
  type DegradedReason,
  type LimitChange,
  type Transaction,
  type Verdicts,
} from '../store.js'
import { Breaker, type BreakerState } from './breaker.js'
import { type Deadline, Deadlines } from './deadlines.js'
import { Instances } from './instances.js'
import { LocalFallback } from './local-fallback.js'
import { rowKey, Sightings } from './sightings.js'

const SPREAD_MS = 100
const FIRST_CALLS = 16
/** After this long nothing is held back. */
const RAMP_MS = 1000
/** A beat that is not answered is forgotten after this long, whatever the client does with it. */
const LONGEST_BEAT_MS = 10_000

export interface SafetyNetOptions {
  readonly deadlineMs: number
  readonly instances: number
  /** The store's time at this instance's time, as far as is known. */
  readonly storeTime: (now: number) => number
  /** Milliseconds that never go back, for the breaker and the return. */
  readonly now: () => number
}

export class SafetyNet {
  readonly local: LocalFallback
  readonly #deadlines: Deadlines
  readonly #breaker: Breaker
  readonly #now: () => number
  readonly #sightings = new Sightings()
  readonly #instances: Instances
  #inFlight = 0
  /** Beats that are not answered, and since when. */
  #beatsOut = 0
  #beatAt = 0

  constructor({ deadlineMs, instances, storeTime, now }: SafetyNetOptions) {
    this.#now = now
    this.#breaker = new Breaker(now)
    this.#deadlines = new Deadlines(deadlineMs)
    this.#instances = new Instances(instances)
    this.local = new LocalFallback({
      sightings: this.#sightings,
      instances: this.#instances,
      storeTime,
    })
  }

  get state(): BreakerState {
    return this.#breaker.state
  }

  get instances(): number {
    return this.#instances.count
  }

  refuses(transaction: Transaction): DegradedReason | null {
    // What only looks proves nothing about a store that cannot write.
    if (transaction.dryRun && this.#breaker.state !== 'closed') return 'breaker_open'
    if (!this.admits()) return 'breaker_open'
    const sinceMs = this.#now() - this.#breaker.closedAt
    if (sinceMs > RAMP_MS) return null
    return this.#holdsBack(transaction, sinceMs) ? 'store_returning' : null
  }

  #holdsBack({ rules, values }: Transaction, sinceMs: number): boolean {
    if (this.#inFlight >= FIRST_CALLS * 2 ** Math.floor(sinceMs / SPREAD_MS)) return true
    if (sinceMs > SPREAD_MS) return false
    return rules.some((rule, i) => delayOf(rowKey(rule, values[i]!)) > sinceMs)
  }

  decide(transaction: Transaction, reason: DegradedReason): Verdicts {
    return this.local.decide(transaction, reason)
  }

  owed(transaction: Transaction): readonly LimitChange[] {
    return this.local.owed(transaction)
  }

  saw(
    rule: CompiledRule,
    value: string,
    taken: number,
    cost: number,
    verdicts: Verdicts,
    at: number,
  ): void {
    this.#sightings.note(rule, value, taken, cost, verdicts, at)
    this.local.forget(rule, value, verdicts[DECIDED_AT]!)
  }

  leftOf(rule: CompiledRule, value: string): number {
    return this.#sightings.leftOf(rule, value)
  }

  counted(instances: number): void {
    this.#instances.saw(instances)
  }

  deadline(missed: () => void): Deadline {
    return this.#deadlines.set(missed)
  }

  started(missed: () => void): Deadline {
    this.#inFlight++
    return this.#deadlines.set(missed)
  }

  /**
   * Whether something that writes may be asked now: half-open it is the probe. A beat that is not answered
   * has found out already that it would wait in vain, and what is written to a connection that is dead
   * would keep the client from noticing.
   */
  admits(): boolean {
    if (this.#beatsOut > 0 && this.#breaker.state !== 'closed' && this.isBeatOut) return false
    return this.#breaker.admits()
  }

  beatSent(reply: Promise<unknown>): void {
    this.#beatsOut++
    this.#beatAt = this.#now()
    const settled = () => {
      this.#beatsOut--
    }
    reply.then(settled, settled)
  }

  get isBeatOut(): boolean {
    return this.#beatsOut > 0 && this.#now() < this.#beatAt + LONGEST_BEAT_MS
  }

  ended(): void {
    this.#inFlight--
  }

  /** A connection was made, or other servers are in charge: what was refused may be answered now. */
  reconnected(): void {
    this.#breaker.probeSoon()
  }

  /** A beat was answered. */
  sawAnswer(): void {
    this.#breaker.sawAnswer()
  }

  undecided(): void {
    this.#inFlight--
    this.#breaker.undecided()
  }

  succeeded(): void {
    this.#inFlight--
    this.#breaker.succeeded()
  }

  failed(): void {
    this.#inFlight--
    this.#breaker.failed()
  }
}

/** When a row comes back: milliseconds from 0 to SPREAD_MS, by its name. */
function delayOf(key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  return (hash >>> 0) % SPREAD_MS
}
