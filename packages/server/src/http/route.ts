/** Binds the contracts of routes to handlers. A contract without a handler does not compile. */
import type { IncomingHttpHeaders } from 'node:http'
import {
  type AnswerBody,
  type PathValues,
  type RouteContract,
  type RouteId,
  type Routes,
  routeOf,
  type Static,
  type TSchema,
} from '@sluice/contract'
import type { Caller } from '../security/caller.js'

/** The parts of a contract that give a handler its types. */
interface Typed {
  readonly path: string
  readonly body: TSchema | null
  readonly queryType?: object
}

type BodyOf<R extends Typed> = R['body'] extends TSchema ? Static<R['body']> : never
type QueryOf<R extends Typed> = R extends { readonly queryType?: infer Q } ? NonNullable<Q> : object

/** What a handler is given. */
export interface Call<R extends Typed = Typed> {
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  /** Names and values alternate, as they were received. A header that was sent twice is there twice. */
  readonly rawHeaders: readonly string[]
  /** The values of the path's parameters, decoded. */
  readonly params: PathValues<R['path']>
  /** The query, as the contract describes it; throws 400 for anything else. */
  readonly query: () => QueryOf<R>
  /** The query as it was received. */
  readonly rawQuery: () => URLSearchParams
  /** The body as it was received; empty where there is none. */
  readonly bytes: () => Buffer
  /** The parsed body. Where its schema checks it, it is as the contract describes it; throws 400 for anything else. */
  readonly body: () => BodyOf<R>
}

export interface Reply<Body = unknown> {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. A string is sent as it is, and undefined as no body. */
  readonly body?: Body | string
  readonly contentType?: string
}

export type Handler<Id extends RouteId> = (
  call: Call<Routes[Id]>,
) => Reply<AnswerBody<Id>> | Promise<Reply<AnswerBody<Id>>>

/** Handlers of some routes. */
export type Handlers<Id extends RouteId = RouteId> = { readonly [I in Id]: Handler<I> }

/** A contract with its handler. */
export interface Route {
  readonly id: RouteId
  readonly contract: RouteContract
  readonly handle: (call: Call<never>) => Reply | Promise<Reply>
}

/** `overrides`: the parts of contracts that settings change. */
export function bindRoutes<Id extends RouteId>(
  handlers: Handlers<Id>,
  overrides: { readonly [I in RouteId]?: Partial<RouteContract> } = {},
): Route[] {
  return (Object.keys(handlers) as Id[]).map((id) => ({
    id,
    contract: { ...routeOf(id), ...overrides[id] },
    handle: strict(handlers[id]),
  }))
}

/** Checks the query also for a handler that does not read it. */
function strict(handle: Route['handle']): Route['handle'] {
  return (call) => {
    call.query()
    return handle(call)
  }
}
