/** Operations of the API by id: what each is asked with and answers, typed by its contract. */
import {
  type AnswerBody,
  type ListItem,
  type PathValues,
  propertiesOf,
  type QueryParameters,
  type RequestBody,
  type RouteContract,
  type RouteId,
  type Routes,
} from '@sluice/contract'

export type QueryOf<Id extends RouteId> = Id extends RouteId
  ? { readonly [P in keyof QueryParameters<Id>]?: QueryParameters<Id>[P] | undefined }
  : never

type ParamsOf<Id extends RouteId> = PathValues<Routes[Id]['path']>

/** Where the path has no names, none are given. */
type WithParams<Id extends RouteId> = keyof ParamsOf<Id> extends never
  ? { readonly params?: never }
  : { readonly params: ParamsOf<Id> }

type WithBody<Id extends RouteId> = [RequestBody<Id>] extends [never]
  ? { readonly body?: never }
  : { readonly body: RequestBody<Id> }

/** What an operation is asked with. */
export type Asking<Id extends RouteId> = WithParams<Id> &
  WithBody<Id> & {
    readonly query?: QueryOf<Id>
    /** The version that is to be changed. */
    readonly ifMatch?: string
    /** How long the answer may take, where that may be long. */
    readonly withinMs?: number
  }

/** It may be left out where nothing must be said. */
export type AskingArguments<Id extends RouteId> =
  object extends Asking<Id> ? [asking?: Asking<Id>] : [asking: Asking<Id>]

/** The body of an answer; a text where it is no JSON. */
export type AnswerOf<Id extends RouteId> = [AnswerBody<Id>] extends [never]
  ? string
  : AnswerBody<Id>

export type ItemOf<Id extends RouteId> = ListItem<Id>

export interface Answered<Id extends RouteId> {
  readonly body: AnswerOf<Id>
  /** The version of what it is about. */
  readonly etag: string | null
}

/** Whoever answers these operations: a server, or rules of a file. */
export interface Answerer<Ids extends RouteId> {
  call<Id extends Ids>(id: Id, ...asking: AskingArguments<Id>): Promise<Answered<Id>>
}

/** An asking, as far as its types do not matter. */
export interface AnyAsking {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  readonly body?: unknown
  readonly ifMatch?: string
  readonly withinMs?: number
}

/** Names the namespace where the operation takes one and the asking has none. */
export function inNamespace(
  { query, body }: RouteContract,
  asking: AnyAsking,
  namespace: string | undefined,
): AnyAsking {
  if (namespace === undefined) return asking
  if ('namespace' in propertiesOf(query))
    return {
      ...asking,
      query: { ...asking.query, namespace: asking.query?.['namespace'] ?? namespace },
    }
  if (body !== null && 'namespace' in propertiesOf(body))
    return { ...asking, body: { namespace, ...(asking.body as object) } }
  return asking
}

/** The path with its names filled in, and the query; what is undefined is left out. */
export function pathOf({ path }: RouteContract, { params = {}, query = {} }: AnyAsking): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? filled : `${filled}?${search.toString()}`
}
