/**
 * The heaviest values of a stream in bounded memory, by the method called space saving: a value without a
 * place takes the smallest one and goes on from its count, which from then on is the value's error.
 *
 * So `count - error` is what was seen of a value since it got its place: never too high, and too low by at
 * most its error, which is at most the sum of all counts by the number of places; whoever had more than
 * that has a place. Halving ages all alike and leaves these proportions as they are.
 *
 * Hot code: a known value costs a lookup; a new one takes the next of the smallest, found by going round.
 */

/** Whose values they are. */
export interface Owner {
  /** By value; kept by the table. */
  readonly places: Map<string, number>
}

/** What is known of one value. */
export interface Heavy<O> {
  readonly owner: O
  readonly value: string
  /** Since it got its place, aged; as are the others. */
  readonly seen: number
  readonly asked: number
  readonly denied: number
}

/** What has aged to less than this makes room. */
const LEAST = 0.5

export class HotTable<O extends Owner> {
  readonly #most: number
  readonly #free: number[] = []
  readonly #owners: (O | null)[]
  readonly #values: string[] = []
  readonly #counts: Float64Array
  readonly #errors: Float64Array
  readonly #asked: Float64Array
  readonly #denied: Float64Array
  /** No place was smaller when the round began; and how far the round has come. */
  #smallest = 0
  #next = 0

  constructor(most: number) {
    this.#most = most
    this.#owners = Array.from({ length: most }, () => null)
    for (let place = most - 1; place >= 0; place--) this.#free.push(place)
    this.#counts = new Float64Array(most)
    this.#errors = new Float64Array(most)
    this.#asked = new Float64Array(most)
    this.#denied = new Float64Array(most)
  }

  add(owner: O, value: string, isAsked: boolean, isDenied: boolean): void {
    const place = owner.places.get(value) ?? this.#take(owner, value)
    this.#counts[place]!++
    if (isAsked) this.#asked[place]!++
    if (isDenied) this.#denied[place]!++
  }

  #take(owner: O, text: string): number {
    const place = this.#free.pop() ?? this.#evicted()
    // A text of its own: this one may be a part of a long body, and would keep that.
    const value = ` ${text}`.slice(1)
    this.#errors[place] = this.#counts[place]!
    this.#asked[place] = 0
    this.#denied[place] = 0
    this.#owners[place] = owner
    this.#values[place] = value
    owner.places.set(value, place)
    return place
  }

  #evicted(): number {
    const place = this.#smallestPlace()
    this.#owners[place]!.places.delete(this.#values[place]!)
    return place
  }

  /** Counts only grow until the next halving: what the round has passed over is larger, and stays so. */
  #smallestPlace(): number {
    for (;;) {
      for (; this.#next < this.#most; this.#next++)
        if (this.#counts[this.#next]! <= this.#smallest) return this.#next
      this.#next = 0
      this.#smallest = Math.min(...this.#counts)
    }
  }

  /** Everything counts half as much as before. */
  halve(): void {
    for (const numbers of [this.#counts, this.#errors, this.#asked, this.#denied])
      for (let place = 0; place < this.#most; place++) numbers[place]! /= 2
    for (const [place, owner] of this.#owners.entries()) {
      if (owner === null || this.#counts[place]! >= LEAST) continue
      owner.places.delete(this.#values[place]!)
      this.#counts[place] = 0
      this.#owners[place] = null
      this.#free.push(place)
    }
    this.#smallest = 0
    this.#next = 0
  }

  *[Symbol.iterator](): IterableIterator<Heavy<O>> {
    for (const [place, owner] of this.#owners.entries())
      if (owner !== null)
        yield {
          owner,
          value: this.#values[place]!,
          seen: this.#counts[place]! - this.#errors[place]!,
          asked: this.#asked[place]!,
          denied: this.#denied[place]!,
        }
  }
}
