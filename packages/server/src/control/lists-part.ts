/** Subjects that are exempt, and subjects that are blocked: two lists of the same shape. */

import { randomUUID } from 'node:crypto'
import type { ListItem } from '@sluice/contract'
import { type Caller, namespaceOf } from '../security/caller.js'
import { contentOf, LISTS, type ListName } from './content.js'
import {
  type ControlContext,
  isoTime,
  notFound,
  type Page,
  type PageRequest,
  pageOf,
  requireId,
  requireNamespace,
  writeNamespace,
} from './context.js'
import { badInput, wireFaults } from './faults.js'
import { NO_ID } from './load-content.js'
import { pastFaults } from './subjects-part.js'

export interface ListedFields {
  readonly scope: string
  readonly value: string
  readonly until?: string
  readonly reason?: string
}

interface ListedRecord extends Record<string, unknown> {
  readonly id: string
  readonly namespace: string
  readonly scope: string
  readonly value: string
  readonly until: Date | null
  readonly reason: string | null
  readonly created_at: Date
}

const COLUMNS = 'id, namespace, scope, value, until, reason, created_at'

export function listPart(context: ControlContext, name: ListName) {
  const { file } = context
  const kind = LISTS[name]

  const list = (namespace: string, page: PageRequest): Promise<Page<ListItem<'listBlocks'>>> =>
    context.read(async (sql) => {
      await requireNamespace(sql, namespace, file)
      const rows = await sql.query<ListedRecord>(
        `SELECT ${COLUMNS} FROM sluice.${name} WHERE namespace = $1
          AND (until IS NULL OR until > now()) AND id > $2 ORDER BY id LIMIT $3`,
        [namespace, page.after?.[0] ?? NO_ID, page.limit + 1],
      )
      return pageOf(rows, page.limit, wireListed, ({ id }) => [id])
    })

  const add = (caller: Caller, namespace: string, fields: ListedFields) =>
    context.write(caller.name, async (writing) => {
      const item = readListed(name, fields, writing.at)
      await writeNamespace(writing, namespace, file)
      const { sql, at } = writing
      const { scope, value, reason } = item
      const until = item.until === null ? null : new Date(item.until)
      const record = { id: randomUUID(), namespace, scope, value, until, reason, created_at: at }
      await sql.query(
        `INSERT INTO sluice.${name} (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [record.id, namespace, scope, value, until, reason, at],
      )
      writing.edit({ kind, namespace, key: record.id, item })
      const after = wireListed(record)
      const target = `${kind} ${scope}:${value}`
      writing.audit({ namespace, action: `${kind}.create`, target, before: null, after })
      return after
    })

  const remove = (caller: Caller, id: string): Promise<void> =>
    context.write(caller.name, async (writing) => {
      requireId(id, kind)
      const [found] = await writing.sql.query<ListedRecord>(
        `SELECT ${COLUMNS} FROM sluice.${name} WHERE id = $1`,
        [id],
      )
      if (found === undefined) throw notFound(kind, id)
      const { namespace, scope, value } = found
      namespaceOf(caller, namespace)
      await writing.sql.query(`DELETE FROM sluice.${name} WHERE id = $1`, [id])
      writing.edit({ kind, namespace, key: id, item: null })
      const target = `${kind} ${scope}:${value}`
      writing.audit({
        namespace,
        action: `${kind}.delete`,
        target,
        before: wireListed(found),
        after: null,
      })
    })

  return { list, add, remove }
}

/** Throws 400. */
function readListed(name: ListName, fields: ListedFields, now: Date) {
  const { scope, value, until, reason } = fields
  // The reader takes `until` and `reason` beside a scope's name, so these are no scopes here.
  const entry = {
    [scope]: value,
    ...(until === undefined ? {} : { until }),
    ...(reason === undefined ? {} : { reason }),
  }
  const content = contentOf({ [name]: [entry] })
  const faults = Array.isArray(content)
    ? wireFaults(content, `${name}[0]`, 'value')
    : pastFaults(content[name][0]!.until, now)
  if (faults.length > 0 || Array.isArray(content)) throw badInput(faults)
  return content[name][0]!
}

function wireListed({ id, namespace, scope, value, until, reason, created_at }: ListedRecord) {
  return {
    id,
    namespace,
    scope,
    value,
    until: isoTime(until),
    reason,
    created_at: isoTime(created_at),
  }
}
