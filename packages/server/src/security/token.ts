/** The token that callers show. It is kept as a hash, compared in constant time, and never logged. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../error-codes.js'

const SCHEME = /^bearer +/i
const SHORTEST = 16

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
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

  /** The value of an Authorization header. */
  isIn(authorization: string | undefined): boolean {
    const shown = authorization ?? ''
    if (!SCHEME.test(shown)) return false
    return timingSafeEqual(hashOf(shown.replace(SCHEME, '')), this.#hash)
  }

  require(authorization: string | undefined): void {
    if (this.isIn(authorization)) return
    const message =
      authorization === undefined
        ? 'a token is needed: Authorization: Bearer <token>'
        : 'the token is not known here'
    throw new ServiceError('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
}
