/** What the control plane does by itself: takes away what has ended, and drops what is kept no longer. */
import type { Database, Row } from './database.js'
import type { PartitionedTable } from './partitions.js'
import { tendPartitions } from './partitions.js'
import { NothingToWrite, type Writing } from './writing.js'

export const ACTOR = 'sluice'
const KEPT_CHANGES = 10_000
const KEPT_CHANGES_DAYS = 7
/** So that nobody waits long for a write of ours. */
const MOST_ENDED = 1000

/** By the database's clock, which is the one that rows are written by. */
export async function tendAudit(database: Database, keptDays: number): Promise<void> {
  const [row] = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const audit: PartitionedTable = { table: 'audit', by: 'month', keptDays }
  await tendPartitions(database, audit, row!.now)
}

/** The newest change stays: it is what the next one is chained to. */
export async function pruneChanges(database: Database): Promise<void> {
  await database.query(
    `DELETE FROM sluice.changes WHERE revision < (SELECT revision FROM sluice.head)
      AND (revision <= (SELECT revision FROM sluice.head) - ${KEPT_CHANGES}
        OR at < now() - interval '${KEPT_CHANGES_DAYS} days')`,
  )
}

export async function hasEnded(database: Database): Promise<boolean> {
  const [row] = await database.query<{ ended: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM sluice.overrides WHERE until <= now())
      OR EXISTS (SELECT 1 FROM sluice.exemptions WHERE until <= now())
      OR EXISTS (SELECT 1 FROM sluice.blocks WHERE until <= now()) AS ended`,
  )
  return row!.ended
}

interface Ended extends Row {
  readonly namespace: string
  readonly scope: string
  readonly value: string
  readonly key: string
  readonly rule: string | null
  readonly until: Date
}

const WHAT = [
  ['overrides', 'override', 'place', 'rule'],
  ['exemptions', 'exemption', 'id', 'NULL::text'],
  ['blocks', 'block', 'id', 'NULL::text'],
] as const

/** Takes away what has ended, some of it at a time; answers how many. */
export async function removeEnded(writing: Writing): Promise<number> {
  let count = 0
  for (const [table, kind, key, rule] of WHAT) {
    const gone = await writing.sql.query<Ended>(
      `DELETE FROM sluice.${table} WHERE (namespace, ${key}) IN (SELECT namespace, ${key}
          FROM sluice.${table} WHERE until <= now() ORDER BY until LIMIT ${MOST_ENDED})
        RETURNING namespace, scope, value, ${key}::text AS key, ${rule} AS rule, until`,
    )
    count += gone.length
    for (const one of gone) tellEnded(writing, kind, one)
  }
  if (count === 0) throw new NothingToWrite(0)
  return count
}

function tellEnded(
  writing: Writing,
  kind: (typeof WHAT)[number][1],
  { namespace, scope, value, key, rule, until }: Ended,
): void {
  const place = kind === 'override' ? JSON.stringify([scope, value, rule]) : key
  writing.edit({ kind, namespace, key: place, item: null })
  const of = rule === null ? '' : ` ${rule}`
  writing.audit({
    namespace,
    action: `${kind}.end`,
    target: `${kind} ${scope}:${value}${of}`,
    before: { until: until.toISOString() },
    after: null,
  })
}
