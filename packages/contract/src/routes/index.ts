/** Every route of the HTTP interface, by id. */
import { decisionRoutes } from './decisions.js'
import { operatingRoutes } from './operating.js'
import type { RouteContract } from './route.js'
import { ruleRoutes } from './rules.js'
import { subjectRoutes } from './subjects.js'
import { tokenRoutes } from './tokens.js'
import { usageRoutes } from './usage.js'

export const ROUTES = {
  ...decisionRoutes,
  ...operatingRoutes,
  ...ruleRoutes,
  ...subjectRoutes,
  ...tokenRoutes,
  ...usageRoutes,
}

export type Routes = typeof ROUTES
export type RouteId = keyof Routes

export const ROUTE_IDS = Object.keys(ROUTES) as RouteId[]

export function routeOf(id: RouteId): RouteContract {
  return ROUTES[id]
}
