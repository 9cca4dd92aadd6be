/** A token that callers show. It is kept as a hash, compared in constant time, and never logged. */
import { createHash, timingSafeEqual } from 'node:crypto'

const SHORTEST = 16

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** What is kept of a token, in hex. */
export function tokenHash(token: string): string {
  return hashOf(token).toString('hex')
}

export class Token {
  readonly #hash: Buffer

  constructor(token: string) {
    if (token.length < SHORTEST || !/^[\x21-\x7e]+$/.test(token))
      throw new RangeError(
        `a token has ${SHORTEST} printable characters or more and no spaces; try: openssl rand -hex 32`,
      )
    this.#hash = hashOf(token)
  }

  is(shown: string): boolean {
    return timingSafeEqual(hashOf(shown), this.#hash)
  }
}
