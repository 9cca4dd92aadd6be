/**
 * The rows that most decisions are about, in bounded memory, by the method called space saving: a row
 * without a place takes the place with the smallest count and goes on from that count, which is the new
 * row's error.
 *
 * - A place's count minus its error is what was counted of its row since it got the place. That is never too
 *   high, and too low by at most the error.
 * - The smallest count is at most the sum of all counts divided by the number of places. No error is larger,
 *   and a row without a place had no more than that.
 * - What was counted of a row that loses its place is added to the sums of its rule, so the sums of a rule
 *   stay exact.
 * - Halving makes older decisions count less, and keeps these proportions.
 *
 * Usage and hot rows are two such tables: of two seconds and of the last minute (docs/decisions/0020).
 *
 * Hot code: a row that has a place costs a lookup and an addition. One that has none takes the next of the
 * smallest places, which is found by going round.
 */

/** A rule whose rows are counted. */
export class CountedRule {
  /** Places of its rows, by subject value; kept by the table. */
  readonly places = new Map<string, number>()
  /** What was counted of rows that have no place any more. */
  seen = 0
  denied = 0
  amount = 0
}

/** What was counted of one row since it got its place. */
export interface CountedRow<R extends CountedRule> {
  readonly rule: R
  readonly value: string
  readonly seen: number
  readonly denied: number
  readonly amount: number
}

/** A row that is halved to less than this gives up its place. */
const LEAST = 0.5

export class HeaviestRows<R extends CountedRule> {
  /** By place: denied decisions, and a second number that the caller chooses. */
  readonly denied: Float64Array
  readonly amount: Float64Array
  readonly #size: number
  readonly #keptText: (value: string) => string
  readonly #counts: Float64Array
  readonly #errors: Float64Array
  readonly #rules: (R | null)[] = []
  readonly #values: string[] = []
  /** Places below `#used` that are free. */
  #free: number[] = []
  #used = 0
  /** Some row lost its place. */
  #isFull = false
  /** No count was smaller when the round began; and how far the round has come. */
  #smallest = 0
  #next = 0

  /** `keptText`: the text that is kept of a row's value; of tables that keep rows for long `ownText`. */
  constructor(size: number, keptText: (value: string) => string = (value) => value) {
    this.#size = size
    this.#keptText = keptText
    this.#counts = new Float64Array(size)
    this.#errors = new Float64Array(size)
    this.denied = new Float64Array(size)
    this.amount = new Float64Array(size)
  }

  /** Counts one decision about a row; returns the row's place. */
  count(rule: R, value: string): number {
    const place = rule.places.get(value) ?? this.#take(rule, value)
    this.#counts[place]!++
    return place
  }

  #take(rule: R, text: string): number {
    const place = this.#free.pop() ?? (this.#used < this.#size ? this.#used++ : this.#evict())
    const value = this.#keptText(text)
    this.#errors[place] = this.#counts[place]!
    this.#rules[place] = rule
    this.#values[place] = value
    rule.places.set(value, place)
    return place
  }

  #evict(): number {
    const place = this.#smallestPlace()
    this.#addToRule(place)
    this.#isFull = true
    return place
  }

  /** The row loses its name; the count stays, and is the error of the next row here. */
  #addToRule(place: number): void {
    const rule = this.#rules[place]!
    rule.places.delete(this.#values[place]!)
    rule.seen += this.seen(place)
    rule.denied += this.denied[place]!
    rule.amount += this.amount[place]!
    this.denied[place] = 0
    this.amount[place] = 0
  }

  /** Counts only grow until they are halved, so places that the round has passed stay larger. */
  #smallestPlace(): number {
    for (;;) {
      for (; this.#next < this.#size; this.#next++)
        if (this.#counts[this.#next]! <= this.#smallest) return this.#next
      this.#next = 0
      this.#smallest = Number.POSITIVE_INFINITY
      for (const count of this.#counts) if (count < this.#smallest) this.#smallest = count
    }
  }

  /**
   * Takes the names of all but the heaviest `most` rows, and of rows that had hardly more than rows without a
   * place. Returns how many more decisions any row may have had than are counted under its name. Only `clear`
   * may follow.
   */
  keepHeaviest(most: number): number {
    if (!this.#isFull && this.#used <= most) return 0
    const ascending = this.#counts.slice(0, this.#used).sort()
    let largestUnnamed = ascending[this.#used - most - 1] ?? 0
    if (this.#isFull) largestUnnamed = Math.max(largestUnnamed, ascending[0]! + 1)
    for (let place = 0; place < this.#used; place++)
      if (this.#counts[place]! <= largestUnnamed) this.#addToRule(place)
    return largestUnnamed
  }

  /** Everything counts half as much as before. */
  halve(): void {
    for (const numbers of [this.#counts, this.#errors, this.denied, this.amount])
      for (let place = 0; place < this.#used; place++) numbers[place]! /= 2
    for (let place = 0; place < this.#used; place++) {
      const rule = this.#rules[place]!
      if (rule === null || this.#counts[place]! >= LEAST) continue
      rule.places.delete(this.#values[place]!)
      this.#rules[place] = null
      this.#free.push(place)
      for (const numbers of [this.#counts, this.denied, this.amount]) numbers[place] = 0
    }
    this.#smallest = 0
    this.#next = 0
  }

  /** Forgets all rows. */
  clear(): void {
    for (const numbers of [this.#counts, this.denied, this.amount]) numbers.fill(0, 0, this.#used)
    this.#rules.length = 0
    this.#values.length = 0
    this.#free = []
    this.#used = 0
    this.#isFull = false
    this.#smallest = 0
    this.#next = 0
  }

  /** What was counted at a place since its row got it. */
  seen(place: number): number {
    return this.#counts[place]! - this.#errors[place]!
  }

  *[Symbol.iterator](): IterableIterator<CountedRow<R>> {
    for (const [place, rule] of this.#rules.entries())
      if (rule !== null)
        yield {
          rule,
          value: this.#values[place]!,
          seen: this.seen(place),
          denied: this.denied[place]!,
          amount: this.amount[place]!,
        }
  }
}

/** The same text on its own: a text that was cut from a long body keeps the whole body in memory. */
export function ownText(text: string): string {
  return ` ${text}`.slice(1)
}
