/** Rules in their tables: any number in one change, each with its new version and what data planes are told. */
import type { RuleRow } from './content.js'
import type { RuleRecord } from './rules-part.js'
import { inBatches, type Writing } from './writing.js'

export interface RuleToPut {
  readonly record: Pick<RuleRecord, 'id' | 'namespace' | 'version' | 'created_at'>
  readonly row: RuleRow
}

/** The columns of a rule that a write sets, with their types. */
const COLUMNS = {
  id: 'uuid',
  namespace: 'text',
  name: 'text',
  family: 'text',
  scope: 'text',
  value: 'text',
  tier: 'text',
  resource: 'text',
  methods: 'text',
  additive: 'boolean',
  enabled: 'boolean',
  shadow: 'boolean',
  unit: 'text',
  least_burst: 'bigint',
  place: 'text',
  body: 'jsonb',
  version: 'bigint',
  created_at: 'timestamptz',
} as const satisfies { readonly [C in keyof ReturnType<typeof rowOf>]: string }
const NAMES = Object.keys(COLUMNS)
/** What a rule keeps for as long as it exists. */
const KEPT = new Set(['id', 'namespace', 'created_at'])

const PUT = `INSERT INTO sluice.rules (${NAMES.join(', ')}, updated_at)
  SELECT ${NAMES.join(', ')}, $2
  FROM jsonb_to_recordset($1::jsonb) AS row (${Object.entries(COLUMNS)
    .map((column) => column.join(' '))
    .join(', ')})
  ON CONFLICT (id) DO UPDATE SET ${NAMES.filter((name) => !KEPT.has(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}, updated_at = excluded.updated_at`

const PUT_VERSIONS = `INSERT INTO sluice.rule_versions
    (id, version, namespace, name, body, actor, at, created_at, revision, deleted)
  SELECT id, version, namespace, name, body, $2, $3, created_at, $4, $5
  FROM jsonb_to_recordset($1::jsonb) AS row (id uuid, version bigint, namespace text, name text,
    body jsonb, created_at timestamptz)`

/** New ones, and others in the place of what has their id. */
export async function putRules(writing: Writing, rules: readonly RuleToPut[]): Promise<void> {
  const { sql, at, actor, revision } = writing
  // Rules may have exchanged their places: nobody's is anybody's while they move.
  await inBatches(
    rules,
    ({ record }) => record.id,
    (json) =>
      sql.query(
        `UPDATE sluice.rules SET place = id::text
          WHERE id IN (SELECT value::uuid FROM jsonb_array_elements_text($1::jsonb))`,
        [json],
      ),
  )
  await inBatches(rules, rowOf, (json) => sql.query(PUT, [json, at]))
  await inBatches(rules, rowOf, (json) =>
    sql.query(PUT_VERSIONS, [json, actor, at, revision, false]),
  )
  for (const { record, row } of rules)
    writing.edit({ kind: 'rule', namespace: record.namespace, key: row.name, item: row.body })
}

function rowOf({ record, row }: RuleToPut) {
  const { id, namespace, version, created_at } = record
  const methods = row.methods?.join('|') ?? null
  return { ...row, methods, id, namespace, version, created_at }
}

/** Their histories stay. */
export async function deleteRules(
  writing: Writing,
  records: readonly Pick<
    RuleRecord,
    'id' | 'namespace' | 'name' | 'body' | 'version' | 'created_at'
  >[],
): Promise<void> {
  const { sql, at, actor, revision } = writing
  await inBatches(
    records,
    ({ id }) => ({ id }),
    (json) =>
      sql.query(
        `DELETE FROM sluice.rules
          WHERE id IN (SELECT id FROM jsonb_to_recordset($1::jsonb) AS row (id uuid))`,
        [json],
      ),
  )
  await inBatches(
    records,
    ({ id, namespace, name, body, version, created_at }) => ({
      id,
      namespace,
      name,
      body,
      version: version + 1,
      created_at,
    }),
    (json) => sql.query(PUT_VERSIONS, [json, actor, at, revision, true]),
  )
  for (const { namespace, name } of records)
    writing.edit({ kind: 'rule', namespace, key: name, item: null })
}
