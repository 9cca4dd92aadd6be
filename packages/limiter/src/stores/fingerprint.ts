/**
 * HalfSipHash-1-3 with 64 bits of output: a keyed hash, so that nobody who does not know the seed can
 * find two subjects that share a counter. Texts are hashed by their bytes while those are ASCII, and
 * by their code units otherwise, under another key; so no two texts are hashed alike by construction.
 */

/** The second lane of a dead row, whose first is 0; no fingerprint is like that. */
export const DEAD = -1

/**
 * Found once, and called on whatever kind of string comes. Found on each of them, as `text.charCodeAt` is,
 * it is looked up anew at every character once texts are slices and internal ones as well.
 */
// oxlint-disable-next-line typescript/unbound-method -- it is called on texts
const { charCodeAt } = String.prototype

/** The hash of the last text: two 32-bit lanes, never those of an empty or dead row. */
export class Fingerprint {
  a = 0
  b = 0
  readonly #k0: number
  readonly #k1: number

  constructor(seed: Int32Array) {
    this.#k0 = seed[0]!
    this.#k1 = seed[1]!
  }

  of(text: string): void {
    const length = text.length
    let v0 = this.#k0
    let v1 = this.#k1 ^ 0xee
    let v2 = this.#k0 ^ 0x6c796765
    let v3 = this.#k1 ^ 0x74656462
    let high = 0
    let i = 0
    let m = 0
    for (; i + 4 <= length; i += 4) {
      const c0 = charCodeAt.call(text, i)
      const c1 = charCodeAt.call(text, i + 1)
      const c2 = charCodeAt.call(text, i + 2)
      const c3 = charCodeAt.call(text, i + 3)
      high |= c0 | c1 | c2 | c3
      m = c0 | (c1 << 8) | (c2 << 16) | (c3 << 24)
      v3 ^= m
      v0 = (v0 + v1) | 0
      v1 = (v1 << 5) | (v1 >>> 27)
      v1 ^= v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = (v3 << 8) | (v3 >>> 24)
      v3 ^= v2
      v0 = (v0 + v3) | 0
      v3 = (v3 << 7) | (v3 >>> 25)
      v3 ^= v0
      v2 = (v2 + v1) | 0
      v1 = (v1 << 13) | (v1 >>> 19)
      v1 ^= v2
      v2 = (v2 << 16) | (v2 >>> 16)
      v0 ^= m
    }
    m = length << 24
    for (let shift = 0; i < length; i++, shift += 8) {
      const c = charCodeAt.call(text, i)
      high |= c
      m |= c << shift
    }
    if (high > 127) this.#ofCodeUnits(text)
    else this.#finish(v0, v1, v2, v3 ^ m, m)
  }

  #ofCodeUnits(text: string): void {
    const length = text.length
    const lanes = new Int32Array([
      ~this.#k0,
      ~this.#k1 ^ 0xee,
      ~this.#k0 ^ 0x6c796765,
      ~this.#k1 ^ 0x74656462,
    ])
    for (let i = 0; i + 2 <= length; i += 2) {
      const m = charCodeAt.call(text, i) | (charCodeAt.call(text, i + 1) << 16)
      lanes[3]! ^= m
      round(lanes)
      lanes[0]! ^= m
    }
    const m = (length << 24) | (length % 2 === 1 ? charCodeAt.call(text, length - 1) : 0)
    this.#finish(lanes[0]!, lanes[1]!, lanes[2]!, lanes[3]! ^ m, m)
  }

  /** The last block m (already in v3) and three rounds for each lane of the answer. */
  #finish(v0: number, v1: number, v2: number, v3: number, m: number): void {
    for (let i = 0; i < 7; i++) {
      v0 = (v0 + v1) | 0
      v1 = (v1 << 5) | (v1 >>> 27)
      v1 ^= v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = (v3 << 8) | (v3 >>> 24)
      v3 ^= v2
      v0 = (v0 + v3) | 0
      v3 = (v3 << 7) | (v3 >>> 25)
      v3 ^= v0
      v2 = (v2 + v1) | 0
      v1 = (v1 << 13) | (v1 >>> 19)
      v1 ^= v2
      v2 = (v2 << 16) | (v2 >>> 16)
      if (i === 0) {
        v0 ^= m
        v2 ^= 0xee
      } else if (i === 3) {
        this.a = v1 ^ v3
        v1 ^= 0xdd
      }
    }
    this.b = v1 ^ v3
    if (this.a === 0 && (this.b === 0 || this.b === DEAD)) this.b = 1
  }
}

function round(lanes: Int32Array): void {
  let [v0, v1, v2, v3] = lanes as unknown as [number, number, number, number]
  v0 = (v0 + v1) | 0
  v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
  v0 = (v0 << 16) | (v0 >>> 16)
  v2 = (v2 + v3) | 0
  v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
  v0 = (v0 + v3) | 0
  v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
  v2 = (v2 + v1) | 0
  v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
  v2 = (v2 << 16) | (v2 >>> 16)
  lanes.set([v0, v1, v2, v3])
}
