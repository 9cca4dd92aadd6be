/** What a route is: how it is asked, who may ask, and what it answers. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Body } from './wire-request.js'

/** Everyone; whoever may decide; whoever may look; whoever may change what subjects have used. */
export type Role = 'anyone' | 'client' | 'reader' | 'operator'

export interface Call {
  readonly headers: IncomingHttpHeaders
  readonly query: () => URLSearchParams
  /** The parsed body of a POST; throws where it is none. */
  readonly body: () => Body
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON unless it is a text; nothing if undefined. */
  readonly body?: unknown
  readonly contentType?: string
}

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly role: Role
  readonly longestBody: number
  handle(call: Call): Reply | Promise<Reply>
}

export const CHECK_BODY_BYTES = 65_536
/** What callers come back with names every value of the subject. */
export const VOUCHER_BODY_BYTES = 524_288
export const BATCH_BODY_BYTES = 4_194_304
