/** The script's reply, read from front to back by the operations that were asked. */
import type { Reply } from './redis-client.js'

const NUMBERS = 0x76 // v

export class ScriptReply {
  /** The store's time when it ran, in microseconds. */
  readonly now: number
  /** What rows of nothing but buckets are computed from: see `DecideOperation.#compute`. */
  readonly texts: Buffer
  textAt = 0
  readonly #letters: Buffer
  readonly #records: readonly Buffer[]
  #letterAt = 0
  #recordAt = 0

  constructor(reply: Reply) {
    const [time, letters, texts, ...records] = reply as [number, Buffer, Buffer, ...Buffer[]]
    this.now = Math.abs(time)
    this.texts = texts
    this.#letters = letters
    this.#records = records
  }

  letter(): number {
    return this.#letters[this.#letterAt++]!
  }

  /** The next number of the texts. */
  number(): number {
    const number = this.texts.readDoubleLE(this.textAt)
    this.textAt += 8
    return number
  }

  /** The next numbers, into `out` from `at` on. */
  numbers(count: number, out: number[], at: number): void {
    let from = this.textAt
    for (let i = 0; i < count; i++, from += 8) out[at + i] = this.texts.readDoubleLE(from)
    this.textAt = from
  }

  /** Passes over what is said of some rows, each of so many numbers if any. */
  skip(widths: readonly number[]): void {
    for (const width of widths) if (this.letter() === NUMBERS) this.textAt += 8 * width
  }

  record(): Buffer {
    return this.#records[this.#recordAt++]!
  }
}
