/** Who asks, and what they may do. */
import { ROLES, type Role } from '@sluice/contract'
import { ServiceError } from '../error-codes.js'

export { ROLES, type Role }

/** What each role may do besides its own. */
const INCLUDED: Readonly<Record<Role, readonly Role[]>> = {
  client: ['client'],
  reader: ['reader'],
  operator: ['client', 'reader', 'operator'],
  admin: ROLES,
}

export interface Caller {
  /** For the audit: a token by name and id, or how it was let in. Never the token. */
  readonly name: string
  /** Whose limit of admin calls it is: a token's id, or an address. */
  readonly id: string
  readonly role: Role
  /** Null: all of them. */
  readonly namespaces: ReadonlySet<string> | null
}

export const DEFAULT_NAMESPACE = 'default'

/** Sluice counts for itself in namespaces that start like this: nobody else's may. */
const OWN = 'sluice.'
export const ADMIN_NAMESPACE = `${OWN}admin`

export function isReserved(namespace: string): boolean {
  return namespace.startsWith(OWN)
}

export function may(caller: Caller, role: Role): boolean {
  return INCLUDED[caller.role].includes(role)
}

export function requireRole(caller: Caller, role: Role): void {
  if (may(caller, role)) return
  throw new ServiceError(
    'forbidden',
    `this needs the role ${role}; ${JSON.stringify(caller.name)} is of role ${caller.role}`,
  )
}

/** The namespace that is meant: the stated one, else the caller's only one, else `home`. Throws 403 outside the caller's. */
export function namespaceOf(
  { namespaces, name }: Caller,
  stated: string | undefined,
  home: string = DEFAULT_NAMESPACE,
): string {
  const only = namespaces?.size === 1 ? [...namespaces][0] : undefined
  const namespace = stated ?? only ?? home
  if (namespaces === null || namespaces.has(namespace)) return namespace
  throw new ServiceError(
    'forbidden',
    `${JSON.stringify(name)} is not for namespace ${JSON.stringify(namespace.slice(0, 64))}`,
    { field: 'namespace' },
  )
}
