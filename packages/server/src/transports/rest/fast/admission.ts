/** Who asks on one connection: what was found good a moment before need not be looked at again. */
import { type Caller, may } from '../../../security/caller.js'
import type { Gate } from '../../../security/gate.js'
import type { HttpHead } from './http-head.js'

const NOTHING = new Uint8Array()

export class Admission {
  readonly #gate: Gate
  readonly #address: string
  #caller: Caller | null = null
  #host = NOTHING
  #authorization = NOTHING
  /** What the caller was found by: the tokens then known, and when. */
  #version = -1
  #at = -1

  constructor(gate: Gate, address: string) {
    this.#gate = gate
    this.#address = address
  }

  /**
   * Whoever may decide; null: the ordinary way says why not. `now` is a clock of seconds: tokens that
   * end are known until its next step.
   */
  admits(bytes: Buffer, head: HttpHead, now: number): Caller | null {
    const { hostStart, hostEnd, authorizationStart, authorizationEnd } = head
    if (
      this.#caller !== null &&
      this.#at === now &&
      this.#version === this.#gate.tokens.version &&
      isSame(bytes, hostStart, hostEnd, this.#host) &&
      isSame(bytes, authorizationStart, authorizationEnd, this.#authorization)
    )
      return this.#caller
    this.#caller = this.#look(
      bytes.toString('latin1', hostStart, hostEnd),
      bytes.toString('latin1', authorizationStart, authorizationEnd),
    )
    this.#host = Uint8Array.from(bytes.subarray(hostStart, hostEnd))
    this.#authorization = Uint8Array.from(bytes.subarray(authorizationStart, authorizationEnd))
    this.#version = this.#gate.tokens.version
    this.#at = now
    return this.#caller
  }

  #look(host: string, authorization: string): Caller | null {
    const headers = authorization === '' ? { host } : { host, authorization }
    try {
      const caller = this.#gate.admit(headers, this.#address, false)
      return may(caller, 'client') ? caller : null
    } catch {
      return null
    }
  }
}

/** Without a hint of where two differ. */
function isSame(bytes: Uint8Array, start: number, end: number, known: Uint8Array): boolean {
  const length = end - start
  if (length !== known.length) return false
  let different = 0
  for (let i = 0; i < length; i++) different |= bytes[start + i]! ^ known[i]!
  return different === 0
}
