/** Rows on their way out of a table: fingerprint and counters, one after the other, without handles. */
import type { Segment } from '../table/segment.js'

export class RowBuffer {
  /** How many rows it has. */
  count = 0
  #doubles = new Float64Array(256)
  #integers = new Int32Array(this.#doubles.buffer)
  #length = 0

  /** `width`: how many counters the row that starts at `row` has. */
  add(segment: Segment, row: number, width: number): void {
    this.#reserve(1 + width)
    const at = this.#length
    const doubles = this.#doubles
    // The fingerprint is no number: as one it might be a NaN, whose bits need not survive.
    this.#integers[2 * at] = segment.fingerprintA(row)
    this.#integers[2 * at + 1] = segment.fingerprintB(row)
    for (let i = 1; i <= width; i++) doubles[at + i] = segment.numbers[row + i]!
    this.#length += 1 + width
    this.count++
  }

  /** Something that follows the rows. */
  push(number: number): void {
    this.#reserve(1)
    this.#doubles[this.#length++] = number
  }

  get bytes(): number {
    return 8 * this.#length
  }

  /** All of it, until it is next written to. */
  get numbers(): Float64Array {
    return this.#doubles.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
    this.count = 0
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#doubles.length) return
    const larger = new Float64Array(2 * this.#doubles.length + more)
    const integers = new Int32Array(larger.buffer)
    integers.set(this.#integers.subarray(0, 2 * this.#length))
    this.#doubles = larger
    this.#integers = integers
  }
}
