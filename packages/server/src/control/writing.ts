/**
 * A write of the control plane: one transaction that takes the next revision first, so that writers come
 * one after the other and revisions are in the order of commits; then the change itself; then what is told
 * of it: the audit, and the change for the data planes.
 */
import { inSlices, type Slices } from '@sluice/limiter'
import { digestOf, type Edit } from '../feed/change.js'
import type { Database, Sql } from './database.js'

export interface AuditEntry {
  /** Empty: of none. */
  readonly namespace: string
  /** `rule.create`, `block.delete`, … */
  readonly action: string
  readonly target: string
  readonly before: unknown
  readonly after: unknown
}

export interface Writing {
  readonly sql: Sql
  readonly revision: number
  /** By the database's clock. */
  readonly at: Date
  readonly actor: string
  /** What data planes are told. */
  edit(edit: Edit): void
  audit(entry: AuditEntry): void
}

/** Undoes a write that turned out to change nothing; its answer stands. */
export class NothingToWrite<T> extends Error {
  readonly answer: T

  constructor(answer: T) {
    super('nothing to write')
    this.answer = answer
  }
}

interface Begun extends Record<string, unknown> {
  readonly revision: number
  readonly digest: string
  readonly at: Date
}

export interface Written<T> {
  readonly answer: T
  /** Null: nothing was written. */
  readonly revision: number | null
}

export async function write<T>(
  database: Database,
  actor: string,
  work: (writing: Writing) => Promise<T>,
): Promise<Written<T>> {
  try {
    return await database.transaction((sql) => attempt(sql, actor, work))
  } catch (error) {
    if (error instanceof NothingToWrite) return { answer: error.answer as T, revision: null }
    throw error
  }
}

async function attempt<T>(
  sql: Sql,
  actor: string,
  work: (writing: Writing) => Promise<T>,
): Promise<Written<T>> {
  const [begun] = await sql.query<Begun>(
    'UPDATE sluice.head SET revision = revision + 1 RETURNING revision, digest, clock_timestamp() AS at',
  )
  const { revision, digest: previous, at } = begun!
  const edits: Edit[] = []
  const entries: AuditEntry[] = []
  const answer = await work({
    sql,
    revision,
    at,
    actor,
    edit: (edit) => edits.push(edit),
    audit: (entry) => entries.push(entry),
  })
  await insertAudit(sql, entries, { revision, at, actor })
  await markNamespaces(sql, edits, revision)
  const text = await inSlices(printEdits(edits))
  const digest = digestOf(previous, text)
  await sql.query(
    'INSERT INTO sluice.changes (revision, at, previous, digest, edits) VALUES ($1, $2, $3, $4, $5)',
    [revision, at, previous, digest, text],
  )
  await sql.query('UPDATE sluice.head SET digest = $1', [digest])
  return { answer, revision }
}

/** How many rows go in one statement. */
const ROWS = 500

/** Runs a statement whose first parameter is a list of rows, as JSON, for some of the items at a time. */
export async function inBatches<T>(
  items: readonly T[],
  row: (item: T, index: number) => unknown,
  run: (json: string) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < items.length; i += ROWS) {
    const rows = items.slice(i, i + ROWS).map((item, j) => row(item, i + j))
    await run(JSON.stringify(rows))
  }
}

/** JSON of very many edits, without a long pause. */
function* printEdits(edits: readonly Edit[]): Slices<string> {
  const texts: string[] = []
  for (let i = 0; i < edits.length; i += ROWS) {
    texts.push(JSON.stringify(edits.slice(i, i + ROWS)).slice(1, -1))
    yield
  }
  return `[${texts.join(',')}]`
}

async function insertAudit(
  sql: Sql,
  entries: readonly AuditEntry[],
  { revision, at, actor }: { revision: number; at: Date; actor: string },
): Promise<void> {
  const row = (entry: AuditEntry, ordinal: number) => ({ ordinal, ...entry })
  await inBatches(entries, row, (json) =>
    sql.query(
      `INSERT INTO sluice.audit
          (at, revision, ordinal, namespace, actor, action, target, before, after)
        SELECT $2, $3, ordinal, namespace, $4, action, target, nullif(before, 'null'), nullif(after, 'null')
        FROM jsonb_to_recordset($1::jsonb)
          AS row (ordinal integer, namespace text, action text, target text, before jsonb, after jsonb)`,
      [json, at, revision, actor],
    ),
  )
}

async function markNamespaces(sql: Sql, edits: readonly Edit[], revision: number): Promise<void> {
  const names = [...new Set(edits.map(({ namespace }) => namespace))].filter((name) => name !== '')
  if (names.length > 0)
    await sql.query('UPDATE sluice.namespaces SET revision = $1 WHERE name = ANY($2)', [
      revision,
      names,
    ])
}
