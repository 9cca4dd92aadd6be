/** A decision that holds a place until it is released: it renews itself, and dies with its process. */
import type { Allowed, Denied } from './decision.js'
import { DecisionRecord } from './decision-record.js'
import type { HoldTicket } from './hold-ticket.js'

interface Holding extends AsyncDisposable {
  /** Aborted when the hold was lost: it could not be renewed before its time-out. */
  readonly signal: AbortSignal
  readonly lost: boolean
  /** Whether anything was held. */
  release(): Promise<boolean>
}

export type Hold = (Allowed & Holding) | (Denied & Holding)

interface Keeper {
  renew(ticket: HoldTicket): Promise<number | null>
  release(ticket: HoldTicket): Promise<boolean>
}

export class HoldRecord extends DecisionRecord {
  private readonly keeper: Keeper
  private ticket: HoldTicket | null
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly loss = new AbortController()

  constructor(decision: DecisionRecord, keeper: Keeper) {
    super(...decision.parts)
    this.keeper = keeper
    this.ticket = this.hold
    this.schedule()
  }

  get signal(): AbortSignal {
    return this.loss.signal
  }

  get lost(): boolean {
    return this.loss.signal.aborted
  }

  /** A third of its life, so that two renewals may fail. The timer keeps no process alive. */
  private schedule(): void {
    if (this.ticket === null) return
    this.timer = setTimeout(
      () => void this.renewOnce(),
      Math.min(this.ticket.timeoutMs / 3, 2 ** 31 - 1),
    )
    this.timer.unref()
  }

  private async renewOnce(): Promise<void> {
    if (this.ticket === null) return
    const expiry = await this.keeper.renew(this.ticket).catch(() => undefined)
    if (this.ticket === null) return
    if (expiry === null) {
      this.ticket = null
      this.loss.abort(new Error('the hold was lost: it was not renewed before its time-out'))
    } else this.schedule()
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
