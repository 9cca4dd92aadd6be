/**
 * What may happen once: giving back a receipt, settling a reservation. Whoever asks again gets the first
 * answer; whoever asks while the first is under way elsewhere is told so.
 */

/** How long the answer is remembered, and a receipt good for. */
export const GOOD_FOR_MS = 3_600_000

/** Another request under the same id is under way. */
export class InProgress extends Error {}

/** It was not done, and may be tried again: nobody could say whether it was done before, or do it. */
export class NotDone extends Error {}

/** It could not be recorded as used, so it was not done. The message says what to do. */
export class NotRecorded extends NotDone {}

/** It was begun, and whether it was done is not known: it is not done again. */
export class OutcomeUnknown extends Error {}

/** It may have been done before, and that was forgotten. */
export class Forgotten extends Error {}

export interface Once {
  /**
   * Runs `work` unless it was run under this id before; its answer, or the first one's. Work that throws
   * NotDone may be run again.
   */
  run(id: string, given: GivenOut, work: () => Promise<string>): Promise<string>
}

/** When an id was given out. A process numbers its own in order, so that no clock is needed to compare them. */
export interface GivenOut {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Its number; null where another process gave it out. */
  readonly number: number | null
  /** How many this process has given out so far. */
  readonly count: number
}

/** Where claims and answers are kept over restarts. */
export interface OnceJournal {
  /** What is kept: an answer, or null for a claim that was never answered. */
  readonly kept: Iterable<readonly [id: string, answer: string | null, at: number]>
  /** Since when it is complete. */
  readonly since: number
  /** Throws NotRecorded where it cannot be kept; then nothing may be done. */
  claimed(id: string, at: number): void
  answered(id: string, answer: string, at: number): void
  released(id: string, at: number): void
}

const MOST = 100_000

/** Stands until the work begins, in the same turn. */
const NOT_BEGUN = Promise.resolve('')

interface Used {
  promise: Promise<string>
  /** Null until it is answered. */
  answer: string | null
  /** Of the claim or the answer, in milliseconds since the epoch. */
  at: number
}

/** In this process, and a journal where there is one; bounded. What may have been forgotten is not run again. */
export class OnceInMemory implements Once {
  #young = new Map<string, Used>()
  #old = new Map<string, Used>()
  /** Ids of other processes that were given out before this time may be forgotten. It never goes back. */
  #youngSince: number
  #oldSince: number
  /** Ids of this process below this number may be forgotten. */
  #youngFrom = 0
  #oldFrom = 0
  readonly #now: () => number
  readonly #journal: OnceJournal | null

  constructor(now: () => number = Date.now, journal: OnceJournal | null = null) {
    this.#now = now
    this.#journal = journal
    this.#oldSince = journal?.since ?? now()
    this.#youngSince = now()
    for (const [id, answer, at] of journal?.kept ?? [])
      this.#young.set(id, { promise: keptAnswer(answer), answer, at })
  }

  /** Since when everything that was used is known, in milliseconds since the epoch. */
  get since(): number {
    return this.#oldSince
  }

  /** What is known to be used: an answer, or null where there is none yet. */
  *entries(): IterableIterator<readonly [id: string, answer: string | null, at: number]> {
    for (const used of [this.#old, this.#young])
      for (const [id, { answer, at }] of used) yield [id, answer, at]
  }

  async run(id: string, given: GivenOut, work: () => Promise<string>): Promise<string> {
    const now = this.#now()
    if (now >= this.#youngSince + GOOD_FOR_MS || this.#young.size >= MOST)
      this.#startGeneration(now, given.count)
    const known = this.#young.get(id) ?? this.#old.get(id)
    if (known !== undefined) return known.promise
    const { at, number } = given
    const mayBeForgotten = number === null ? at < this.#oldSince : number < this.#oldFrom
    if (mayBeForgotten) throw new Forgotten('it may have been used, and forgotten')
    this.#journal?.claimed(id, now)
    const used: Used = { promise: NOT_BEGUN, answer: null, at: now }
    this.#young.set(id, used)
    used.promise = this.#work(id, used, work)
    return used.promise
  }

  /** Forgets the old ones. `count`: how many this process has given out. */
  #startGeneration(now: number, count: number): void {
    this.#old = this.#young
    this.#oldSince = this.#youngSince
    this.#oldFrom = this.#youngFrom
    this.#young = new Map()
    this.#youngSince = Math.max(this.#youngSince, now)
    this.#youngFrom = count
  }

  async #work(id: string, used: Used, work: () => Promise<string>): Promise<string> {
    try {
      const answer = await work()
      used.answer = answer
      used.at = this.#now()
      this.#journal?.answered(id, answer, used.at)
      return answer
    } catch (error) {
      if (error instanceof NotDone) {
        this.#young.delete(id)
        this.#old.delete(id)
        this.#journal?.released(id, this.#now())
      }
      throw error
    }
  }
}

function keptAnswer(answer: string | null): Promise<string> {
  if (answer !== null) return Promise.resolve(answer)
  const cutOff = Promise.reject(new OutcomeUnknown('it was cut off'))
  cutOff.catch(() => {})
  return cutOff
}
