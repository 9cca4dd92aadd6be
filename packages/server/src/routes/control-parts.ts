/** What control routes need, and their errors where there is no control plane. */
import type { ControlPlane } from '../control/control-plane.js'
import type { DocumentLimits } from '../document-limits.js'
import { ServiceError } from '../error-codes.js'
import type { Route } from '../http/route.js'
import type { Tenants } from '../tenants.js'

export interface ControlParts {
  /** Null where no database is open. */
  readonly control: ControlPlane | null
  readonly tenants: Tenants
  /** Where rules come from, and so where they are changed. `feed`: this instance only decides. */
  readonly mode: 'database' | 'file' | 'feed'
  /** Limits of the documents that callers send. */
  readonly documentLimits: DocumentLimits
}

/** The control plane. Throws `not_a_control_plane` where no database is open. */
export function plane({ control }: ControlParts): ControlPlane {
  if (control !== null) return control
  throw new ServiceError('not_a_control_plane', 'no database is open here')
}

/** The control plane, for routes that need the rules in the database. Throws `rules_from_file` where they are not. */
export function rulesPlane(parts: ControlParts): ControlPlane {
  if (parts.mode !== 'file') return plane(parts)
  throw new ServiceError('rules_from_file', 'the rules come from a file; change that instead')
}

/** The control routes of a data plane: each of them throws `not_a_control_plane`. */
export function refusing(routes: readonly Route[]): Route[] {
  const handle = (): never => {
    throw new ServiceError('not_a_control_plane', 'this instance only decides; ask a control plane')
  }
  return routes.map((route) => ({ ...route, handle }))
}
