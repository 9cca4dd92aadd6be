/** The rules of the control plane: each with every version that it ever had. */
import { randomUUID } from 'node:crypto'
import { type ListItem, printStored, type RuleBody } from '@sluice/contract'
import type { FailureMode, RuleInput } from '@sluice/limiter'
import { splitLabel } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { type Caller, namespaceOf } from '../security/caller.js'
import type { RuleRow } from './content.js'
import {
  beginNamespace,
  type ControlContext,
  findNamespace,
  isoTime,
  notFound,
  type Page,
  type PageRequest,
  pageOf,
  refuseFile,
  requireId,
  requireNamespace,
} from './context.js'
import type { Sql } from './database.js'
import { keepWhole } from './keep-whole.js'
import { refuseForOlder } from './older-instances.js'
import { type Fields, familyOf, patchedRule, type ReadRule, readRuleBody } from './rule-body.js'
import { deleteRules, putRules } from './rule-tables.js'
import { refuseTwins } from './twin-rules.js'
import type { Writing } from './writing.js'

/** A rule as it is in the database. */
export interface RuleRecord extends Record<string, unknown> {
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly body: RuleInput
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
  /** Of its namespace, for rules that state none. */
  readonly failure_mode: FailureMode | null
}

/** Versions that a caller has read; `any`: whichever. */
export type IfMatch = 'any' | readonly number[]

const COLUMNS = `rules.id, rules.namespace, rules.name, rules.body, rules.version, rules.created_at,
  rules.updated_at, namespaces.settings->'defaults'->>'failure_mode' AS failure_mode`
const FROM = 'FROM sluice.rules JOIN sluice.namespaces ON namespaces.name = rules.namespace'

export interface RuleFilter {
  readonly namespace: string
  readonly scope?: string
  readonly resource?: string
  /** `team:search`, or `team` with any value. */
  readonly label?: string
}

interface VersionRecord extends Record<string, unknown> {
  readonly id: string
  readonly version: number
  readonly namespace: string
  readonly name: string
  readonly body: RuleInput
  readonly actor: string
  readonly at: Date
  readonly created_at: Date
  readonly revision: number
  readonly deleted: boolean
  readonly failure_mode: FailureMode | null
}

export function rulesPart(context: ControlContext) {
  const { file } = context

  const list = (filter: RuleFilter, page: PageRequest): Promise<Page<RuleBody>> =>
    context.read(async (sql) => {
      const { namespace, scope = null, resource = null, label } = filter
      const [key, value] = label === undefined ? [null, null] : splitLabel(label)
      await requireNamespace(sql, namespace, file)
      const rows = await sql.query<RuleRecord>(
        `SELECT ${COLUMNS} ${FROM} WHERE rules.namespace = $1
          AND ($2::text IS NULL OR scope = $2) AND ($3::text IS NULL OR resource = $3)
          AND ($4::text IS NULL OR rules.name > $4)
          AND ($5::text IS NULL OR body->'labels' ? $5)
          AND ($6::text IS NULL OR body->'labels'->>$5 = $6) ORDER BY rules.name LIMIT $7`,
        [namespace, scope, resource, page.after?.[0] ?? null, key, value, page.limit + 1],
      )
      return pageOf(rows, page.limit, wireRule, ({ name }) => [name])
    })

  const get = (caller: Caller, id: string): Promise<RuleBody> =>
    context.read(async (sql) => wireRule(await recordOf(sql, caller, id)))

  const create = async (caller: Caller, namespace: string, body: Fields): Promise<RuleBody> => {
    refuseFile(file)
    await refuseForOlder(context, { rules: [{ body }] })
    return context.write(caller.name, async (writing) => {
      const { settings } = await beginNamespace(writing, namespace)
      const kin = await kinOf(writing.sql, namespace, body)
      const read = readRuleBody(body, { settings, kin, fixed: { namespace } })
      await refuseTwins(writing.sql, { namespace, settings }, read.row, null)
      const record = newRecord(read.row, writing, {
        id: randomUUID(),
        namespace,
        version: 1,
        created_at: writing.at,
        failure_mode: settings.defaults?.failure_mode ?? null,
      })
      return store(writing, 'rule.create', null, record, read)
    })
  }

  /** `sent` is what the caller sent; `body` makes the new body of that and of what is there. */
  const change = async (
    caller: Caller,
    id: string,
    ifMatch: IfMatch,
    sent: Fields,
    body: (before: RuleRecord) => Fields,
  ): Promise<RuleBody> => {
    refuseFile(file)
    await refuseForOlder(context, { rules: [{ body: sent }] })
    return context.write(caller.name, async (writing) => {
      const before = await recordOf(writing.sql, caller, id)
      requireVersion(before.version, ifMatch)
      const { namespace } = before
      const { settings } = (await findNamespace(writing.sql, namespace))!
      const wanted = body(before)
      const kin = (await kinOf(writing.sql, namespace, wanted)).filter((one) => one.id !== id)
      const read = readRuleBody(wanted, { settings, kin, fixed: { ...wireRule(before) } })
      await refuseTwins(writing.sql, { namespace, settings }, read.row, id)
      const record = newRecord(read.row, writing, { ...before, version: before.version + 1 })
      return store(writing, 'rule.change', before, record, read)
    })
  }

  const replace = (caller: Caller, id: string, body: Fields, ifMatch: IfMatch) =>
    change(caller, id, ifMatch, body, () => body)

  const patch = (caller: Caller, id: string, body: Fields, ifMatch: IfMatch) =>
    change(caller, id, ifMatch, body, (before) => patchedRule(before.name, before.body, body))

  const remove = (caller: Caller, id: string, ifMatch: IfMatch): Promise<void> => {
    refuseFile(file)
    return context.write(caller.name, async (writing) => {
      const before = await recordOf(writing.sql, caller, id)
      requireVersion(before.version, ifMatch)
      await deleteRules(writing, [before])
      writing.audit({
        ...auditOf(before),
        action: 'rule.delete',
        before: wireRule(before),
        after: null,
      })
      await keepWhole(writing, before.namespace, [before.name])
    })
  }

  const history = (
    caller: Caller,
    id: string,
    page: PageRequest,
  ): Promise<Page<ListItem<'ruleHistory'>>> =>
    context.read(async (sql) => {
      const before = page.after === null ? null : Number(page.after[0])
      const rows = await versionsOf(sql, id, before, page.limit + 1)
      if (rows.length === 0 && before === null) throw notFound('rule', id)
      for (const { namespace } of rows.slice(0, 1)) namespaceOf(caller, namespace)
      return pageOf(rows, page.limit, wireVersion, ({ version }) => [String(version)])
    })

  /** To a version that it had: also where it is gone. */
  const rollback = async (
    caller: Caller,
    id: string,
    version: number,
    ifMatch: IfMatch,
  ): Promise<RuleBody> => {
    refuseFile(file)
    const [earlier] = await context.read((sql) => versionsOf(sql, id, version + 1, 1))
    await refuseForOlder(context, { rules: earlier === undefined ? [] : [earlier] })
    return context.write(caller.name, async (writing) => {
      const { sql } = writing
      const [newest] = await versionsOf(sql, id, null, 1)
      if (newest === undefined) throw notFound('rule', id)
      const { namespace } = newest
      namespaceOf(caller, namespace)
      requireVersion(newest.version, ifMatch)
      const [wanted] = await versionsOf(sql, id, version + 1, 1)
      if (wanted?.version !== version || wanted.deleted)
        throw new ServiceError('not_found', `the rule has no version ${version} to go back to`, {
          field: 'version',
        })
      const { settings } = (await findNamespace(sql, namespace))!
      const body = { name: wanted.name, ...wanted.body }
      const kin = (await kinOf(sql, namespace, body)).filter((one) => one.id !== id)
      const read = readRuleBody(body, { settings, kin, fixed: {} })
      await refuseTwins(sql, { namespace, settings }, read.row, id)
      const before = newest.deleted ? null : await recordOf(sql, caller, id)
      const record = newRecord(read.row, writing, { ...newest, version: newest.version + 1 })
      return store(writing, 'rule.rollback', before, record, read)
    })
  }

  const store = async (
    writing: Writing,
    action: string,
    before: RuleRecord | null,
    record: RuleRecord,
    { row, ...doubts }: ReadRule,
  ): Promise<RuleBody> => {
    const { namespace } = record
    if (before !== null && before.name !== row.name)
      writing.edit({ kind: 'rule', namespace, key: before.name, item: null })
    await putRules(writing, [{ record, row }])
    const after = wireRule(record)
    writing.audit({
      ...auditOf(record),
      action,
      before: before === null ? null : wireRule(before),
      after,
    })
    await keepWhole(writing, namespace, [record.name, before?.name ?? record.name])
    return { ...after, ...doubts }
  }

  return { list, get, create, replace, patch, remove, history, rollback }
}

async function recordOf(sql: Sql, caller: Caller, id: string): Promise<RuleRecord> {
  requireId(id, 'rule')
  const [row] = await sql.query<RuleRecord>(`SELECT ${COLUMNS} ${FROM} WHERE rules.id = $1`, [id])
  if (row === undefined) throw notFound('rule', id)
  namespaceOf(caller, row.namespace)
  return row
}

async function versionsOf(
  sql: Sql,
  id: string,
  before: number | null,
  limit: number,
): Promise<VersionRecord[]> {
  requireId(id, 'rule')
  return sql.query<VersionRecord>(
    `SELECT id, version, namespace, rule_versions.name, body, actor, at, rule_versions.created_at,
        rule_versions.revision, deleted, settings->'defaults'->>'failure_mode' AS failure_mode
      FROM sluice.rule_versions JOIN sluice.namespaces ON namespaces.name = namespace
      WHERE id = $1 AND ($2::bigint IS NULL OR version < $2) ORDER BY version DESC LIMIT $3`,
    [id, before, limit],
  )
}

interface KinRecord extends Record<string, unknown> {
  readonly id: string
  readonly name: string
  readonly body: RuleInput
}

async function kinOf(sql: Sql, namespace: string, body: Fields): Promise<KinRecord[]> {
  const family = familyOf(body)
  if (family === null) return []
  return sql.query<KinRecord>(
    'SELECT id, name, body FROM sluice.rules WHERE namespace = $1 AND family = $2 ORDER BY position',
    [namespace, family],
  )
}

/** Throws 412 where it has changed since it was read. */
export function requireVersion(version: number, ifMatch: IfMatch): void {
  if (ifMatch === 'any' || ifMatch.includes(version)) return
  throw new ServiceError('stale_version', `it has changed: its version is ${version} now`, {
    field: 'If-Match',
    headers: { ETag: `"${version}"` },
  })
}

type Kept = Pick<RuleRecord, 'id' | 'namespace' | 'version' | 'created_at' | 'failure_mode'>

function newRecord({ name, body }: RuleRow, { at }: Writing, kept: Kept): RuleRecord {
  const { id, namespace, version, created_at, failure_mode } = kept
  return { id, namespace, name, body, version, created_at, updated_at: at, failure_mode }
}

function auditOf({ namespace, name }: RuleRecord) {
  return { namespace, target: `rule ${name}` }
}

export function wireRule(record: RuleRecord): RuleBody {
  const { id, name, namespace, body, version, created_at, updated_at } = record
  return {
    id,
    name,
    namespace,
    ...printStored(body, record.failure_mode),
    version,
    created_at: isoTime(created_at),
    updated_at: isoTime(updated_at),
  }
}

function wireVersion(version: VersionRecord): ListItem<'ruleHistory'> {
  const { actor, at, revision, deleted } = version
  return {
    version: version.version,
    at: isoTime(at),
    actor,
    revision,
    deleted,
    rule: wireRule({ ...version, updated_at: at }),
  }
}
