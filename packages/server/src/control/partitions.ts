/**
 * Tables that are kept for a time are divided by time: what is too old is dropped with its partition, not
 * row by row. Partitions are made ahead; any number of instances may do so at once.
 */
import { DAY_MS } from '@sluice/limiter/transport'
import type { Database } from './database.js'

export interface PartitionedTable {
  /** In the schema `sluice`, partitioned by range of a timestamptz. */
  readonly table: string
  readonly by: 'day' | 'month'
  readonly keptDays: number
}

export interface PartitionWork {
  readonly made: readonly string[]
  readonly dropped: readonly string[]
}

/** How many partitions there are ahead of the one of now: a server that was off finds its own anyway. */
const AHEAD = 3

/** One lock for each table. */
const LOCK = 'SELECT pg_advisory_xact_lock(7523992, hashtext($1))'
const EXISTING = `SELECT child.relname AS name FROM pg_inherits
  JOIN pg_class child ON child.oid = pg_inherits.inhrelid
  WHERE pg_inherits.inhparent = ($1)::regclass ORDER BY child.relname`

/** Makes the partitions of now and of what comes, and drops those that ended before what is kept. */
export function tendPartitions(
  database: Database,
  { table, by, keptDays }: PartitionedTable,
  now: Date = new Date(),
): Promise<PartitionWork> {
  return database.transaction(async (sql) => {
    await sql.query(LOCK, [table])
    const rows = await sql.query<{ name: string }>(EXISTING, [`sluice.${table}`])
    const existing = new Set(rows.map(({ name }) => name))
    const wanted = spansFrom(now, by)
    const made: string[] = []
    for (const { from, to } of wanted) {
      const name = nameOf(table, from, by)
      if (existing.has(name)) continue
      await sql.query(
        `CREATE TABLE sluice.${name} PARTITION OF sluice.${table}
          FOR VALUES FROM ('${from.toISOString()}') TO ('${to.toISOString()}')`,
      )
      made.push(name)
    }
    const dropped = [...existing].filter((name) => isOver(name, table, by, now, keptDays))
    for (const name of dropped) await sql.query(`DROP TABLE sluice.${name}`)
    return { made, dropped }
  })
}

interface Span {
  readonly from: Date
  readonly to: Date
}

/** The one before too: a clock may be a little behind. */
function spansFrom(now: Date, by: PartitionedTable['by']): Span[] {
  const starts = Array.from({ length: AHEAD + 3 }, (_, i) => startOf(now, by, i - 1))
  return starts.slice(0, -1).map((from, i) => ({ from, to: starts[i + 1]! }))
}

function startOf(now: Date, by: PartitionedTable['by'], offset: number): Date {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  return by === 'month'
    ? new Date(Date.UTC(year, month + offset, 1))
    : new Date(Date.UTC(year, month, day + offset))
}

/** `audit_2026_07` or `usage_2026_07_31`: its first day, in UTC. */
function nameOf(table: string, from: Date, by: PartitionedTable['by']): string {
  const digits = from.toISOString().slice(0, by === 'month' ? 7 : 10)
  return `${table}_${digits.replaceAll('-', '_')}`
}

function isOver(
  name: string,
  table: string,
  by: PartitionedTable['by'],
  now: Date,
  keptDays: number,
): boolean {
  const match = /^_(\d{4})_(\d\d)(?:_(\d\d))?$/.exec(name.slice(table.length))
  if (match === null) return false
  const from = new Date(Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3] ?? 1)))
  const end = startOf(from, by, 1)
  return end.getTime() <= now.getTime() - keptDays * DAY_MS
}
