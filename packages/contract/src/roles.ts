/** What callers may be allowed to do. */

/** Decides; looks; also changes subjects, overrides, blocks and counters; everything. */
export const ROLES = ['client', 'reader', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]
