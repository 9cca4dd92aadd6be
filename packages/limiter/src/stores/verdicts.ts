/** Room for answers: arrays of doubles from the start, so that V8 keeps them as such. */
import { VERDICT_WIDTH } from '../algorithms/verdict.js'
import { FIRST_VERDICT } from './store.js'

const BLANK: readonly number[] = Array.from({ length: 1024 }, () => 0.5)

/** Room for the verdicts of so many limits; what it holds means nothing yet. */
export function newVerdicts(limits: number): number[] {
  // A literal costs a third of a slice, so the common sizes are spelled out.
  // biome-ignore format: a row for each limit
  switch (limits) {
    case 1: return [.5, .5, .5,  .5, .5, .5, .5, .5, .5, .5]
    case 2: return [.5, .5, .5,  .5, .5, .5, .5, .5, .5, .5,  .5, .5, .5, .5, .5, .5, .5]
    case 3: return [.5, .5, .5,  .5, .5, .5, .5, .5, .5, .5,  .5, .5, .5, .5, .5, .5, .5,  .5, .5, .5, .5, .5, .5, .5]
    default: {
      const length = FIRST_VERDICT + limits * VERDICT_WIDTH
      return length <= BLANK.length ? BLANK.slice(0, length) : Array.from({ length }, () => 0.5)
    }
  }
}
