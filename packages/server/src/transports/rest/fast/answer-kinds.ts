/** The kinds of answers that the fast path writes, as small numbers: what was asked for besides, or all of it. */
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
