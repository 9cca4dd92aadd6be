/**
 * Asks for leases, reports what became of them, and serves the requests that wait meanwhile. At most one lease of a row
 * is on its way, and a report is sent at most once: if its outcome is unknown, the tokens that it gave back are gone, no
 * lease was granted, and what it reported stays reported.
 */
import type { LeasingStore } from '../leasing.js'
import type { LeaseTime } from './lease-time.js'
import type { LeasedRow } from './leased-row.js'

/** When leases are short, at most so many waiting requests ask the store at a time. */
const ASK_AT_ONCE = 64

/** What became of leases since the start. */
export class LeaseTally {
  /** Tokens; lost are those that ended in nobody's hands, or whose return nobody has heard of. */
  granted = 0
  spent = 0
  returned = 0
  lost = 0
  /** Decisions about leased rows: from memory, by the store, and by the store although the row had a lease. */
  local = 0
  asked = 0
  empty = 0
  /** Rows with a lease, a moment ago. */
  rows = 0
}

export class LeaseCalls {
  readonly #store: LeasingStore
  readonly #time: LeaseTime
  readonly #tally: LeaseTally
  /** Calls whose answers are waited for, and who waits for the last of them. */
  #inFlight = 0
  #onIdle: (() => void) | null = null

  constructor(store: LeasingStore, time: LeaseTime, tally: LeaseTally) {
    this.#store = store
    this.#time = time
    this.#tally = tally
  }

  /** `missing`: what those want who wait, besides what the rate asks for. */
  ask(row: LeasedRow, wall: number, steady: number, missing = 0): void {
    const want = row.want(steady, missing)
    if (want > 0) this.call(row, want, 0, steady, wall)
  }

  giveBack(row: LeasedRow, back: number, steady: number, wall: number): void {
    if (back > 0) this.call(row, 0, back, steady, wall)
  }

  /** Reports and, if any are wanted, asks. */
  call(row: LeasedRow, want: number, back: number, steady: number, wall: number): void {
    const { rule, value } = row
    const { sent: reports, ended } = row.reports(back, steady, wall)
    const returned = reports.reduce((sum, report) => sum + report.back, 0)
    if (want === 0 && reports.length === 0) return
    this.#tally.lost += ended
    this.#tally.returned += returned - ended
    if (want > 0) row.isCalling = true
    this.#inFlight++
    const over = () => {
      this.#inFlight--
      if (row.isLeft) this.leave([row])
      if (this.#inFlight === 0) this.#onIdle?.()
      if (want === 0) return
      row.isCalling = false
      // After those whose answers came with it, so that a no of theirs answers others too.
      queueMicrotask(() => this.#serve(row))
    }
    this.#store.lease(
      { rule, value, reports, want, now: wall, deadline: steady + this.#time.deadlineMs },
      (reply) => {
        this.#tally.granted += reply.granted
        row.granted(reply, want, { steady, wall }, this.#time.steady())
        over()
      },
      (failure) => {
        const kept = failure.undone === 'unknown' ? 0 : row.unreport(reports)
        this.#tally.returned -= returned - ended
        this.#tally.lost += returned - ended - kept
        row.pause(this.#time.steady())
        over()
      },
    )
  }

  /** Those who have waited: with a lease that is large enough for all of them, or near the limit one call after the other. */
  #serve(row: LeasedRow): void {
    const waiting = row.waiting.filter(({ isOver }) => !isOver)
    row.waiting = []
    if (waiting.length === 0) return
    const steady = this.#time.steady()
    const wall = this.#time.wall() - waiting.at(-1)!.clockDifferenceUs
    const missing = waiting.reduce((sum, { cost }) => sum + cost, -row.unspent)
    if (missing > 0 && !row.isPaused(steady)) this.ask(row, wall, steady, missing)
    const before = this.#tally.asked
    for (const one of waiting) {
      const isFull = this.#tally.asked - before >= ASK_AT_ONCE
      if (isFull && !row.isCalling) this.ask(row, wall, steady)
      one.decideAgain()
    }
    const isAsking = row.isCalling || this.#tally.asked === before
    if (!isAsking && !row.isPaused(steady)) this.ask(row, wall, steady)
  }

  /** Reports and drops what is held of these rows; what they are granted later is given back. */
  leave(rows: Iterable<LeasedRow>): void {
    const [steady, wall] = [this.#time.steady(), this.#time.wall()]
    for (const row of rows) {
      this.call(row, 0, row.unspent, steady, wall)
      this.#tally.lost += row.leave()
    }
  }

  /** Resolves when no call is in flight. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
      if (this.#inFlight === 0) resolve()
    })
  }
}
