/** Who comes in: holders of a token where there is one, else this machine. */
import type { IncomingHttpHeaders } from 'node:http'
import { ServiceError } from '../error-codes.js'
import type { Caller } from './caller.js'
import { requireLocal } from './loopback.js'
import type { Token } from './token.js'
import { bearerOf, isOwnToken, type TokenBook } from './token-book.js'

/** Callers that no token of the database is needed for. */
const everything = (name: string, id: string): Caller => ({
  name,
  id,
  role: 'admin',
  namespaces: null,
})
const ROOT = everything('SLUICE_TOKEN', 'root')
const LOCAL = 'this machine'
/** Asks after our health, and may know no more. */
const NOBODY: Caller = { name: 'nobody', id: '', role: 'client', namespaces: new Set() }

export class Gate {
  readonly #token: Token | null
  readonly tokens: TokenBook
  /** Callers are known by the socket's permissions: no name, no token. */
  readonly #isPrivate: boolean

  constructor(token: Token | null, tokens: TokenBook, isPrivate = false) {
    this.#token = token
    this.tokens = tokens
    this.#isPrivate = isPrivate
  }

  /** Callers who show no token are told apart by the name they ask for, and nothing else is looked at. */
  get isOpen(): boolean {
    return this.#isPrivate || this.#token === null
  }

  /** Throws 401 or 403. `isHealth`: needs no token. */
  admit(headers: IncomingHttpHeaders, address: string, isHealth: boolean): Caller {
    const { host, origin, authorization } = headers
    if (!this.#isPrivate && this.#token === null) requireLocal(host, origin)
    const shown = bearerOf(authorization)
    if (shown !== null) {
      const known = this.#token?.is(shown) === true ? ROOT : this.tokens.find(shown)
      if (known !== null) return known
      if (isOwnToken(shown) && !isHealth) throw unauthorized('the token is not known here')
    }
    if (this.isOpen) return everything(LOCAL, address)
    if (isHealth) return NOBODY
    throw unauthorized(
      authorization === undefined
        ? 'a token is needed: Authorization: Bearer <token>'
        : 'the token is not known here',
    )
  }
}

function unauthorized(message: string): ServiceError {
  return new ServiceError('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
}
