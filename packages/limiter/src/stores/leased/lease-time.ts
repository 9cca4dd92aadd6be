/** The clocks that leases live by. A lease has ended when the steady clock or the wall clock says so. */
import type { Timers } from '../deadlines.js'

export interface LeaseTime extends Pick<Timers, 'deadline' | 'deadlineMs'> {
  /** Milliseconds that never go back, but may stand still while the machine is suspended. */
  steady(): number
  /** Microseconds since the epoch by this instance's clock, which may be set, but goes on meanwhile. */
  wall(): number
  /** The store's time at this instance's time, as far as is known. */
  storeTime(wall: number): number
  /** Calls `step` again and again, this many milliseconds apart, until what is returned is called. */
  every(ms: number, step: () => void): () => void
}

export function systemTime(timers: Timers, storeTime: (wall: number) => number): LeaseTime {
  return {
    steady: timers.now,
    wall: () => Date.now() * 1000,
    storeTime,
    deadlineMs: timers.deadlineMs,
    deadline: (at, missed) => timers.deadline(at, missed),
    every: (ms, step) => {
      const timer = setInterval(step, ms)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}
