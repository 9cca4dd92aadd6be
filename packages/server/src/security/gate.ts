/** Who may come in: holders of the token where there is one, else this machine. */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopbackHost, requireLocal } from './loopback.js'
import type { Token } from './token.js'

export class Gate {
  readonly token: Token | null
  /** Callers are known by the socket's permissions: no name, no token. */
  readonly isPrivate: boolean

  constructor(token: Token | null, isPrivate = false) {
    this.token = token
    this.isPrivate = isPrivate
  }

  /** Whether a name leads to this machine, for callers who show no token. */
  isLocal(host: string): boolean {
    return isLoopbackHost(host)
  }

  /** Throws 401 or 403. `isOpen`: health needs no token. */
  admit(headers: IncomingHttpHeaders, isOpen: boolean): void {
    if (this.isPrivate) return
    if (this.token === null) requireLocal(headers.host, headers.origin)
    else if (!isOpen) this.token.require(headers.authorization)
  }
}
