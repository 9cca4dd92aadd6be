/** Every route of the HTTP interface, by id; one file per noun. */
import type { Static, TSchema } from '../schema.js'
import { authRoutes } from './auth.js'
import { decisionRoutes } from './decisions.js'
import { documentRoutes } from './documents.js'
import { hotRoutes } from './hot.js'
import { listRoutes } from './lists.js'
import { operatingRoutes } from './operating.js'
import type { RouteContract } from './route.js'
import { ruleRoutes } from './rules.js'
import { subjectRoutes } from './subjects.js'
import { tokenRoutes } from './tokens.js'
import { usageRoutes } from './usage.js'

interface Groups {
  decisions: typeof decisionRoutes
  auth: typeof authRoutes
  operating: typeof operatingRoutes
  rules: typeof ruleRoutes
  documents: typeof documentRoutes
  subjects: typeof subjectRoutes
  lists: typeof listRoutes
  tokens: typeof tokenRoutes
  usage: typeof usageRoutes
  hot: typeof hotRoutes
}

/** The ids of a file's routes. */
export type RouteIdsOf<Group extends keyof Groups> = keyof Groups[Group]

export const ROUTES = {
  ...decisionRoutes,
  ...authRoutes,
  ...operatingRoutes,
  ...ruleRoutes,
  ...documentRoutes,
  ...subjectRoutes,
  ...listRoutes,
  ...tokenRoutes,
  ...usageRoutes,
  ...hotRoutes,
}

export type Routes = typeof ROUTES
export type RouteId = keyof Routes

export const ROUTE_IDS = Object.keys(ROUTES) as RouteId[]

export function routeOf(id: RouteId): RouteContract {
  return ROUTES[id]
}

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

type Body<S> = S extends TSchema ? DeepReadonly<Static<S>> : never

/** The body that a route takes. */
export type RequestBody<Id extends RouteId> = Body<Routes[Id]['body']>

/** The body that a route answers; never where there is none, or where it is not JSON. */
export type AnswerBody<Id extends RouteId> = Body<Routes[Id]['answer']>

/** The parameters of a route's query; each may be absent. */
export type QueryParameters<Id extends RouteId> = NonNullable<Routes[Id]['queryType']>

/** One item of the list that a route answers. */
export type ListItem<Id extends RouteId> =
  AnswerBody<Id> extends { readonly items: readonly (infer Item)[] } ? Item : never
