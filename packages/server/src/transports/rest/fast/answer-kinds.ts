/** The variants of an answer, numbered: one for each combination of `include`, and one for the shape of the previous release. */
import { type AnswerKind, INCLUDES, type Include } from '@sluice/contract'

/** A bit for each include. */
export const INCLUDE_BITS = Object.fromEntries(INCLUDES.map((name, i) => [name, 1 << i])) as {
  readonly [I in Include]: number
}

/** The shape of the previous release: one more than all includes together. */
export const FULL = 1 << INCLUDES.length

/** By number. */
export const ANSWER_KINDS: readonly AnswerKind[] = Array.from(
  { length: FULL + 1 },
  (_, number) => ({
    include: INCLUDES.filter((name) => (number & INCLUDE_BITS[name]) !== 0),
    isFull: number === FULL,
  }),
)
