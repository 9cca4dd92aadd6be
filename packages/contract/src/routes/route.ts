/** What a route is: how it is asked, who may ask, what it answers. Handlers are the server's. */
import { CHECK_BODY_BYTES } from '../body-sizes.js'
import type { ErrorCode } from '../errors.js'
import type { Role } from '../roles.js'
import { object, type Static, type TObject, type TProperties, type TSchema } from '../schema.js'

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

export interface RouteContract {
  readonly method: Method
  /** Segments in braces stand for any text: `/v1/rules/{id}`. */
  readonly path: string
  readonly role: Role | 'anyone'
  /** One line: what it does. */
  readonly summary: string
  /**
   * `decision`: asked for every request that is limited. `control`: of the control plane; bodies must say
   * that they are JSON, and callers have a limit of their own. `operating`: health, metrics and the like.
   */
  readonly kind: 'decision' | 'control' | 'operating'
  readonly query: TObject
  /** Other parameters are ignored, for callers that cannot choose them; else they are refused. */
  readonly takesAnyQuery: boolean
  /** Parameters of the query that must be there. */
  readonly requiredQuery: readonly string[]
  /** Headers of the request that are read. */
  readonly headers: Readonly<Record<string, TSchema>>
  readonly body: TSchema | null
  /** Who checks the body: the contract's schema, or a reader of the handler's. */
  readonly bodyCheckedBy: 'schema' | 'handler'
  /** In bytes. */
  readonly longestBody: number
  /** The body of the answer; null: none, or no JSON. */
  readonly answer: TSchema | null
  /** Of an answer where all is well. */
  readonly status: 200 | 201 | 204
  /** Headers of that answer. */
  readonly answerHeaders: readonly string[]
  /** A denial is answered with the same body. */
  readonly isDecision: boolean
  /** Another status with the same body. */
  readonly alsoAnswers?: { readonly status: number; readonly description: string }
  readonly errors: readonly ErrorCode[]
  /** It is to go: since when that is said, and when. */
  readonly deprecated?: { readonly since: Date; readonly sunset: Date }
}

type Given = Pick<RouteContract, 'method' | 'path' | 'role' | 'summary' | 'errors'> &
  Partial<Omit<RouteContract, 'query'>> & { readonly query?: TProperties }

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- a route without parameters
type QueryOf<G extends Given> = G['query'] extends TProperties ? G['query'] : {}

/** A contract whose types are known: what its handler is given, and what is answered. */
export type Route<G extends Given> = Omit<RouteContract, 'body' | 'query' | 'path' | 'answer'> & {
  readonly path: G['path']
  readonly body: G['body'] extends TSchema ? G['body'] : null
  readonly answer: G['answer'] extends TSchema ? G['answer'] : null
  readonly query: TObject<Partial<QueryOf<G>> & TProperties>
  /** Only for its type. */
  readonly queryType?: QueryValues<QueryOf<G>>
}

/** Parameters of a query are strings that were read as their schema says; each may be absent. */
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

/** The names in braces of a path. */
export type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never

/** What stands for them. */
export type PathValues<P extends string> = { readonly [N in PathNames<P>]: string }
