/** The HTTP of the control plane: every route of it but usage and violations. */
import { ServiceError } from '../error-codes.js'
import type { Route } from '../http/route.js'
import { documentRoutes } from './document-routes.js'
import { listRoutes } from './list-routes.js'
import type { AdminParts } from './parts.js'
import { ruleRoutes } from './rule-routes.js'
import { subjectRoutes } from './subject-routes.js'
import { tokenRoutes } from './token-routes.js'

export type { AdminParts } from './parts.js'

export function adminRoutes(parts: AdminParts): Route[] {
  const routes = [
    ...ruleRoutes(parts),
    ...subjectRoutes(parts),
    ...listRoutes(parts),
    ...documentRoutes(parts),
    ...tokenRoutes(parts),
  ]
  if (parts.mode !== 'feed') return routes
  return routes.map((route) => ({ ...route, handle: onlyDecides }))
}

/** A data plane that follows a feed. */
function onlyDecides(): never {
  throw new ServiceError('not_a_control_plane', 'this instance only decides; ask a control plane')
}
