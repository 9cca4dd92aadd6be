/** The entries of one sliding log: a ring of (stamp, cost) pairs that doubles when it is full. */
import type { LogEntries } from '../../../algorithms/sliding-log.js'

export class LogRing implements LogEntries {
  #pairs = new Float64Array(8)
  #first = 0
  #count = 0

  get bytes(): number {
    return this.#pairs.byteLength
  }

  count(): number {
    return this.#count
  }

  stamp(i: number): number {
    return this.#pairs[this.#place(i)]!
  }

  cost(i: number): number {
    return this.#pairs[this.#place(i) + 1]!
  }

  setCost(i: number, cost: number): void {
    this.#pairs[this.#place(i) + 1] = cost
  }

  push(stamp: number, cost: number): void {
    if (2 * this.#count === this.#pairs.length) this.#resize(2 * this.#pairs.length)
    this.#count++
    const place = this.#place(this.#count - 1)
    this.#pairs[place] = stamp
    this.#pairs[place + 1] = cost
  }

  dropOldest(n: number): void {
    this.#first = (this.#first + n) & (this.#pairs.length / 2 - 1)
    this.#count -= n
    if (this.#pairs.length > 8 && 16 * this.#count < this.#pairs.length)
      this.#resize(this.#pairs.length / 4)
  }

  dropNewest(): void {
    this.#count--
  }

  /** Index of the i-th entry's stamp. The length is a power of two. */
  #place(i: number): number {
    return 2 * ((this.#first + i) & (this.#pairs.length / 2 - 1))
  }

  #resize(length: number): void {
    const pairs = new Float64Array(Math.max(8, length))
    for (let i = 0; i < this.#count; i++) {
      pairs[2 * i] = this.stamp(i)
      pairs[2 * i + 1] = this.cost(i)
    }
    this.#pairs = pairs
    this.#first = 0
  }
}

/** What a row without a log looks at. */
export const NO_ENTRIES: LogEntries = new LogRing()
