/**
 * What may happen once: giving back a receipt, settling a reservation. Whoever asks again gets the first
 * answer; whoever asks while the first is under way is told so.
 */

/** How long the answer is remembered, and a receipt good for. */
export const GOOD_FOR_MS = 3_600_000

/** Another request under the same id is under way, or was cut off: what became of it is not known. */
export class UnderWay extends Error {}

/** Nobody can say whether it was done before. */
export class NobodyKnows extends Error {}

export interface Once {
  /**
   * Runs `work` unless it was run under this id before; its answer, or the first one's. `since`: when the
   * id was given out, in milliseconds since the epoch.
   */
  run(id: string, since: number, work: () => Promise<string>): Promise<string>
}

const MOST = 100_000

/** In this process; bounded. What may have been forgotten is not run again. */
export class OnceInMemory implements Once {
  #young = new Map<string, Promise<string>>()
  #old = new Map<string, Promise<string>>()
  #youngSince = 0
  #oldSince = 0
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  async run(id: string, since: number, work: () => Promise<string>): Promise<string> {
    const now = this.#now()
    if (now >= this.#youngSince + GOOD_FOR_MS || this.#young.size >= MOST) {
      this.#old = this.#young
      this.#oldSince = this.#youngSince
      this.#young = new Map()
      this.#youngSince = now
    }
    const known = this.#young.get(id) ?? this.#old.get(id)
    if (known !== undefined) return known
    if (since < this.#oldSince) throw new NobodyKnows('it may have been used, and forgotten')
    const answer = work()
    this.#young.set(id, answer)
    return answer
  }
}
