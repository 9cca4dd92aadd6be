/** Whether the settings go together: what would start and then disagree, expose or surprise is refused before. */
import { existsSync } from 'node:fs'
import { type Settings, UsageError } from './config.js'
import { isLoopbackAddress } from './security/loopback.js'
import { Token } from './security/token.js'

export const STANDARD_FILE = 'sluice.yaml'

/** Where rules come from, and where there is a database besides. */
export type RulesFrom =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'database' }
  | { readonly kind: 'feed' }

export type DatabaseAt =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'embedded'; readonly folder: string }

export interface Sense {
  readonly rules: RulesFrom
  /** Null: this instance only decides. */
  readonly database: DatabaseAt | null
  readonly token: Token | null
}

export function senseOf(settings: Settings): Sense {
  const token = tokenOf(settings)
  requireSafeHost(settings, token)
  requireTlsPair(settings)
  requireLessor(settings)
  const rules = rulesFrom(settings)
  return { rules, database: databaseAt(settings, rules), token }
}

function rulesFrom({ rules, redis, database }: Settings): RulesFrom {
  if (rules === 'feed') {
    if (redis === undefined)
      throw new UsageError('--rules feed follows a control plane over Redis: give --redis URL')
    if (database !== undefined)
      throw new UsageError('--rules feed opens no database: leave --database out, or --rules')
    return { kind: 'feed' }
  }
  const file = rules ?? (existsSync(STANDARD_FILE) ? STANDARD_FILE : null)
  if (file !== null) return { kind: 'file', file }
  if (redis !== undefined && database === undefined)
    throw new UsageError(
      `--redis shares counters, and instances without the same rules would disagree. Give --rules FILE (sluice init makes one), --database URL for rules in PostgreSQL, or --rules feed to follow a control plane`,
    )
  return { kind: 'database' }
}

function databaseAt({ database, data, dev }: Settings, { kind }: RulesFrom): DatabaseAt | null {
  if (database !== undefined) {
    requireDatabaseUrl(database)
    return { kind: 'postgres', url: database }
  }
  const isWanted = kind === 'database' || (kind === 'file' && dev)
  return isWanted ? { kind: 'embedded', folder: data } : null
}

function requireDatabaseUrl(url: string): void {
  if (/^postgres(ql)?:\/\/./.test(url)) return
  throw new UsageError('--database is no address such as postgres://user:password@host:5432/sluice')
}

function tokenOf({ token }: Settings): Token | null {
  if (token === undefined) return null
  try {
    return new Token(token)
  } catch (error) {
    throw new UsageError(`SLUICE_TOKEN cannot be used: ${(error as Error).message}`)
  }
}

function requireSafeHost({ host }: Settings, token: Token | null): void {
  if (token !== null || isLoopbackAddress(host)) return
  throw new UsageError(
    `--host ${host} is reachable from other machines, so callers need a token. Try: SLUICE_TOKEN=$(openssl rand -hex 32)`,
  )
}

function requireLessor({ leases, redis }: Settings): void {
  if (leases === 'on' && redis === undefined)
    throw new UsageError(
      '--leases on takes tokens from Redis ahead of time: give --redis URL. Without Redis every decision is from memory already',
    )
}

function requireTlsPair({ tlsCert, tlsKey, tlsClientCa }: Settings): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key go together')
  if (tlsClientCa !== undefined && tlsCert === undefined)
    throw new UsageError('--tls-client-ca needs --tls-cert and --tls-key')
}
