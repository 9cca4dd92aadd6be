/** All that a namespace holds, from the database; some of it at a time, so that nobody else waits long. */
import type { RuleInput } from '@sluice/limiter'
import type { NamespaceSettings } from '../feed/change.js'
import type { Content, CostRow, OverrideRow, RuleRow, TierRow } from './content.js'
import type { Row, Sql } from './database.js'

const ROWS = 1000

/** How rows are read some at a time: before which key they start, each row's key, and what is made of it. */
interface Paging<R, K, T> {
  readonly start: K
  readonly key: (row: R) => K
  readonly item: (row: R) => T
}

/** Every row of a query that ends with `> $2 … LIMIT $3`, ordered by the key. */
export async function everyRow<R extends Row, K, T>(
  sql: Sql,
  text: string,
  first: unknown,
  { start, key, item }: Paging<R, K, T>,
): Promise<T[]> {
  const all: T[] = []
  for (let after = start; ; ) {
    const rows = await sql.query<R>(text, [first, after, ROWS])
    for (const row of rows) all.push(item(row))
    if (rows.length < ROWS) return all
    after = key(rows.at(-1)!)
  }
}

/** A rule as it is stored, with which it is. */
export interface StoredRule extends RuleRow {
  readonly id: string
  readonly version: number
  readonly created_at: Date
}

export interface StoredItem {
  readonly id: string
}

export interface StoredContent extends Content {
  readonly rules: readonly StoredRule[]
  readonly exemptions: readonly (Content['exemptions'][number] & StoredItem)[]
  readonly blocks: readonly (Content['blocks'][number] & StoredItem)[]
  readonly costs: readonly (CostRow & StoredItem)[]
}

/** What has ended is left out. */
export async function loadContent(sql: Sql, namespace: string): Promise<StoredContent> {
  const [row] = await sql.query<{ settings: NamespaceSettings }>(
    'SELECT settings FROM sluice.namespaces WHERE name = $1',
    [namespace],
  )
  return {
    settings: row?.settings ?? {},
    rules: await loadRules(sql, namespace),
    tiers: await everyRow<TierRow & Row, string, TierRow>(
      sql,
      `SELECT scope, value, tier, place FROM sluice.tiers
        WHERE namespace = $1 AND place > $2 ORDER BY place LIMIT $3`,
      namespace,
      { start: '', key: ({ place }) => place, item: (row) => row },
    ),
    overrides: await loadOverrides(sql, namespace),
    exemptions: await loadList(sql, 'exemptions', namespace),
    blocks: await loadList(sql, 'blocks', namespace),
    costs: await loadCosts(sql, namespace),
    warnings: [],
  }
}

async function loadRules(sql: Sql, namespace: string): Promise<StoredRule[]> {
  interface RuleRecord extends Row {
    readonly position: number
    readonly methods: string | null
    readonly body: RuleInput
  }
  return everyRow<RuleRecord, number, StoredRule>(
    sql,
    `SELECT id, name, family, scope, value, tier, resource, methods, additive, enabled, shadow, unit,
        least_burst, place, body, version, created_at, position FROM sluice.rules
      WHERE namespace = $1 AND position > $2 ORDER BY position LIMIT $3`,
    namespace,
    {
      start: 0,
      key: ({ position }) => position,
      item: ({ position: _position, methods, ...row }) => ({
        ...(row as unknown as StoredRule),
        methods: methods?.split('|') ?? null,
      }),
    },
  )
}

async function loadOverrides(sql: Sql, namespace: string): Promise<OverrideRow[]> {
  return everyRow<Row & { place: string; until: Date | null }, string, OverrideRow>(
    sql,
    `SELECT scope, value, rule, limits, least_burst, until, reason, place FROM sluice.overrides
      WHERE namespace = $1 AND (until IS NULL OR until > now()) AND place > $2
      ORDER BY place LIMIT $3`,
    namespace,
    {
      start: '',
      key: ({ place }) => place,
      item: ({ until, ...row }) =>
        ({ ...row, until: until?.toISOString() ?? null }) as unknown as OverrideRow,
    },
  )
}

async function loadList(
  sql: Sql,
  table: 'exemptions' | 'blocks',
  namespace: string,
): Promise<StoredContent['blocks']> {
  type Listed = StoredContent['blocks'][number]
  return everyRow<Row & { id: string; until: Date | null }, string, Listed>(
    sql,
    `SELECT id, scope, value, until, reason FROM sluice.${table}
      WHERE namespace = $1 AND (until IS NULL OR until > now()) AND id > $2 ORDER BY id LIMIT $3`,
    namespace,
    {
      start: NO_ID,
      key: ({ id }) => id,
      item: ({ until, ...row }) =>
        ({ ...row, until: until?.toISOString() ?? null }) as unknown as Listed,
    },
  )
}

/** Before every other. */
export const NO_ID = '00000000-0000-0000-0000-000000000000'

async function loadCosts(sql: Sql, namespace: string): Promise<StoredContent['costs']> {
  type Cost = StoredContent['costs'][number]
  return everyRow<Row & { id: string; methods: string | null }, string, Cost>(
    sql,
    `SELECT id, resource, methods, unit, cost, place FROM sluice.costs
      WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3`,
    namespace,
    {
      start: NO_ID,
      key: ({ id }) => id,
      item: ({ methods, ...row }) =>
        ({ ...row, methods: methods?.split('|') ?? null }) as unknown as Cost,
    },
  )
}
