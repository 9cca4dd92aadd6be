/**
 * Asking for leases, reporting what became of them, and serving those who wait meanwhile. At most one lease
 * is asked for at a time of a row, and a report is sent at most once: where nobody knows whether it was
 * heard, what was to be given back is gone, what was asked for was not granted, and what was reported stays
 * reported.
 */
import type { LeasePort } from './lease-port.js'
import type { LeaseTally } from './lease-tally.js'
import type { LeaseTime } from './lease-time.js'
import type { LeasedRow } from './leased-row.js'

/** Of those who wait, so many ask for themselves at a time where leases are short. */
const ASK_AT_ONCE = 64

export class LeaseCalls {
  readonly #port: LeasePort
  readonly #time: LeaseTime
  readonly #tally: LeaseTally
  readonly #deadlineMs: number
  /** Calls whose answers are waited for, and who waits for the last of them. */
  #inFlight = 0
  #quiet: (() => void) | null = null

  constructor(port: LeasePort, time: LeaseTime, tally: LeaseTally, deadlineMs: number) {
    this.#port = port
    this.#time = time
    this.#tally = tally
    this.#deadlineMs = deadlineMs
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
      if (this.#inFlight === 0) this.#quiet?.()
      if (want === 0) return
      row.isCalling = false
      // After those whose answers came with it, so that a no of theirs answers others too.
      queueMicrotask(() => this.#serve(row))
    }
    this.#port.lease(
      { rule, value, reports, want, now: wall },
      (answer) => {
        this.#tally.granted += answer.granted
        row.granted(answer, want, { steady, wall }, this.#time.steady())
        over()
      },
      (failure) => {
        const kept = failure.mayHaveRun ? 0 : row.unreport(reports)
        this.#tally.returned -= returned - ended
        this.#tally.lost += returned - ended - kept
        row.pause(this.#time.steady())
        over()
      },
    )
  }

  /** Those who have waited: with a lease that is large enough for all of them, or near the limit one call after the other. */
  #serve(row: LeasedRow): void {
    const { waiting } = row
    if (waiting.length === 0) return
    row.waiting = []
    const steady = this.#time.steady()
    const wall = this.#time.wall() - waiting.at(-1)!.ahead
    const missing = waiting.reduce((sum, { cost }) => sum + cost, -row.unspent)
    if (missing > 0 && !row.isTight(steady)) this.ask(row, wall, steady, missing)
    const before = this.#tally.asked
    for (const one of waiting) {
      const isFull = this.#tally.asked - before >= ASK_AT_ONCE
      if (isFull && !row.isCalling) this.ask(row, wall, steady)
      one.again(true)
    }
    const isAsking = row.isCalling || this.#tally.asked === before
    if (!isAsking && !row.isTight(steady)) this.ask(row, wall, steady)
  }

  /** Whoever has waited until his deadline is answered without the store. */
  release(row: LeasedRow, steady: number): void {
    const isLate = ({ since }: { since: number }) => steady - since >= this.#deadlineMs
    const late = row.waiting.filter(isLate)
    if (late.length === 0) return
    row.waiting = row.waiting.filter((one) => !isLate(one))
    for (const one of late) one.again(false)
  }

  /** Reports what is held of these rows, and holds it no longer; nor what they are granted yet. */
  leave(rows: Iterable<LeasedRow>): void {
    const [steady, wall] = [this.#time.steady(), this.#time.wall()]
    for (const row of rows) {
      this.call(row, 0, row.unspent, steady, wall)
      this.#tally.lost += row.leave()
    }
  }

  /** When every call was heard of. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#quiet = resolve
      if (this.#inFlight === 0) resolve()
    })
  }
}
