/**
 * What makes a service a sidecar: leases are on, rules are those of the feed unless a file is given, and
 * there is no database. Everything else is the service: see serve.ts.
 */
import { type Settings, type Standards, UsageError } from './config.js'

export const SIDECAR_STANDARDS: Standards = { leases: 'on', rules: 'feed' }

/** Settings that a sidecar has no use for: its counters are in Redis, its history is the control plane's. */
export const NOT_OF_A_SIDECAR = [
  'database',
  'max-keys',
  'document-bytes',
  'document-depth',
  'audit-days',
  'violations-days',
  'usage-days',
  'usage-history-days',
  'dev',
] as const

/** Throws where they cannot be those of a sidecar. */
export function sidecarSettings(settings: Settings): Settings {
  if (settings.redis === undefined)
    throw new UsageError(
      'a sidecar shares its counters, and follows its rules, over Redis: give --redis URL (REDIS_URL)',
    )
  if (settings.database !== undefined)
    throw new UsageError(
      'a sidecar opens no database, so that every pod can have one: leave --database (DATABASE_URL) out. Rules of a database come over the feed of `sluice serve --database`',
    )
  return { ...settings, dev: false }
}
