/**
 * How many subjects get rows of their own in a span. Whoever rotates through names must not fill the
 * database: when the budget of a minute or a day is spent, those that are new in it are stored under
 * null, unless they are heavy. Kept by each recorder for itself.
 */

/** Batches of a few spans come at once: of several instances, or late. */
const SPANS = 4

export class NamesBudget {
  readonly #most: number
  readonly #spanMs: number
  readonly #named = new Map<number, Set<string>>()

  constructor(most: number, spanMs: number) {
    this.#most = most
    this.#spanMs = spanMs
  }

  /** Whether it may have a row of its own. */
  allows(at: number, key: string): boolean {
    const span = Math.floor(at / this.#spanMs)
    let named = this.#named.get(span)
    if (named === undefined) {
      named = new Set()
      this.#named.set(span, named)
      if (this.#named.size > SPANS) this.#named.delete(Math.min(...this.#named.keys()))
    }
    if (named.size >= this.#most) return named.has(key)
    named.add(key)
    return true
  }
}
