/** How many bytes of unfinished requests are kept for all connections together: each has its limit, and all of them one more. */
const MOST_BYTES = 256 * 1024 * 1024

export class BodyBudget {
  #bytes = 0

  /** Whether so many bytes more may be kept; then they are counted. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > MOST_BYTES) return false
    this.#bytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }
}
