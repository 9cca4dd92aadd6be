/** Who changed what, when: newest first. */
import type { ListItem } from '@sluice/contract'
import type { Caller } from '../security/caller.js'
import { type ControlContext, isoTime, type Page, type PageRequest, pageOf } from './context.js'

export interface AuditFilter {
  readonly namespace?: string
  readonly actor?: string
  readonly action?: string
  readonly target?: string
  readonly from?: Date
  readonly to?: Date
}

interface AuditRecord extends Record<string, unknown> {
  readonly at: Date
  readonly revision: number
  readonly ordinal: number
  readonly namespace: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly before: unknown
  readonly after: unknown
}

export function auditPart(context: ControlContext) {
  /** To a caller of some namespaces, of these alone. */
  const list = (
    caller: Caller,
    filter: AuditFilter,
    page: PageRequest,
  ): Promise<Page<ListItem<'listAudit'>>> =>
    context.read(async (sql) => {
      const { namespace, actor = null, action = null, target = null, from, to } = filter
      const own = caller.namespaces === null ? null : [...caller.namespaces]
      const namespaces = namespace === undefined ? own : [namespace]
      const [after, revision, ordinal] = page.after ?? []
      const rows = await sql.query<AuditRecord>(
        `SELECT at, revision, ordinal, namespace, actor, action, target, before, after
          FROM sluice.audit WHERE ($1::text[] IS NULL OR namespace = ANY($1))
          AND ($2::text IS NULL OR actor = $2) AND ($3::text IS NULL OR action = $3)
          AND ($4::text IS NULL OR target = $4)
          AND ($5::timestamptz IS NULL OR at >= $5) AND ($6::timestamptz IS NULL OR at < $6)
          AND ($7::timestamptz IS NULL OR (at, revision, ordinal) < ($7::timestamptz, $8, $9))
          ORDER BY at DESC, revision DESC, ordinal DESC LIMIT $10`,
        [
          namespaces,
          actor,
          action,
          target,
          from ?? null,
          to ?? null,
          after === undefined ? null : new Date(after),
          Number(revision ?? 0),
          Number(ordinal ?? 0),
          page.limit + 1,
        ],
      )
      return pageOf(rows, page.limit, wireEntry, keyOf)
    })

  return { list }
}

function keyOf({ at, revision, ordinal }: AuditRecord): string[] {
  return [at.toISOString(), String(revision), String(ordinal)]
}

function wireEntry(record: AuditRecord) {
  const { at, revision, namespace, actor, action, target, before, after } = record
  return { at: isoTime(at), revision, namespace, actor, action, target, before, after }
}
