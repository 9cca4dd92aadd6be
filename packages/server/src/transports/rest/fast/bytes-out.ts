/**
 * Where answers are written before they are sent: bytes that grow, and are used again as soon as the
 * system has taken them. Digits and times are written here, without a text in between.
 */
import { DAY_MS } from '@sluice/limiter/transport'

const ZERO = 48

const MOST_SPARE = 16
const LARGEST_SPARE = 4 * 1024 * 1024

/** Powers of ten up to where a double is exact. */
const TENS = Array.from({ length: 16 }, (_, i) => 10 ** i)

export class BytesOut {
  bytes: Buffer
  /** Where the next byte goes. */
  at = 0
  readonly #size: number
  /** Those that were sent, to be used again. */
  readonly #spare: Buffer[] = []
  /** The date of the day last written: `2026-01-16T`. */
  #day = -1
  readonly #date = new Uint8Array(11)

  constructor(size = 65_536) {
    this.#size = size
    this.bytes = Buffer.allocUnsafeSlow(size)
  }

  /** Room for so many bytes more. */
  reserve(count: number): void {
    if (this.at + count <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + count))
    larger.set(this.bytes.subarray(0, this.at))
    this.bytes = larger
  }

  /** What was written, to be sent before anything else is written. */
  taken(): Buffer {
    const bytes = this.bytes.subarray(0, this.at)
    this.at = 0
    return bytes
  }

  /** What was taken is still being sent: nothing may be written there until it is given back. */
  lend(): Buffer {
    const lent = this.bytes
    this.bytes = this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#size)
    return lent
  }

  giveBack(lent: Buffer): void {
    if (this.#spare.length < MOST_SPARE && lent.length <= LARGEST_SPARE) this.#spare.push(lent)
  }

  /** Very large ones are not kept. */
  shrink(): void {
    if (this.bytes.length > LARGEST_SPARE) this.bytes = Buffer.allocUnsafeSlow(this.#size)
  }

  text(text: string): void {
    this.reserve(text.length)
    this.at += this.bytes.write(text, this.at, 'latin1')
  }

  copy(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.at)
    this.at += bytes.length
  }

  /** A few bytes, where a call would cost more than the loop. */
  copyShort(from: Uint8Array): void {
    const { bytes } = this
    let { at } = this
    for (let i = 0; i < from.length; i++) bytes[at++] = from[i]!
    this.at = at
  }

  byte(byte: number): void {
    this.bytes[this.at++] = byte
  }

  /** A whole number below 2^53, as short as it can be. */
  integer(value: number): void {
    let rest = value
    if (rest < 0) {
      this.byte(45)
      rest = -rest
    }
    let width = 1
    while (width < 16 && rest >= TENS[width]!) width++
    this.digits(this.at, width, rest)
    this.at += width
  }

  /** Right-aligned: what is left of it stays as it is. */
  digits(at: number, width: number, value: number): void {
    const { bytes } = this
    let high = 0
    let low = value
    let end = at + width
    if (value >= 1_000_000_000) {
      high = Math.floor(value / 1_000_000_000)
      low = value - high * 1_000_000_000
      const middle = end - 9
      while (end > middle) {
        const tenth = (low / 10) | 0
        bytes[--end] = ZERO + low - tenth * 10
        low = tenth
      }
      low = high
    }
    do {
      const tenth = (low / 10) | 0
      bytes[--end] = ZERO + low - tenth * 10
      low = tenth
    } while (low > 0)
  }

  /** `2026-01-16T12:00:00.000Z` at a place; milliseconds of the years 1970 to 9999. */
  time(at: number, ms: number): void {
    const { bytes } = this
    const day = Math.floor(ms / DAY_MS)
    if (day !== this.#day) {
      this.#day = day
      this.#date.set(Buffer.from(new Date(day * DAY_MS).toISOString().slice(0, 11), 'latin1'))
    }
    const date = this.#date
    for (let i = 0; i < 11; i++) bytes[at + i] = date[i]!
    const rest = ms - day * DAY_MS
    const seconds = (rest / 1000) | 0
    const minutes = (seconds / 60) | 0
    const hours = (minutes / 60) | 0
    this.#two(at + 11, hours)
    this.#two(at + 14, minutes - hours * 60)
    this.#two(at + 17, seconds - minutes * 60)
    const fraction = rest - seconds * 1000
    const hundreds = (fraction / 100) | 0
    bytes[at + 20] = ZERO + hundreds
    this.#two(at + 21, fraction - hundreds * 100)
  }

  #two(at: number, value: number): void {
    const tens = (value / 10) | 0
    this.bytes[at] = ZERO + tens
    this.bytes[at + 1] = ZERO + value - tens * 10
  }
}
