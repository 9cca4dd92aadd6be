/** The contract of a route: how it is called, who may call it, what it answers. The server has the handlers. */
import { CHECK_BODY_BYTES } from '../body-sizes.js'
import type { ErrorCode } from '../errors.js'
import type { Role } from '../roles.js'
import { object, type Static, type TObject, type TProperties, type TSchema } from '../schema.js'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

export interface RouteContract {
  readonly method: Method
  /** A segment in braces matches any text but an empty one: `/v1/rules/{id}`. */
  readonly path: string
  readonly role: Role | 'anyone'
  /** One line: what it does. */
  readonly summary: string
  /**
   * `decision`: called for every request that is limited. `control`: a route of the control plane. Its bodies
   * need a JSON content type, and each caller has a rate limit. `operating`: health, metrics and the like.
   */
  readonly kind: 'decision' | 'control' | 'operating'
  readonly query: TObject
  /** Unknown query parameters are ignored, because some gateways add their own; elsewhere they are refused. */
  readonly takesAnyQuery: boolean
  /** Query parameters that must be present. */
  readonly requiredQuery: readonly string[]
  /** Request headers that the route reads. */
  readonly headers: Readonly<Record<string, TSchema>>
  readonly body: TSchema | null
  /** Who checks the body: the schema of the contract, or the handler. */
  readonly bodyCheckedBy: 'schema' | 'handler'
  /** The longest body that is read, in bytes. */
  readonly longestBody: number
  /** The body of the answer; null where there is none, or where it is not JSON. */
  readonly answer: TSchema | null
  /** The status of a successful answer. */
  readonly status: 200 | 201 | 204
  /** Headers of a successful answer. */
  readonly answerHeaders: readonly string[]
  /** The answer is a decision: a denial has the same body with another status. */
  readonly isDecision: boolean
  /** Another status with the same body. */
  readonly alsoAnswers?: { readonly status: number; readonly description: string }
  readonly errors: readonly ErrorCode[]
  /** Deprecated since `since`; removed at `sunset`. */
  readonly deprecated?: { readonly since: Date; readonly sunset: Date }
}

type Given = Pick<RouteContract, 'method' | 'path' | 'role' | 'summary' | 'errors'> &
  Partial<Omit<RouteContract, 'query'>> & { readonly query?: TProperties }

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a route without parameters
type QueryOf<G extends Given> = G['query'] extends TProperties ? G['query'] : {}

/** A contract with the types of its path, query, body and answer. */
export type Route<G extends Given> = Omit<RouteContract, 'body' | 'query' | 'path' | 'answer'> & {
  readonly path: G['path']
  readonly body: G['body'] extends TSchema ? G['body'] : null
  readonly answer: G['answer'] extends TSchema ? G['answer'] : null
  readonly query: TObject<Partial<QueryOf<G>> & TProperties>
  /** Never set: it carries the type of the query. */
  readonly queryType?: QueryValues<QueryOf<G>>
}

/** The query parameters, parsed as their schemas say; each may be absent. */
type QueryValues<Q extends TProperties> = { readonly [P in keyof Q]?: Static<Q[P]> }

const noQuery: TProperties = {}

export function route<const G extends Given>(given: G): Route<G> {
  const { query = noQuery, ...rest } = given
  const contract = {
    kind: 'control',
    takesAnyQuery: false,
    requiredQuery: [],
    headers: {},
    body: null,
    bodyCheckedBy: 'schema',
    longestBody: given.method === 'GET' ? 0 : CHECK_BODY_BYTES,
    answer: null,
    status: 200,
    answerHeaders: [],
    isDecision: false,
    ...rest,
    query: object({}, query),
  }
  return contract as unknown as Route<G>
}

/** The names in braces in a path. */
export type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never

/** The values of the path's parameters. */
export type PathValues<P extends string> = { readonly [N in PathNames<P>]: string }
