/**
 * SipHash-2-4: a keyed hash of 64 bits under a key of 128, made for short messages. A receipt is sealed
 * with every decision, and node:crypto costs several microseconds a call. 64-bit words are two 32-bit
 * halves; the carry is worked out without a branch, which would be mispredicted every other time.
 */
export class SipHash {
  /** The hash of the last message. */
  low = 0
  high = 0
  readonly #key: Int32Array

  /** 16 bytes. */
  constructor(key: Uint8Array) {
    if (key.length !== 16) throw new RangeError('a key has 16 bytes')
    const view = new DataView(key.buffer, key.byteOffset)
    this.#key = Int32Array.from([0, 4, 8, 12], (at) => view.getInt32(at, true))
  }

  of(bytes: Uint8Array, start: number, end: number): void {
    const key = this.#key
    let a = key[0]! ^ 0x70736575 // v0, low half
    let A = key[1]! ^ 0x736f6d65 // v0, high half
    let b = key[2]! ^ 0x6e646f6d
    let B = key[3]! ^ 0x646f7261
    let c = key[0]! ^ 0x6e657261
    let C = key[1]! ^ 0x6c796765
    let d = key[2]! ^ 0x79746573
    let D = key[3]! ^ 0x74656462
    const length = end - start
    const whole = start + (length & ~7)
    let rounds = 2
    let s = 0
    let t = 0
    for (let at = start, last = false; ; at += 8) {
      let m = 0
      let M = 0
      if (at < whole) {
        m = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
        M = bytes[at + 4]! | (bytes[at + 5]! << 8) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 24)
      } else if (!last) {
        for (let i = at; i < end; i++) {
          const shift = (i - at) * 8
          if (shift < 32) m |= bytes[i]! << shift
          else M |= bytes[i]! << (shift - 32)
        }
        M |= length << 24
      }
      d ^= m
      D ^= M
      for (let round = 0; round < rounds; round++) {
        s = (a + b) | 0
        A = (A + B + (((a & b) | ((a | b) & ~s)) >>> 31)) | 0
        a = s
        t = (b << 13) | (B >>> 19)
        B = ((B << 13) | (b >>> 19)) ^ A
        b = t ^ a
        t = a
        a = A
        A = t
        s = (c + d) | 0
        C = (C + D + (((c & d) | ((c | d) & ~s)) >>> 31)) | 0
        c = s
        t = (d << 16) | (D >>> 16)
        D = ((D << 16) | (d >>> 16)) ^ C
        d = t ^ c
        s = (a + d) | 0
        A = (A + D + (((a & d) | ((a | d) & ~s)) >>> 31)) | 0
        a = s
        t = (d << 21) | (D >>> 11)
        D = ((D << 21) | (d >>> 11)) ^ A
        d = t ^ a
        s = (c + b) | 0
        C = (C + B + (((c & b) | ((c | b) & ~s)) >>> 31)) | 0
        c = s
        t = (b << 17) | (B >>> 15)
        B = ((B << 17) | (b >>> 15)) ^ C
        b = t ^ c
        t = c
        c = C
        C = t
      }
      if (last) break
      a ^= m
      A ^= M
      if (at >= whole) {
        last = true
        c ^= 0xff
        rounds = 4
      }
    }
    this.low = a ^ b ^ c ^ d
    this.high = A ^ B ^ C ^ D
  }
}
