/** What a namespace holds besides rules, in its tables: any number of items in one change, and what data planes are told. */
import { randomUUID } from 'node:crypto'
import type { CostItem, ListedSubject } from '../feed/change.js'
import { type CostRow, LISTS, type ListName, type OverrideRow, type TierRow } from './content.js'
import { overrideInput } from './print-document.js'
import { inBatches, type Writing } from './writing.js'

const asItIs = (row: unknown) => row

export async function putTiers(
  writing: Writing,
  namespace: string,
  rows: readonly TierRow[],
): Promise<void> {
  await inBatches(rows, asItIs, (json) =>
    writing.sql.query(
      `INSERT INTO sluice.tiers (namespace, scope, value, tier, place)
        SELECT $2, scope, value, tier, place FROM jsonb_to_recordset($1::jsonb)
          AS row (scope text, value text, tier text, place text)
        ON CONFLICT (namespace, place) DO UPDATE SET tier = excluded.tier`,
      [json, namespace],
    ),
  )
  for (const { scope, value, tier } of rows)
    writing.edit({ kind: 'tier', namespace, key: `${scope}:${value}`, item: tier })
}

export async function deleteTiers(
  writing: Writing,
  namespace: string,
  rows: readonly TierRow[],
): Promise<void> {
  await deletePlaces(writing, 'tiers', namespace, rows)
  for (const { scope, value } of rows)
    writing.edit({ kind: 'tier', namespace, key: `${scope}:${value}`, item: null })
}

/** New ones, or in the place of what was there. */
export async function putOverrides(
  writing: Writing,
  namespace: string,
  rows: readonly OverrideRow[],
): Promise<void> {
  await inBatches(rows, asItIs, (json) =>
    writing.sql.query(
      `INSERT INTO sluice.overrides
          (namespace, scope, value, rule, limits, least_burst, until, reason, place, created_at)
        SELECT $2, scope, value, rule, limits, least_burst, until, reason, place, $3
        FROM jsonb_to_recordset($1::jsonb) AS row (scope text, value text, rule text, limits jsonb,
          least_burst bigint, until timestamptz, reason text, place text)
        ON CONFLICT (namespace, place) DO UPDATE SET limits = excluded.limits,
          least_burst = excluded.least_burst, until = excluded.until, reason = excluded.reason`,
      [json, namespace, writing.at],
    ),
  )
  for (const row of rows)
    writing.edit({ kind: 'override', namespace, key: overrideKey(row), item: overrideInput(row) })
}

export async function deleteOverrides(
  writing: Writing,
  namespace: string,
  rows: readonly OverrideRow[],
): Promise<void> {
  await deletePlaces(writing, 'overrides', namespace, rows)
  for (const row of rows)
    writing.edit({ kind: 'override', namespace, key: overrideKey(row), item: null })
}

export function overrideKey({
  scope,
  value,
  rule,
}: Pick<OverrideRow, 'scope' | 'value' | 'rule'>): string {
  return JSON.stringify([scope, value, rule])
}

async function deletePlaces(
  { sql }: Writing,
  table: 'tiers' | 'overrides',
  namespace: string,
  rows: readonly { readonly place: string }[],
): Promise<void> {
  await inBatches(
    rows,
    ({ place }) => place,
    (json) =>
      sql.query(
        `DELETE FROM sluice.${table} WHERE namespace = $2
          AND place IN (SELECT value FROM jsonb_array_elements_text($1::jsonb))`,
        [json, namespace],
      ),
  )
}

export async function addListed(
  writing: Writing,
  list: ListName,
  namespace: string,
  items: readonly ListedSubject[],
): Promise<void> {
  const rows = items.map((item) => ({ id: randomUUID(), item }))
  await inBatches(
    rows,
    ({ id, item }) => ({ id, ...item }),
    (json) =>
      writing.sql.query(
        `INSERT INTO sluice.${list} (id, namespace, scope, value, until, reason, created_at)
          SELECT id, $2, scope, value, until, reason, $3 FROM jsonb_to_recordset($1::jsonb)
            AS row (id uuid, scope text, value text, until timestamptz, reason text)`,
        [json, namespace, writing.at],
      ),
  )
  for (const { id, item } of rows) writing.edit({ kind: LISTS[list], namespace, key: id, item })
}

export async function putCosts(
  writing: Writing,
  namespace: string,
  rows: readonly (CostRow & { readonly id: string })[],
): Promise<void> {
  const columns = ({ methods, ...row }: CostRow) => ({
    ...row,
    methods: methods?.join('|') ?? null,
  })
  await inBatches(rows, columns, (json) =>
    writing.sql.query(
      `INSERT INTO sluice.costs (id, namespace, resource, methods, unit, cost, place)
        SELECT id, $2, resource, methods, unit, cost, place FROM jsonb_to_recordset($1::jsonb)
          AS row (id uuid, resource text, methods text, unit text, cost bigint, place text)
        ON CONFLICT (id) DO UPDATE SET resource = excluded.resource, cost = excluded.cost`,
      [json, namespace],
    ),
  )
  for (const { id, resource, methods, unit, cost } of rows) {
    const item: CostItem = { resource, methods, unit, cost }
    writing.edit({ kind: 'cost', namespace, key: id, item })
  }
}

export async function deleteById(
  writing: Writing,
  table: ListName | 'costs',
  namespace: string,
  rows: readonly { readonly id: string }[],
): Promise<void> {
  await inBatches(
    rows,
    ({ id }) => id,
    (json) =>
      writing.sql.query(
        `DELETE FROM sluice.${table} WHERE namespace = $2
          AND id IN (SELECT value::uuid FROM jsonb_array_elements_text($1::jsonb))`,
        [json, namespace],
      ),
  )
  const kind = table === 'costs' ? 'cost' : LISTS[table]
  for (const { id } of rows) writing.edit({ kind, namespace, key: id, item: null })
}
