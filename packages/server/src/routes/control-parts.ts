/** What the control routes are made of, and what they answer where there is no control plane. */
import type { ControlPlane } from '../control/control-plane.js'
import type { DocumentLimits } from '../document-limits.js'
import { ServiceError } from '../error-codes.js'
import type { Route } from '../http/route.js'
import type { Tenants } from '../tenants.js'

export interface ControlParts {
  /** Null where no database is open. */
  readonly control: ControlPlane | null
  readonly tenants: Tenants
  /** Where rules come from: then they are changed there. `feed`: this instance only decides. */
  readonly mode: 'database' | 'file' | 'feed'
  /** Of documents that are sent. */
  readonly documentLimits: DocumentLimits
}

export function plane({ control }: ControlParts): ControlPlane {
  if (control !== null) return control
  throw new ServiceError('not_a_control_plane', 'no database is open here')
}

/** For what only rules in a database have. */
export function rulesPlane(parts: ControlParts): ControlPlane {
  if (parts.mode !== 'file') return plane(parts)
  throw new ServiceError('rules_from_file', 'the rules come from a file; change that instead')
}

/** The control routes of a data plane that follows a feed: it has no control plane to ask. */
export function refusing(routes: readonly Route[]): Route[] {
  const handle = (): never => {
    throw new ServiceError('not_a_control_plane', 'this instance only decides; ask a control plane')
  }
  return routes.map((route) => ({ ...route, handle }))
}
