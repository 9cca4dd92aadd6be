/**
 * The array of numbers of an answer: whether it is allowed, when it was decided and why it is degraded, then
 * VERDICT_WIDTH numbers for each limit. Only hot code and what reads replies knows these positions (an import rule
 * says which files); everything else asks the answer by name.
 */
import { VERDICT_WIDTH } from '../algorithms/verdict.js'

export const ALLOWED = 0
export const DECIDED_AT = 1
/** 0, or 1 + the reason's place in DEGRADED_REASONS: the answer was given without the store. */
export const DEGRADED = 2
export const FIRST_VERDICT = 3

const BLANK: readonly number[] = Array.from({ length: 1024 }, () => 0.5)

/** Room for the numbers of so many limits: doubles from the start, so that V8 keeps them as such. What it holds means nothing yet. */
export function newNumbers(limits: number): number[] {
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
