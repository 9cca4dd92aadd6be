/**
 * Brings a database to this version's tables, step by step. Each step is a transaction under one lock, so
 * that any number of instances may start at once, and one that is killed leaves nothing half made.
 */
import { createHash } from 'node:crypto'
import { type Database, type Sql, SqlError } from './database.js'
import { CONTROL_TABLES } from './migrations/0001-control.js'
import { USAGE_TABLES } from './migrations/0002-usage.js'

export interface Migration {
  readonly version: number
  readonly name: string
  /** One statement each. What was published is never changed: a later migration corrects it. */
  readonly statements: readonly string[]
}

export const MIGRATIONS: readonly Migration[] = [CONTROL_TABLES, USAGE_TABLES]

/** The database is not one that this version may use. */
export class MigrationError extends Error {}

export interface MigrationStatus {
  readonly version: number
  readonly name: string
  /** Null: still to come. */
  readonly appliedAt: Date | null
}

interface Applied extends Record<string, unknown> {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly applied_at: Date
}

/** Whoever holds it migrates. */
const LOCK = 'SELECT pg_advisory_xact_lock(7523991)'

const BOOK = [
  'CREATE SCHEMA IF NOT EXISTS sluice',
  `CREATE TABLE IF NOT EXISTS sluice.sluice_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`,
]

/** Runs what is missing; answers the names of what was run. */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<string[]> {
  const ran: string[] = []
  while (await database.transaction((sql) => step(sql, migrations, ran)));
  return ran
}

/** The next migration that is missing; false where none is. */
async function step(sql: Sql, migrations: readonly Migration[], ran: string[]): Promise<boolean> {
  await sql.query(LOCK)
  for (const statement of BOOK) await sql.query(statement)
  const applied = await readApplied(sql)
  refuseStrangers(applied, migrations)
  const next = migrations.find(({ version }) => !applied.some((one) => one.version === version))
  if (next === undefined) return false
  for (const statement of next.statements) await sql.query(statement)
  await sql.query(
    'INSERT INTO sluice.sluice_migrations (version, name, checksum) VALUES ($1, $2, $3)',
    [next.version, next.name, checksumOf(next)],
  )
  ran.push(next.name)
  return true
}

export async function migrationStatus(
  database: Sql,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<MigrationStatus[]> {
  const applied = await readAppliedIfAny(database)
  refuseStrangers(applied, migrations)
  return migrations.map(({ version, name }) => ({
    version,
    name,
    appliedAt: applied.find((one) => one.version === version)?.applied_at ?? null,
  }))
}

function readApplied(sql: Sql): Promise<Applied[]> {
  return sql.query<Applied>(
    'SELECT version, name, checksum, applied_at FROM sluice.sluice_migrations ORDER BY version',
  )
}

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_SCHEMA = '3F000'

async function readAppliedIfAny(sql: Sql): Promise<Applied[]> {
  try {
    return await readApplied(sql)
  } catch (error) {
    const isMissing =
      error instanceof SqlError && [UNDEFINED_TABLE, UNDEFINED_SCHEMA].includes(error.state)
    if (isMissing) return []
    throw error
  }
}

function refuseStrangers(applied: readonly Applied[], migrations: readonly Migration[]): void {
  for (const { version, name, checksum } of applied) {
    const known = migrations.find((one) => one.version === version)
    if (known === undefined)
      throw new MigrationError(
        `the database has migration ${version} (${name}), which this version of Sluice does not know: it is newer; use that version or a later one`,
      )
    if (checksumOf(known) !== checksum)
      throw new MigrationError(
        `the database was made with another migration ${version} (${name}) than this version of Sluice has`,
      )
  }
}

function checksumOf({ name, statements }: Migration): string {
  return createHash('sha256')
    .update(JSON.stringify([name, statements]))
    .digest('hex')
    .slice(0, 32)
}
