/** What callers may be allowed to do. */

export const ROLES = ['client', 'reader', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

export const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  client: 'may ask for decisions, and give back what it took',
  reader: 'may read everything, and change nothing',
  operator:
    'may do both, and change subjects, overrides, blocks and counters, and grant what was not taken',
  admin: 'may do everything',
}
