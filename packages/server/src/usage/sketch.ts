/**
 * A count-min sketch with conservative update: says of any key how often it was added at most, in memory
 * that does not grow. An estimate is never too low. It is too high where keys share all of their cells;
 * the seed is secret, so that nobody can choose keys that do.
 */
import { randomBytes } from 'node:crypto'

const DEPTH = 4
const PRIME = 0x01000193

export class Sketch {
  readonly #cells: Uint32Array
  readonly #mask: number
  readonly #seed = randomBytes(4).readUInt32LE()
  readonly #at = new Int32Array(DEPTH)
  #isClean = true

  /** `width` is a power of two: the cells of each of four rows. */
  constructor(width: number) {
    this.#cells = new Uint32Array(DEPTH * width)
    this.#mask = width - 1
  }

  /** One more of it; how many there were at most, this one included. */
  add(group: number, value: string): number {
    const estimate = this.#find(group, value) + 1
    this.#raise(estimate)
    return estimate
  }

  /** There were so many of it as far as anybody knows. */
  atLeast(group: number, value: string, count: number): void {
    this.#find(group, value)
    this.#raise(count)
  }

  clear(): void {
    if (!this.#isClean) this.#cells.fill(0)
    this.#isClean = true
  }

  /** Sets the cells of a key; the lowest of them. */
  #find(group: number, value: string): number {
    let first = this.#seed ^ Math.imul(group + 1, 0x9e3779b1)
    let second = ~first
    for (let i = 0; i < value.length; i++) {
      const c = value.charCodeAt(i)
      first = Math.imul(first ^ c, PRIME)
      second = Math.imul(second + c, 0x85ebca6b)
      second ^= second >>> 13
    }
    first ^= first >>> 15
    const step = second | 1
    const width = this.#mask + 1
    let lowest = 0xffffffff
    for (let row = 0; row < DEPTH; row++) {
      const at = row * width + (mixed(first + Math.imul(row, step)) & this.#mask)
      this.#at[row] = at
      if (this.#cells[at]! < lowest) lowest = this.#cells[at]!
    }
    return lowest
  }

  #raise(count: number): void {
    this.#isClean = false
    for (let row = 0; row < DEPTH; row++) {
      const at = this.#at[row]!
      if (this.#cells[at]! < count) this.#cells[at] = count
    }
  }
}

function mixed(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return hash ^ (hash >>> 16)
}
