/**
 * Stores batches, each once however often it comes: that a batch is there is written in the transaction
 * that adds its counts. Whatever an instance says that it has counted and that never came is lost, and
 * known exactly: batches carry the sum of all before.
 */
import { DAY_MS, MINUTE_MS } from '@sluice/limiter/transport'
import { type Database, DatabaseAway, type Sql } from '../control/database.js'
import type { Log } from '../telemetry/log.js'
import type { UsageBatch } from './batch.js'
import type { UsageKeeper } from './keeping.js'
import { NamesBudget } from './names-budget.js'
import { hashSql } from './place-hash.js'
import { countsOf, inPieces, type StoredCounts, violationsOf } from './stored-counts.js'

export interface RecorderParts {
  readonly database: Database
  readonly now: () => number
  readonly log: Log
  /** Makes the partitions that are missing. */
  readonly keeper: Pick<UsageKeeper, 'tend'>
  /** Subjects of a rule that get rows of their own in a minute; 10,000 unless given. As many denials are told apart. */
  readonly namesAMinute?: number
  /** The same in a day; 200,000 unless given. */
  readonly namesADay?: number
  /** A batch that another recorder is about to store looks lost for a moment: what looks lost for longer is. 30 s unless given. */
  readonly settledAfterMs?: number
}

/** How much may be named. */
interface Budgets {
  readonly minutes: NamesBudget
  readonly days: NamesBudget
  readonly violations: NamesBudget
}

/** Rows of one statement: a statement may take only so long. */
const AT_ONCE = 2000
const SETTLED_AFTER_MS = 30_000
const NAMES_A_MINUTE = 10_000
const NAMES_A_DAY = 200_000

const addUsage = (table: string): string => `INSERT INTO sluice.${table} AS kept
    (at, place, subject, namespace, rule, scope, value, allowed, denied, cost)
  SELECT at, ${hashSql('namespace, rule, scope, value')}, ${hashSql('namespace, scope, value')},
      namespace, rule, scope, value, sum(allowed), sum(denied), sum(cost)
    FROM json_to_recordset($1::json)
        AS rules (at timestamptz, namespace text, rule text, scope text, subjects json),
      json_to_recordset(rules.subjects)
        AS counts (value text, allowed bigint, denied bigint, cost bigint)
    GROUP BY at, namespace, rule, scope, value ORDER BY 1, 2
  ON CONFLICT (at, place) DO UPDATE SET allowed = kept.allowed + excluded.allowed,
    denied = kept.denied + excluded.denied, cost = kept.cost + excluded.cost`

const ADD_MINUTES = addUsage('usage_minutes')
const ADD_DAYS = addUsage('usage_days')
const ADD_VIOLATIONS = `INSERT INTO sluice.violations AS kept
    (at, place, subject, namespace, rule, scope, value, resource, limit_text, reason, count)
  SELECT to_timestamp(at / 1000.0),
      ${hashSql('namespace, rule, scope, value, resource, "limit", reason')},
      ${hashSql('namespace, scope, value')},
      namespace, rule, scope, value, resource, "limit", reason, sum(count)
    FROM json_to_recordset($1::json) AS added (at bigint, namespace text, rule text, scope text,
      value text, resource text, "limit" text, reason text, count bigint)
    GROUP BY at, namespace, rule, scope, value, resource, "limit", reason ORDER BY 1, 2
  ON CONFLICT (at, place) DO UPDATE SET count = kept.count + excluded.count`

const ADD_BATCHES = `INSERT INTO sluice.usage_batches (instance, sequence, stored_at)
  SELECT instance, sequence, now()
    FROM json_to_recordset($1::json) AS added (instance text, sequence bigint)
    ORDER BY instance, sequence
  ON CONFLICT DO NOTHING RETURNING instance, sequence`

const ADD_INSTANCES = `INSERT INTO sluice.usage_instances AS kept (instance, total, stored, dropped, seen_at)
  SELECT instance, total, stored, dropped, now()
    FROM json_to_recordset($1::json)
      AS added (instance text, total bigint, stored bigint, dropped bigint)
    ORDER BY instance
  ON CONFLICT (instance) DO UPDATE SET total = greatest(kept.total, excluded.total),
    stored = kept.stored + excluded.stored, dropped = greatest(kept.dropped, excluded.dropped),
    seen_at = excluded.seen_at`

const LOST = `SELECT coalesce(sum(total - stored - dropped), 0)::float8 AS lost
  FROM sluice.usage_instances`

export class UsageRecorder {
  readonly #database: Database
  readonly #now: () => number
  readonly #log: Log
  readonly #keeper: RecorderParts['keeper']
  readonly #budgets: Budgets
  readonly #settledAfterMs: number
  #lagMs = 0
  #lost = 0
  #lostBefore = 0
  #lookAt = 0

  constructor(parts: RecorderParts) {
    const { database, now, log, keeper } = parts
    const { namesAMinute = NAMES_A_MINUTE, namesADay = NAMES_A_DAY } = parts
    this.#budgets = {
      minutes: new NamesBudget(namesAMinute, MINUTE_MS),
      days: new NamesBudget(namesADay, DAY_MS),
      violations: new NamesBudget(namesAMinute, MINUTE_MS),
    }
    this.#settledAfterMs = parts.settledAfterMs ?? SETTLED_AFTER_MS
    this.#keeper = keeper
    this.#database = database
    this.#now = now
    this.#log = log
  }

  /** Decisions whose counts vanished on their way here, of all instances, a minute or so ago. */
  get lost(): number {
    return this.#lost
  }

  /** How old the newest counts were when they were stored last, in milliseconds. */
  get lagMs(): number {
    return this.#lagMs
  }

  /** Stores all of them or none. Rejects with DatabaseAway where it could not. */
  async record(batches: readonly UsageBatch[]): Promise<void> {
    try {
      await this.#database.transaction((sql) => store(sql, batches, this.#budgets))
    } catch (error) {
      if (error instanceof DatabaseAway) throw error
      await this.#keeper.tend()
      await this.#recordEach(batches)
    }
    const newest = Math.max(...batches.map(({ to }) => to))
    this.#lagMs = Math.max(0, this.#now() - newest)
    await this.#look()
  }

  /** One of them is refused: it is left out, and its decisions are lost; the others are not. */
  async #recordEach(batches: readonly UsageBatch[]): Promise<void> {
    for (const batch of batches) {
      try {
        await this.#database.transaction((sql) => store(sql, [batch], this.#budgets))
      } catch (error) {
        if (error instanceof DatabaseAway) throw error
        const { instance, sequence, decisions } = batch
        const said = error instanceof Error ? error.message : String(error)
        this.#log.error('usage is refused by the database, and lost', {
          code: 'usage_refused',
          count: decisions,
          batch: `${instance} ${sequence}`,
          error: said,
        })
        await this.#database.transaction((sql) => noteRefused(sql, batch))
      }
    }
  }

  /** What was lost by now: as exact as what has come. */
  async lostNow(): Promise<number> {
    const [row] = await this.#database.query<{ lost: number }>(LOST)
    return row!.lost
  }

  async #look(): Promise<void> {
    if (performance.now() < this.#lookAt) return
    this.#lookAt = performance.now() + this.#settledAfterMs
    try {
      const lost = await this.lostNow()
      this.#lost = Math.max(this.#lost, Math.min(lost, this.#lostBefore))
      this.#lostBefore = lost
    } catch {
      // The next time.
    }
  }
}

async function store(
  sql: Sql,
  batches: readonly UsageBatch[],
  { minutes, days, violations }: Budgets,
): Promise<void> {
  const added = await addBatches(sql, batches)
  if (added.length === 0) return
  await addCounts(
    sql,
    ADD_MINUTES,
    added.flatMap((batch) => countsOf(batch, 'minute', minutes)),
  )
  await addCounts(
    sql,
    ADD_DAYS,
    added.flatMap((batch) => countsOf(batch, 'day', days)),
  )
  const denials = added.flatMap((batch) => violationsOf(batch, violations))
  for (let i = 0; i < denials.length; i += AT_ONCE)
    await sql.query(ADD_VIOLATIONS, [JSON.stringify(denials.slice(i, i + AT_ONCE))])
  await addInstances(sql, added)
}

/** Those that had not come before. */
async function addBatches(sql: Sql, batches: readonly UsageBatch[]): Promise<UsageBatch[]> {
  const byName = new Map(batches.map((batch) => [nameOf(batch), batch]))
  const keys = [...byName.values()].map(({ instance, sequence }) => ({ instance, sequence }))
  const rows = await sql.query<{ instance: string; sequence: number }>(ADD_BATCHES, [
    JSON.stringify(keys),
  ])
  return rows.map((row) => byName.get(nameOf(row))!)
}

function nameOf({ instance, sequence }: { instance: string; sequence: number }): string {
  return `${sequence} ${instance}`
}

async function addCounts(
  sql: Sql,
  statement: string,
  counts: readonly StoredCounts[],
): Promise<void> {
  for (const piece of inPieces(counts, AT_ONCE)) await sql.query(statement, [JSON.stringify(piece)])
}

async function addInstances(sql: Sql, batches: readonly UsageBatch[]): Promise<void> {
  const byInstance = new Map<string, { total: number; stored: number; dropped: number }>()
  for (const { instance, total, dropped, decisions } of batches) {
    const sum = byInstance.get(instance) ?? { total: 0, stored: 0, dropped: 0 }
    byInstance.set(instance, {
      total: Math.max(sum.total, total),
      stored: sum.stored + decisions,
      dropped: Math.max(sum.dropped, dropped),
    })
  }
  const rows = [...byInstance].map(([instance, sums]) => ({ instance, ...sums }))
  await sql.query(ADD_INSTANCES, [JSON.stringify(rows)])
}

/** It came, and nothing of it was stored. */
async function noteRefused(sql: Sql, batch: UsageBatch): Promise<void> {
  const added = await addBatches(sql, [batch])
  await addInstances(
    sql,
    added.map((one) => ({ ...one, decisions: 0 })),
  )
}
