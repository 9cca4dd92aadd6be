/** What a route is: how it is asked, who may ask, and what it answers. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller, Role } from '../security/caller.js'
import type { Body } from './body.js'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Call {
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as they came: also those that are there twice. */
  readonly rawHeaders: readonly string[]
  /** What stands for the `{names}` of the route's path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: () => URLSearchParams
  /** The body as it came; empty where there is none. */
  readonly bytes: () => Buffer
  /** The parsed body; throws where it is none. */
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
  readonly method: Method
  /** Segments in braces stand for anything: `/v1/rules/{id}`. */
  readonly path: string
  readonly role: Role | 'anyone'
  readonly longestBody: number
  /** Of the control plane: bodies must say that they are JSON, and callers have a limit of their own. */
  readonly isAdmin?: boolean
  /** It is to go: since when that is said, and when. */
  readonly deprecated?: { readonly since: Date; readonly sunset: Date }
  handle(call: Call): Reply | Promise<Reply>
}

export const CHECK_BODY_BYTES = 65_536
/** What callers come back with names every value of the subject. */
export const VOUCHER_BODY_BYTES = 524_288
export const BATCH_BODY_BYTES = 4_194_304
