/**
 * Seals what goes abroad and comes back: receipts, reservations, holds. A seal is the text, a dot and
 * eleven characters that only holders of the secret can make. It hides nothing.
 */
import { SipHash } from './sip-hash.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0))
/** A dot and 64 bits, six to a character. */
const SEAL_LENGTH = 12
/** 32 scopes of values as long as they may be, escaped. */
const LONGEST = 262_144

export class Seal {
  readonly #hash: SipHash

  /** 16 bytes, the same on every instance that is to open it. */
  constructor(secret: Uint8Array) {
    this.#hash = new SipHash(secret)
  }

  /** ASCII only. */
  close(text: string): string {
    const bytes = Buffer.alloc(text.length + SEAL_LENGTH)
    bytes.write(text, 'latin1')
    this.closeBytes(bytes, 0, text.length)
    return bytes.toString('latin1')
  }

  /** Writes the seal of bytes[start, end) after them; answers where it ends. */
  closeBytes(bytes: Uint8Array, start: number, end: number): number {
    const hash = this.#hash
    hash.of(bytes, start, end)
    const { low, high } = hash
    bytes[end] = 46
    bytes[end + 1] = CODES[low & 63]!
    bytes[end + 2] = CODES[(low >>> 6) & 63]!
    bytes[end + 3] = CODES[(low >>> 12) & 63]!
    bytes[end + 4] = CODES[(low >>> 18) & 63]!
    bytes[end + 5] = CODES[(low >>> 24) & 63]!
    bytes[end + 6] = CODES[(low >>> 30) | ((high & 15) << 2)]!
    bytes[end + 7] = CODES[(high >>> 4) & 63]!
    bytes[end + 8] = CODES[(high >>> 10) & 63]!
    bytes[end + 9] = CODES[(high >>> 16) & 63]!
    bytes[end + 10] = CODES[(high >>> 22) & 63]!
    bytes[end + 11] = CODES[high >>> 28]!
    return end + SEAL_LENGTH
  }

  /** What was sealed; null if it was not sealed here. */
  open(sealed: string): string | null {
    const length = sealed.length - SEAL_LENGTH
    if (length < 0 || sealed.length > LONGEST) return null
    const text = sealed.slice(0, length)
    const expected = this.close(text)
    let different = 0
    for (let i = 0; i < expected.length; i++)
      different |= expected.charCodeAt(i) ^ sealed.charCodeAt(i)
    return different === 0 ? text : null
  }
}
