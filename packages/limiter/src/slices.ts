/**
 * Long work in short slices: a generator that yields wherever it may be interrupted. Drained at once it
 * is an ordinary function; run in slices it lets the event loop have its turn, so that deciding goes on.
 */

/** Work that may be interrupted wherever it yields. */
export type Slices<T> = Generator<undefined, T, undefined>

/** How many of anything are worked on between two yields: well under a millisecond. */
export const STEP = 100

/** How long the event loop waits for a slice, in milliseconds. */
const SLICE_MS = 4

export interface Pace {
  /** Milliseconds; `performance.now` unless given. */
  readonly now?: () => number
  /** Lets others have their turn; the end of this turn of the event loop unless given. */
  readonly pause?: () => Promise<void>
}

/** All of it, now. */
export function drain<T>(slices: Slices<T>): T {
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
  }
}

/** All of it, a few milliseconds at a time. */
export async function inSlices<T>(slices: Slices<T>, pace: Pace = {}): Promise<T> {
  const { now = () => performance.now(), pause = endOfTurn } = pace
  for (let started = now(); ; ) {
    const step = slices.next()
    if (step.done === true) return step.value
    if (now() - started < SLICE_MS) continue
    await pause()
    started = now()
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
