/** What the admin routes are made of, and what they answer where there is no control plane. */
import type { ControlPlane } from '../control/control-plane.js'
import type { DocumentLimits } from '../document-limits.js'
import { ServiceError } from '../error-codes.js'
import type { Method, Route } from '../http/route.js'
import type { Role } from '../security/caller.js'
import type { Tenants } from '../tenants.js'

export interface AdminParts {
  /** Null where no database is open. */
  readonly control: ControlPlane | null
  readonly tenants: Tenants
  /** Where rules come from: then they are changed there. `feed`: this instance only decides. */
  readonly mode: 'database' | 'file' | 'feed'
  /** Of documents that are sent; the standard ones unless given. */
  readonly documentLimits?: DocumentLimits
}

export const ADMIN_BODY_BYTES = 65_536

export function plane({ control }: AdminParts): ControlPlane {
  if (control !== null) return control
  throw new ServiceError('not_a_control_plane', 'no database is open here')
}

/** For what only rules in a database have. */
export function rulesPlane(parts: AdminParts): ControlPlane {
  if (parts.mode !== 'file') return plane(parts)
  throw new ServiceError('rules_from_file', 'the rules come from a file; change that instead')
}

export function adminRoute(
  method: Method,
  path: string,
  role: Role,
  handle: Route['handle'],
  longestBody = method === 'GET' ? 0 : ADMIN_BODY_BYTES,
): Route {
  return { method, path, role, longestBody, isAdmin: true, handle }
}
