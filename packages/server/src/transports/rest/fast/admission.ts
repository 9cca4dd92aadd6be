/** Who may ask on one connection: what was found good before need not be looked at again. */
import type { Gate } from '../../../security/gate.js'
import type { HttpHead } from './http-head.js'

const NOTHING = new Uint8Array()

export class Admission {
  readonly #gate: Gate
  #authorized = NOTHING
  #host = NOTHING

  constructor(gate: Gate) {
    this.#gate = gate
  }

  /** As far as can be told at once; the ordinary way says why not. */
  admits(bytes: Buffer, head: HttpHead): boolean {
    const { isPrivate, token } = this.#gate
    if (isPrivate) return true
    if (token === null) {
      const { hostStart, hostEnd } = head
      if (isSame(bytes, hostStart, hostEnd, this.#host)) return true
      if (!this.#gate.isLocal(bytes.toString('latin1', hostStart, hostEnd))) return false
      this.#host = Uint8Array.from(bytes.subarray(hostStart, hostEnd))
      return true
    }
    const { authorizationStart, authorizationEnd } = head
    if (authorizationEnd === 0) return false
    if (isSame(bytes, authorizationStart, authorizationEnd, this.#authorized)) return true
    if (!token.isIn(bytes.toString('latin1', authorizationStart, authorizationEnd))) return false
    this.#authorized = Uint8Array.from(bytes.subarray(authorizationStart, authorizationEnd))
    return true
  }
}

/** Without a hint of where two differ; nothing is the same as nothing known. */
function isSame(bytes: Uint8Array, start: number, end: number, known: Uint8Array): boolean {
  const length = end - start
  if (length === 0 || length !== known.length) return false
  let different = 0
  for (let i = 0; i < length; i++) different |= bytes[start + i]! ^ known[i]!
  return different === 0
}
