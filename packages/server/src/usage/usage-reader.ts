/** What is stored, as it is asked for: sums of a span by rule and subject, and denials by the second. */
import type { Reason } from '@sluice/limiter'
import { DAY_MS, MINUTE_MS } from '@sluice/limiter/transport'
import type { Row, Sql } from '../control/database.js'
import { KEPT, type Keeping } from './keeping.js'
import { hashSql } from './place-hash.js'

export interface Filters {
  readonly namespace: string
  readonly scope?: string
  /** Any of these: an address of IPv6 is counted by its network, and blocked by itself. */
  readonly values?: readonly string[]
  readonly rule?: string
  readonly resource?: string
}

/** Milliseconds since the epoch; `to` is not part of it. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What a page ends with: the next begins after it. */
export interface After {
  readonly rank: number
  readonly place: string
}

export interface Page<Item, Totals> {
  readonly items: readonly Item[]
  readonly totals: Totals
  /** Null: that was all. */
  readonly next: After | null
}

export interface UsageSums {
  readonly allowed: number
  readonly denied: number
  readonly cost: number
}

export interface UsageItem extends UsageSums {
  readonly scope: string
  readonly value: string | null
  readonly rule: string | null
}

export interface ViolationItem {
  readonly at: Date
  readonly count: number
  readonly scope: string
  readonly value: string | null
  readonly rule: string | null
  readonly resource: string | null
  readonly limit: string | null
  readonly reason: Reason
}

const SECOND_MS = 1000

export class UsageReader {
  readonly #sql: Sql
  readonly #now: () => number
  readonly #detailMs: number

  constructor(sql: Sql, now: () => number, { detailDays = KEPT.detailDays }: Keeping = {}) {
    this.#sql = sql
    this.#now = now
    this.#detailMs = detailDays * DAY_MS
  }

  /** The span that is really summed: whole minutes, and whole days of what is not kept by the minute any more. */
  spanOf({ from, to }: Span): Span {
    const detailFrom = this.#detailFrom()
    return {
      from: floor(from, from < detailFrom ? DAY_MS : MINUTE_MS),
      to: ceiling(to, to <= detailFrom ? DAY_MS : MINUTE_MS),
    }
  }

  /** From this day on there is detail. */
  #detailFrom(): number {
    return ceiling(this.#now() - this.#detailMs, DAY_MS)
  }

  /** Heaviest first. `span` is one of `spanOf`. */
  async usage(
    filters: Filters,
    span: Span,
    after: After | null,
    most: number,
  ): Promise<Page<UsageItem, UsageSums>> {
    const detailFrom = Math.min(Math.max(this.#detailFrom(), span.from), span.to)
    const isAllDetail = this.#detailFrom() <= span.from
    const { where, parameters } = whereOf(filters, [
      span.from,
      isAllDetail ? span.from : detailFrom,
      span.to,
    ])
    const rows = await this.#sql.query<Row & { place: string | null; rank: number }>(
      usageSql(where, isAllDetail),
      [...parameters, after?.rank ?? null, after?.place ?? null, most + 1],
    )
    const totals = sumsOf(rows[0]!, 'all_')
    const page = rows.filter(({ place }) => place !== null)
    const items = page.slice(0, most).map((row) => ({
      scope: row['scope'] as string,
      value: row['value'] as string | null,
      rule: row['rule'] as string | null,
      ...sumsOf(row, ''),
    }))
    return { items, totals, next: nextOf(page, most) }
  }

  /** Newest first. */
  async violations(
    filters: Filters,
    { from, to }: Span,
    after: After | null,
    most: number,
  ): Promise<Page<ViolationItem, { readonly count: number }>> {
    const start = floor(from, SECOND_MS)
    const { where, parameters } = whereOf(filters, [start, start, to])
    const rows = await this.#sql.query<Row & { place: string | null; rank: number }>(
      violationsSql(where),
      [...parameters, after?.rank ?? null, after?.place ?? null, most + 1],
    )
    const page = rows.filter(({ place }) => place !== null)
    const items = page.slice(0, most).map((row) => ({
      at: row['at'] as Date,
      count: row['count'] as number,
      scope: row['scope'] as string,
      value: row['value'] as string | null,
      rule: row['rule'] as string | null,
      resource: row['resource'] as string | null,
      limit: row['limit_text'] as string | null,
      reason: row['reason'] as Reason,
    }))
    const totals = { count: rows[0]!['all_count'] as number }
    return { items, totals, next: nextOf(page, most) }
  }
}

interface Where {
  /** Of conditions besides the time. */
  readonly where: string
  readonly parameters: readonly unknown[]
}

/** The first three parameters are times: from, where detail begins, to. */
function whereOf(filters: Filters, times: readonly number[]): Where {
  const parameters: unknown[] = times.map((time) => new Date(time).toISOString())
  const conditions: string[] = []
  const place = (parameter: string): string => `$${parameters.push(parameter)}`
  for (const column of ['namespace', 'scope', 'rule', 'resource'] as const) {
    const stated = filters[column]
    if (stated !== undefined) conditions.push(`${column} = ${place(stated)}`)
  }
  const values = filters.values?.map(place)
  if (values !== undefined) conditions.push(`value IN (${values.join(', ')})`)
  // By the index of subjects; values may be too long for one of their own.
  if (values !== undefined && filters.scope !== undefined) {
    const hashes = values.map((value) => hashSql(`$4::text, $5::text, ${value}::text`))
    conditions.push(`subject IN (${hashes.join(', ')})`)
  }
  return { where: conditions.join(' AND '), parameters }
}

/** The totals are on every row; there is one row at least. The last three parameters are the page's. */
function usageSql(where: string, isAllDetail: boolean): string {
  const columns = 'place, scope, value, rule, allowed, denied, cost'
  const count = highest(where)
  const minutes = `SELECT ${columns} FROM sluice.usage_minutes
    WHERE at >= $2::timestamptz AND at < $3::timestamptz AND $1::timestamptz IS NOT NULL AND ${where}`
  const days = `SELECT ${columns} FROM sluice.usage_days
    WHERE at >= $1::timestamptz AND at < $2::timestamptz AND ${where}`
  return `WITH counted AS (${isAllDetail ? minutes : `${minutes} UNION ALL ${days}`}),
    summed AS (SELECT place, scope, value, rule, sum(allowed)::float8 AS allowed,
        sum(denied)::float8 AS denied, sum(cost)::float8 AS cost,
        sum(allowed + denied)::float8 AS rank
      FROM counted GROUP BY place, scope, value, rule),
    page AS (SELECT * FROM summed
      WHERE $${count + 1}::float8 IS NULL
        OR rank < $${count + 1}::float8 OR (rank = $${count + 1}::float8 AND place > $${count + 2}::uuid)
      ORDER BY rank DESC, place LIMIT $${count + 3}::int)
    SELECT page.*, totals.* FROM (SELECT coalesce(sum(allowed), 0)::float8 AS all_allowed,
        coalesce(sum(denied), 0)::float8 AS all_denied, coalesce(sum(cost), 0)::float8 AS all_cost
      FROM summed) AS totals LEFT JOIN page ON true ORDER BY rank DESC, place`
}

function violationsSql(where: string): string {
  const count = highest(where)
  const rank = '(extract(epoch FROM at))::float8'
  return `WITH matching AS (SELECT *, ${rank} AS rank FROM sluice.violations
      WHERE at >= $1::timestamptz AND $2::timestamptz IS NOT NULL AND at < $3::timestamptz AND ${where}),
    page AS (SELECT * FROM matching
      WHERE $${count + 1}::float8 IS NULL
        OR rank < $${count + 1}::float8 OR (rank = $${count + 1}::float8 AND place > $${count + 2}::uuid)
      ORDER BY rank DESC, place LIMIT $${count + 3}::int)
    SELECT page.*, totals.* FROM (SELECT coalesce(sum(count), 0)::float8 AS all_count
      FROM matching) AS totals LEFT JOIN page ON true ORDER BY rank DESC, place`
}

/** The number of the last parameter that is used. */
function highest(where: string): number {
  return Math.max(...[...where.matchAll(/\$(\d+)/g)].map((match) => Number(match[1])))
}

function sumsOf(row: Row, prefix: string): UsageSums {
  return {
    allowed: row[`${prefix}allowed`] as number,
    denied: row[`${prefix}denied`] as number,
    cost: row[`${prefix}cost`] as number,
  }
}

function nextOf(
  page: readonly (Row & { place: string | null; rank: number })[],
  most: number,
): After | null {
  const last = page[most - 1]
  return page.length <= most || last === undefined ? null : { rank: last.rank, place: last.place! }
}

function floor(ms: number, step: number): number {
  return Math.floor(ms / step) * step
}

function ceiling(ms: number, step: number): number {
  return Math.ceil(ms / step) * step
}
