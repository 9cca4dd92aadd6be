/** What the parts of the control plane share: how to read, how to write, and which namespaces there are. */

import type { Rule } from '@sluice/limiter'
import { NAMESPACE, quote } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import type { NamespaceSettings } from '../feed/change.js'
import { isReserved } from '../security/caller.js'
import type { Sql } from './database.js'
import { isId } from './ids.js'
import type { Writing } from './writing.js'

/** What an override must know of its rule. */
export type Counting = Pick<Rule, 'scope' | 'shards'>

/** Where rules come from a file: what is known of them. */
export interface RulesInFile {
  /** Whether there are rules, even none, for this namespace. */
  serves(namespace: string): boolean
  /** How a rule counts; undefined where there is no such rule. */
  counting(namespace: string, name: string): Counting | undefined
}

export interface ControlContext {
  /** Null: rules are in the database. */
  readonly file: RulesInFile | null
  /** Of these settings and rule fields, those that running instances are too old to read, with the instances. */
  lacking(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Throws ServiceError alone. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** The same, in one consistent view of everything. */
  view<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  write<T>(actor: string, work: (writing: Writing) => Promise<T>): Promise<T>
}

/** One page of a list; `next` is where the following one begins. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: readonly string[] | null
}

export interface PageRequest {
  readonly after: readonly string[] | null
  readonly limit: number
}

/** Of rows that were asked for one more than the page has. */
export function pageOf<R, T>(
  rows: readonly R[],
  limit: number,
  item: (row: R) => T,
  key: (row: R) => readonly string[],
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    items: shown.map(item),
    next: rows.length > limit && last !== undefined ? key(last) : null,
  }
}

interface NamespaceRow extends Record<string, unknown> {
  readonly settings: NamespaceSettings
  readonly revision: number
}

export async function findNamespace(sql: Sql, name: string): Promise<NamespaceRow | undefined> {
  if (!NAMESPACE.test(name)) return undefined
  const [row] = await sql.query<NamespaceRow>(
    'SELECT settings, revision FROM sluice.namespaces WHERE name = $1',
    [name],
  )
  return row
}

/** Throws 400 for one that there is not. */
export async function requireNamespace(
  sql: Sql,
  name: string,
  file: RulesInFile | null,
): Promise<NamespaceRow> {
  const row = await findNamespace(sql, name)
  if (row !== undefined) return row
  if (file?.serves(name) === true) return { settings: {}, revision: 0 }
  throw new ServiceError('unknown_namespace', `there is no namespace ${quote(name)}`, {
    field: 'namespace',
  })
}

/** Begins it where it does not exist yet. */
export async function beginNamespace(writing: Writing, name: string): Promise<NamespaceRow> {
  const known = await findNamespace(writing.sql, name)
  if (known !== undefined) return known
  if (!NAMESPACE.test(name) || isReserved(name))
    throw new ServiceError(
      'bad_request',
      `namespace is ${quote(name)}; expected a namespace's name`,
      {
        field: 'namespace',
      },
    )
  const { sql, revision, at } = writing
  await sql.query(
    `INSERT INTO sluice.namespaces (name, settings, revision, created_at) VALUES ($1, '{}', $2, $3)`,
    [name, revision, at],
  )
  writing.edit({ kind: 'namespace', namespace: name, key: '', item: {} })
  writing.audit({
    namespace: name,
    action: 'namespace.create',
    target: name,
    before: null,
    after: {},
  })
  return { settings: {}, revision }
}

/** For a write that is of an existing namespace: with a file, one that the file has. */
export async function writeNamespace(
  writing: Writing,
  name: string,
  file: RulesInFile | null,
): Promise<NamespaceRow> {
  await requireNamespace(writing.sql, name, file)
  return beginNamespace(writing, name)
}

export function refuseFile(file: RulesInFile | null): void {
  if (file !== null)
    throw new ServiceError('rules_from_file', 'the rules come from a file; change that instead')
}

export function isoTime(time: Date): string
export function isoTime(time: Date | null): string | null
export function isoTime(time: Date | null): string | null {
  return time === null ? null : time.toISOString()
}

/** Ids that cannot be are of nothing. */
export function requireId(id: string, what: string): void {
  if (!isId(id)) throw notFound(what, id)
}

export function notFound(what: string, id: string): ServiceError {
  return new ServiceError('not_found', `there is no ${what} ${quote(id)}`)
}
