/** The keyed hash against the algorithm written out plainly, and what its keying is for. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fingerprint } from './fingerprint.js'

const rotate = (x: number, n: number) => ((x << n) | (x >>> (32 - n))) >>> 0
const add = (x: number, y: number) => (x + y) >>> 0

/** HalfSipHash with c compression and d finalization rounds and 64 bits of output, over bytes. */
function halfSipHash(bytes: Uint8Array, k0: number, k1: number, c: number, d: number): number[] {
  let [v0, v1, v2, v3] = [0, 0, 0x6c796765, 0x74656462]
  v0 ^= k0
  v1 ^= k1 ^ 0xee
  v2 ^= k0
  v3 ^= k1
  const rounds = (n: number) => {
    for (let i = 0; i < n; i++) {
      v0 = add(v0, v1)
      v1 = (rotate(v1, 5) ^ v0) >>> 0
      v0 = rotate(v0, 16)
      v2 = add(v2, v3)
      v3 = (rotate(v3, 8) ^ v2) >>> 0
      v0 = add(v0, v3)
      v3 = (rotate(v3, 7) ^ v0) >>> 0
      v2 = add(v2, v1)
      v1 = (rotate(v1, 13) ^ v2) >>> 0
      v2 = rotate(v2, 16)
    }
  }
  const block = (m: number) => {
    v3 ^= m
    rounds(c)
    v0 ^= m
  }
  const whole = bytes.length - (bytes.length % 4)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  for (let i = 0; i < whole; i += 4) block(view.getUint32(i, true))
  let last = bytes.length << 24
  for (let i = whole; i < bytes.length; i++) last |= bytes[i]! << (8 * (i - whole))
  block(last)
  v2 ^= 0xee
  rounds(d)
  const first = v1 ^ v3
  v1 ^= 0xdd
  rounds(d)
  return [first | 0, (v1 ^ v3) | 0]
}

const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 40 })
const seed = fc.tuple(fc.integer(), fc.integer())

describe('Fingerprint', () => {
  it('is HalfSipHash-1-3 of ASCII texts, for every seed', () => {
    fc.assert(
      fc.property(ascii, seed, (text, [k0, k1]) => {
        const fingerprint = new Fingerprint(new Int32Array([k0, k1]))
        fingerprint.of(text)
        expect([fingerprint.a, fingerprint.b]).toEqual(
          halfSipHash(new TextEncoder().encode(text), k0, k1, 1, 3),
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('tells texts apart that differ only above ASCII, or only in length', () => {
    const fingerprint = new Fingerprint(new Int32Array([1, 2]))
    const seen = new Set<string>()
    const texts = [
      'a',
      'aa',
      'aaaa',
      'aaaaa',
      'é',
      'ée',
      'Ā',
      'ā',
      'aĀ',
      '日本',
      '日本語',
      '\u0101a',
    ]
    for (const text of texts) {
      fingerprint.of(text)
      seen.add(`${fingerprint.a},${fingerprint.b}`)
    }
    expect(seen.size).toBe(texts.length)
  })

  it('gives a million texts a million fingerprints', () => {
    const fingerprint = new Fingerprint(new Int32Array([123, 456]))
    const seen = new Set<number>()
    for (let i = 0; i < 1_000_000; i++) {
      fingerprint.of(`user-${i}`)
      seen.add((fingerprint.a >>> 0) * 2 ** 21 + (fingerprint.b >>> 11))
    }
    expect(seen.size).toBe(1_000_000)
  })

  it('depends on the seed', () => {
    const [one, other] = [new Int32Array([1, 1]), new Int32Array([1, 2])].map(
      (s) => new Fingerprint(s),
    )
    one!.of('ada')
    other!.of('ada')
    expect([one!.a, one!.b]).not.toEqual([other!.a, other!.b])
  })
})
