/**
 * Which connections are asking `/v1/auth`, by the bytes that they send. node:http refuses some requests
 * before their head is parsed, so their path is not known otherwise.
 */
import type { Duplex } from 'node:stream'

const REQUEST_LINE = /^[A-Z]+ /
const AUTH_LINE = /^[A-Z]+ \/v1\/auth/
/** Longer than the part of the line that is looked at. */
const LOOKED_AT = 24

export class AuthConnections {
  readonly #asking = new WeakSet<Duplex>()
  /** How the first line of each connection begins: it may come in pieces. */
  readonly #first = new WeakMap<Duplex, string>()

  /** Looks at bytes that node:http is about to get. A request line names the route; other bytes belong to the last request. */
  look(socket: Duplex, piece: Buffer): void {
    let start = piece.toString('latin1', 0, LOOKED_AT)
    const first = this.#first.get(socket) ?? ''
    if (first.length < LOOKED_AT) {
      start = first + start
      this.#first.set(socket, start)
    }
    if (AUTH_LINE.test(start)) this.#asking.add(socket)
    else if (REQUEST_LINE.test(start)) this.#asking.delete(socket)
  }

  has(socket: Duplex): boolean {
    return this.#asking.has(socket)
  }
}
