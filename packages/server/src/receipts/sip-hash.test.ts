import { describe, expect, it } from 'vitest'
import { SipHash } from './sip-hash.js'

const KEY = Uint8Array.from({ length: 16 }, (_, i) => i)

/** Of the message 00, 01, 02 … of each length, under the key 00 … 0f: as its authors published them. */
const PUBLISHED = [
  '310e0edd47db6f72',
  'fd67dc93c539f874',
  '5a4fa9d909806c0d',
  '2d7efbd796666785',
  'b7877127e09427cf',
  '8da699cd64557618',
  'cee3fe586e46c9cb',
  '37d1018bf50002ab',
  '6224939a79f5f593',
]

function hashOf(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const hash = new SipHash(KEY)
  hash.of(bytes, start, end)
  const out = Buffer.alloc(8)
  out.writeInt32LE(hash.low, 0)
  out.writeInt32LE(hash.high, 4)
  return out.toString('hex')
}

describe('SipHash-2-4', () => {
  it.each([...PUBLISHED.entries()])('hashes %i bytes as published', (length, published) => {
    expect(hashOf(Uint8Array.from({ length }, (_, i) => i))).toBe(published)
  })

  it('hashes the message of its paper', () => {
    expect(hashOf(Uint8Array.from({ length: 15 }, (_, i) => i))).toBe('e545be4961ca29a1')
  })

  it('hashes a part of the bytes alone', () => {
    const bytes = Uint8Array.from({ length: 40 }, (_, i) => i - 10)
    expect(hashOf(bytes, 10, 18)).toBe(PUBLISHED[8])
  })
})
