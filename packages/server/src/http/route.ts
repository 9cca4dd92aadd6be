/** Routes with their handlers: every contract has one, or it does not compile. */
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

/** A contract, as far as its types matter to a handler. */
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
  /** Names and values in turn, as they came: also those that are there twice. */
  readonly rawHeaders: readonly string[]
  /** What stands for the `{names}` of the route's path, decoded. */
  readonly params: PathValues<R['path']>
  /** As the contract has it; throws 400 for anything else. */
  readonly query: () => QueryOf<R>
  /** The query as it came. */
  readonly rawQuery: () => URLSearchParams
  /** The body as it came; empty where there is none. */
  readonly bytes: () => Buffer
  /** The parsed body, as the contract has it where the contract checks it; throws 400 for anything else. */
  readonly body: () => BodyOf<R>
}

export interface Reply<Body = unknown> {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON unless it is a text, which is sent as it is; nothing if undefined. */
  readonly body?: Body | string
  readonly contentType?: string
}

export type Handler<Id extends RouteId> = (
  call: Call<Routes[Id]>,
) => Reply<AnswerBody<Id>> | Promise<Reply<AnswerBody<Id>>>

/** Handlers of some routes. */
export type Handlers<Id extends RouteId = RouteId> = { readonly [I in Id]: Handler<I> }

/** A contract and what answers it. */
export interface Route {
  readonly id: RouteId
  readonly contract: RouteContract
  readonly handle: (call: Call<never>) => Reply | Promise<Reply>
}

/** `overrides`: what a setting changes of a contract. */
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

/** Refuses a query that the contract does not have, also where the handler does not look at it. */
function strict(handle: Route['handle']): Route['handle'] {
  return (call) => {
    call.query()
    return handle(call)
  }
}
