/** What the script in Redis can be asked, and how wide its arguments are. The Lua files use these names too. */

/** A transaction; the same, taking nothing. */
export const DECIDE = 0
export const LOOK = 1
export const LEASE = 2
export const REFUND = 3
export const GRANT = 4
export const CHARGE = 5
/** Makes what is used at least so much. */
export const RAISE = 6
export const RESET_ROW = 7
export const RENEW = 8
export const RELEASE = 9
/** Creates a key that does not exist, with nothing counted in it. */
export const CREATE = 10
/** Of idempotency records whose request is decided in several slots. */
export const CLAIM = 11
export const CONFIRM = 12
export const UNCLAIM = 13
/** This instance is there. */
export const BEAT = 14

/** Numbers before what an operation says of its rows: how often it is repeated, what it is, two of its own, how many pairs of numbers follow. Read by the script. @public */
export const HEAD = 5
/** Numbers of a report of a lease. */
export const REPORT_WIDTH = 6
/** Numbers of a change of one limit: its place from 1 on, the amount, of refunds what is known of the take, and one that is unused. */
export const ITEM_WIDTH = 8
/** Numbers of a lease's answer before its verdicts. */
export const LEASE_REPLY_WIDTH = 7
