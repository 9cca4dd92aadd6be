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

  /** Must be called before node:http gets the connection, which must be read through its stream. */
  watch(socket: Duplex): void {
    let first = ''
    socket.on('data', (chunk: Buffer) => {
      const start = chunk.toString('latin1', 0, LOOKED_AT)
      // The first line of a connection may come in pieces.
      const isFirst = first.length < LOOKED_AT
      if (isFirst) first += start
      this.#look(socket, isFirst ? first : start)
    })
  }

  /** Bytes that begin with a request line say what is asked; others go on with what was. */
  #look(socket: Duplex, start: string): void {
    if (AUTH_LINE.test(start)) this.#asking.add(socket)
    else if (REQUEST_LINE.test(start)) this.#asking.delete(socket)
  }

  has(socket: Duplex): boolean {
    return this.#asking.has(socket)
  }
}
