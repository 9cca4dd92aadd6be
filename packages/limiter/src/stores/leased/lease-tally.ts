/** What became of leases since the start. */
export class LeaseTally {
  /** Tokens; lost are those that ended in nobody's hands, or whose return nobody has heard of. */
  granted = 0
  spent = 0
  returned = 0
  lost = 0
  /** Decisions about rows that are leased: from memory, and by the store; and of the latter those that found a lease empty. */
  local = 0
  asked = 0
  empty = 0
  /** Rows with a lease, a moment ago. */
  rows = 0
}
