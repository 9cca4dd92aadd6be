/** One deadline for all that a decision asks, however often it asks. */
import { Deadlines } from '../guarded/deadlines.js'

export interface Patience {
  /** The answer, or null where there is none in time; what comes too late is told to `late`. */
  wait<T>(work: Promise<T>, late: (result: T) => void): Promise<T | null>
  end(): void
}

export class TimeLimit {
  readonly #deadlines: Deadlines

  constructor(deadlineMs: number) {
    this.#deadlines = new Deadlines(deadlineMs)
  }

  begin(): Patience {
    let isOver = false
    let giveUp = () => {}
    const deadline = this.#deadlines.set(() => {
      isOver = true
      giveUp()
    })
    return {
      wait: <T>(work: Promise<T>, late: (result: T) => void) =>
        new Promise<T | null>((resolve) => {
          giveUp = () => resolve(null)
          const answered = (result: T) => (isOver ? late(result) : resolve(result))
          // What fails is as if it had not been asked.
          work.then(answered, () => resolve(null))
          if (isOver) giveUp()
        }),
      end: () => deadline.meet(),
    }
  }
}
