/**
 * Who is counted by name. So many subjects have a place, with numbers of their own; when all are taken, a
 * sketch says who deserves one: whose estimate exceeds the smallest place takes it, and what had been
 * counted there goes to the others of its rule. Places only grow, so the smallest does too: whoever is
 * outside has had no more than that.
 */
import { Sketch } from './sketch.js'

/** Subjects that are counted together where they have no place. */
export interface Owner {
  /** By value. */
  readonly places: Map<string, number>
  /** Where the others are counted: a place that is nobody's. */
  readonly others: number
}

const FIRST_ROOM = 64

export class Places {
  /** By place: subjects first, then the others of each owner. */
  allowed: Float64Array
  denied: Float64Array
  cost: Float64Array
  readonly #most: number
  /** What a subject may have had before it got its place. */
  readonly #before: Float64Array
  readonly #values: string[] = []
  readonly #owners: Owner[] = []
  readonly #sketch: Sketch
  #taken = 0
  #others = 0
  /** The smallest place, and where to look for one next. */
  #smallest = 0
  #next = 0
  #isFull = false

  constructor(most: number) {
    this.#most = most
    this.allowed = new Float64Array(most + FIRST_ROOM)
    this.denied = new Float64Array(most + FIRST_ROOM)
    this.cost = new Float64Array(most + FIRST_ROOM)
    this.#before = new Float64Array(most)
    this.#sketch = new Sketch(4 * 2 ** Math.ceil(Math.log2(most)))
  }

  /** A place for the others of a new owner. */
  forOthers(): number {
    const others = this.#most + this.#others++
    if (others >= this.allowed.length) {
      this.allowed = grown(this.allowed)
      this.denied = grown(this.denied)
      this.cost = grown(this.cost)
    }
    return others
  }

  /** The place of a subject that has none: a free one, the smallest, or that of the others. */
  find(owner: Owner, value: string): number {
    if (this.#taken < this.#most) return this.#give(this.#taken++, owner, value, 0)
    const estimate = this.#sketch.add(owner.others, value)
    if (!this.#isFull) {
      this.#isFull = true
      this.#smallest = this.#lowest()
    }
    if (estimate <= this.#smallest) return owner.others
    const place = this.#smallestPlace()
    if (estimate <= this.#smallest) return owner.others
    this.#evict(place)
    return this.#give(place, owner, value, estimate - 1)
  }

  #give(place: number, owner: Owner, value: string, before: number): number {
    this.#before[place] = before
    this.#values[place] = value
    this.#owners[place] = owner
    owner.places.set(value, place)
    return place
  }

  /** What it may have had in all. */
  #weight(place: number): number {
    return this.#before[place]! + this.allowed[place]! + this.denied[place]!
  }

  #lowest(): number {
    let lowest = Number.POSITIVE_INFINITY
    for (let place = 0; place < this.#taken; place++) lowest = Math.min(lowest, this.#weight(place))
    return lowest
  }

  /** A place that is no larger than any other. What was passed over is larger, and stays so. */
  #smallestPlace(): number {
    for (;;) {
      for (; this.#next < this.#most; this.#next++)
        if (this.#weight(this.#next) <= this.#smallest) return this.#next
      this.#next = 0
      this.#smallest = this.#lowest()
    }
  }

  /** Its counts go to the others; the sketch goes on from what it may have had. */
  #evict(place: number): void {
    const owner = this.#owners[place]!
    const value = this.#values[place]!
    this.#sketch.atLeast(owner.others, value, this.#weight(place))
    this.#fold(place)
    owner.places.delete(value)
  }

  #fold(place: number): void {
    const { others } = this.#owners[place]!
    for (const numbers of [this.allowed, this.denied, this.cost]) {
      numbers[others]! += numbers[place]!
      numbers[place] = 0
    }
  }

  /**
   * Leaves no name to who cannot be told from those outside. Answers how many decisions more than are
   * under its name any subject may have had.
   */
  settle(): number {
    if (!this.#isFull) return 0
    const smallest = this.#lowest()
    for (let place = 0; place < this.#taken; place++)
      if (this.allowed[place]! + this.denied[place]! <= smallest) this.#fold(place)
    return 2 * smallest
  }

  clear(): void {
    for (const numbers of [this.allowed, this.denied, this.cost]) {
      numbers.fill(0, 0, this.#taken)
      numbers.fill(0, this.#most, this.#most + this.#others)
    }
    this.#values.length = 0
    this.#owners.length = 0
    this.#sketch.clear()
    this.#taken = 0
    this.#others = 0
    this.#smallest = 0
    this.#next = 0
    this.#isFull = false
  }
}

function grown(array: Float64Array): Float64Array {
  const larger = new Float64Array(array.length * 2)
  larger.set(array)
  return larger
}
