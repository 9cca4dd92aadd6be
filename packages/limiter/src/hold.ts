/** A decision that holds a place until it is released: it renews itself, and dies with its process. */
import type { Allowed, Denied } from './decision.js'
import { type DecisionRecord, FullDecisionRecord } from './decision-record.js'
import type { HoldTicket } from './hold-ticket.js'
import type { NotConfirmed } from './stores/operation.js'

interface HoldActions extends AsyncDisposable {
  /** Aborted when the hold was lost: it could not be renewed before its time-out. */
  readonly signal: AbortSignal
  readonly lost: boolean
  /** Whether anything was held. */
  release(): Promise<boolean>
}

export type Hold = (Allowed & HoldActions) | (Denied & HoldActions)

interface Keeper {
  /** Its new expiry, 0 if it has been lost. */
  renew(ticket: HoldTicket): Promise<number | NotConfirmed>
  release(ticket: HoldTicket): Promise<boolean>
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

export class HoldRecord extends FullDecisionRecord {
  private readonly keeper: Keeper
  private ticket: HoldTicket | null
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly loss = new AbortController()
  /** By this process's clock: until then the hold is certainly held. */
  private heldUntil: number

  /** `askedAt`: when the hold was asked for, by `performance.now`. */
  constructor(decision: DecisionRecord, keeper: Keeper, askedAt: number) {
    super(...decision.parts)
    this.keeper = keeper
    this.ticket = this.hold
    this.heldUntil = askedAt + this.lifeMs
    this.schedule(askedAt)
  }

  /** A little less than the store gives it: clocks differ in speed. */
  private get lifeMs(): number {
    return 0.995 * (this.ticket?.timeoutMs ?? 0)
  }

  get signal(): AbortSignal {
    return this.loss.signal
  }

  get lost(): boolean {
    return this.loss.signal.aborted
  }

  /**
   * Less than a third of its life after it was asked for last, so that two renewals may fail and a third one still
   * has time.
   */
  private schedule(askedAt: number): void {
    if (this.ticket === null) return
    this.wait(askedAt + 0.3 * this.lifeMs - performance.now(), () => void this.renewOnce())
  }

  /** Calls once, after so many milliseconds or when the hold ends. The timer keeps no process alive. */
  private wait(ms: number, call: () => void): void {
    const left = Math.max(0, this.heldUntil - performance.now())
    clearTimeout(this.timer)
    this.timer = setTimeout(call, Math.max(0, Math.min(ms, left, LONGEST_TIMER_MS)))
    this.timer.unref()
  }

  private async renewOnce(): Promise<void> {
    const { ticket } = this
    if (ticket === null) return
    const askedAt = performance.now()
    if (askedAt >= this.heldUntil) return this.end()
    const renewing = this.keeper.renew(ticket)
    // The answer may come later than the hold ends.
    this.awaitEnd()
    const expiry = await renewing
    if (this.ticket === null) {
      // It was lost meanwhile, and would live on in the store.
      if (this.lost && expiry !== 0) this.keeper.release(ticket).catch(() => {})
      return
    }
    if (typeof expiry === 'number' && expiry > 0) this.heldUntil = askedAt + this.lifeMs
    if (expiry === 0 || performance.now() >= this.heldUntil) this.end()
    else this.schedule(askedAt)
  }

  private awaitEnd(): void {
    if (performance.now() >= this.heldUntil) this.end()
    else this.wait(LONGEST_TIMER_MS, () => this.awaitEnd())
  }

  private end(): void {
    clearTimeout(this.timer)
    this.ticket = null
    this.loss.abort(new Error('the hold was lost: it was not renewed before its time-out'))
  }

  async release(): Promise<boolean> {
    clearTimeout(this.timer)
    const { ticket } = this
    this.ticket = null
    return ticket === null ? false : this.keeper.release(ticket)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}
