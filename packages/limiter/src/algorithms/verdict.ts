/**
 * The answer of one limit to one request: VERDICT_WIDTH numbers in a row of the answer array.
 * Times are integer microseconds. `decide` fills them as if nothing were taken; `take` corrects
 * REMAINING and RESET_AT once every limit of the request has said yes.
 */

/** Doubles side by side: a typed array in memory, a table in Lua. Indexed from 0 in both. */
export type Numbers = number[] | Float64Array

export const VERDICT_WIDTH = 7
/** One of status.ts: YES, NOT_NOW, NEVER, or OTHER_BOUNDS. */
export const STATUS = 0
/**
 * What a full counter holds less what is counted: the unit requests that would still pass at this instant.
 * It is negative where more is counted than the limit holds: a debt, or a limit that was lowered.
 */
export const REMAINING = 1
export const RESET_AT = 2
/** When the request may go: of a yes, now (leaky buckets: its turn); of a not-now, the first time that admits it. */
export const GO_AT = 3
/** What a later refund needs to find this take again: a bucket's TAT, a window's start, a log entry's stamp, a hold's expiry. */
export const MARK = 4
/** The mark's second number: the TAT's fraction; how much was taken of the others. */
export const MARK_REST = 5

/** The store's own: tokens that had been given back to the row before this take. */
export const GIVEN_BACK = 6
