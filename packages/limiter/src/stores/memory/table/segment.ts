/** A part of a table: its rows side by side in one buffer, seen as doubles and as the fingerprints' integers. */
import { DEAD } from '../../fingerprint.js'
import type { Layout } from './layout.js'

const FULL = 0.75

export class Segment {
  /** How its rows are laid out. */
  readonly layout: Layout
  readonly numbers: Float64Array
  readonly capacity: number
  /** Slots that may be taken before the segment must be rebuilt. */
  readonly most: number
  used = 0
  /** Its rows may be in no export as they are, whatever they say of their last write. */
  isUnexported = false
  readonly #integers: Int32Array
  readonly #stride: number
  readonly #mask: number

  /** `capacity` is a power of two. */
  constructor(layout: Layout, capacity: number) {
    const stride = 1 + layout.rowWidth
    this.layout = layout
    this.numbers = new Float64Array(stride * capacity)
    this.#integers = new Int32Array(this.numbers.buffer)
    this.#stride = stride
    this.#mask = capacity - 1
    this.capacity = capacity
    this.most = Math.floor(capacity * FULL)
  }

  /** Where the key's row starts; -1 where it has none. */
  find(a: number, b: number): number {
    const integers = this.#integers
    const stride = this.#stride
    const mask = this.#mask
    let slot = b & mask
    for (;;) {
      const row = slot * stride
      const x = integers[2 * row]!
      const y = integers[2 * row + 1]!
      if (x === a && y === b) return row
      if (x === 0 && y === 0) return -1
      slot = (slot + 1) & mask
    }
  }

  home(b: number): number {
    return b & this.#mask
  }

  next(slot: number): number {
    return (slot + 1) & this.#mask
  }

  rowAt(slot: number): number {
    return slot * this.#stride
  }

  isEmpty(row: number): boolean {
    return this.#integers[2 * row] === 0 && this.#integers[2 * row + 1] === 0
  }

  /** A slot whose row was evicted: taken, but by nobody. */
  isDead(row: number): boolean {
    return this.#integers[2 * row] === 0 && this.#integers[2 * row + 1] === DEAD
  }

  kill(row: number): void {
    this.write(row, 0, DEAD)
  }

  firstEmpty(b: number): number {
    let slot = this.home(b)
    while (!this.isEmpty(this.rowAt(slot))) slot = this.next(slot)
    return this.rowAt(slot)
  }

  fingerprintA(row: number): number {
    return this.#integers[2 * row]!
  }

  fingerprintB(row: number): number {
    return this.#integers[2 * row + 1]!
  }

  write(row: number, a: number, b: number): void {
    this.#integers[2 * row] = a
    this.#integers[2 * row + 1] = b
  }

  copyFrom(other: Segment, row: number): void {
    const b = other.fingerprintB(row)
    const into = this.firstEmpty(b)
    this.numbers.set(other.numbers.subarray(row, row + this.#stride), into)
    this.write(into, other.fingerprintA(row), b)
    this.used++
  }

  forEach(visit: (row: number) => void): void {
    for (let slot = 0; slot < this.capacity; slot++) {
      const row = slot * this.#stride
      if (!this.isEmpty(row) && !this.isDead(row)) visit(row)
    }
  }
}
