/** The database as the source of what data planes are told. */
import type { CostItem, Edit, FeedSource, Head, ListedSubject, Snapshot } from '../feed/change.js'
import type { ControlContext } from './context.js'
import type { Row, Sql } from './database.js'
import { everyRow, NO_ID } from './load-content.js'

interface ChangeRecord extends Row {
  readonly revision: number
  readonly previous: string
  readonly digest: string
  readonly edits: string
}

const HEAD = 'SELECT revision, digest FROM sluice.head'

export async function readHead(sql: Sql): Promise<Head> {
  const [head] = await sql.query<Row & Head>(HEAD)
  return head!
}

/** Who is further behind takes the snapshot: that is less, and does not grow. */
const MOST_CHANGES = 1000
const MOST_BYTES = 8 * 1024 * 1024

async function isMuch(sql: Sql, after: number): Promise<boolean> {
  const [sum] = await sql.query<{ bytes: number }>(
    'SELECT coalesce(sum(octet_length(edits)), 0) AS bytes FROM sluice.changes WHERE revision > $1',
    [after],
  )
  return sum!.bytes > MOST_BYTES
}

export function databaseFeed(
  context: Pick<ControlContext, 'read' | 'view'>,
  watch: FeedSource['watch'],
): FeedSource {
  return {
    head: () => context.read(readHead),
    snapshot: () => context.view(readSnapshot),
    changesAfter: (revision) =>
      context.view(async (sql) => {
        const head = await readHead(sql)
        const count = head.revision - revision
        if (count < 0 || count > MOST_CHANGES || (await isMuch(sql, revision))) return null
        const rows = await sql.query<ChangeRecord>(
          `SELECT revision, previous, digest, edits FROM sluice.changes
            WHERE revision > $1 ORDER BY revision`,
          [revision],
        )
        return rows.length === count ? rows.map((row) => ({ ...row, since: null })) : null
      }),
    watch,
  }
}

async function readSnapshot(sql: Sql): Promise<Snapshot> {
  const head = await readHead(sql)
  const namespaces = await sql.query<{ name: string; settings: object }>(
    'SELECT name, settings FROM sluice.namespaces ORDER BY name',
  )
  const edits: Edit[] = namespaces.map(({ name, settings }) => ({
    kind: 'namespace',
    namespace: name,
    key: '',
    item: settings,
  }))
  // One by one: as arguments of a call, very many do not fit on the stack.
  for (const { name } of namespaces)
    for (const table of TABLES) for (const edit of await table(sql, name)) edits.push(edit)
  return { ...head, edits: [...edits, ...(await tokenEdits(sql))] }
}

type Item = Row & { readonly key: string }

/** Everything of a table, by the column that it is ordered by. */
async function itemsOf(
  sql: Sql,
  text: string,
  first: unknown,
  order: string,
  start: unknown,
): Promise<Item[]> {
  const [key, item] = [(row: Item) => row[order], (row: Item) => row]
  return everyRow<Item, unknown, Item>(sql, text, first, { start, key, item })
}

const LASTING = '(until IS NULL OR until > now())'

const TABLES: readonly ((sql: Sql, namespace: string) => Promise<Edit[]>)[] = [
  async (sql, namespace) => {
    const text = `SELECT name AS key, body, position FROM sluice.rules
      WHERE namespace = $1 AND position > $2 ORDER BY position LIMIT $3`
    const rows = await itemsOf(sql, text, namespace, 'position', 0)
    return rows.map(({ key, body }) => ({ kind: 'rule', namespace, key, item: body }) as Edit)
  },
  async (sql, namespace) => {
    const text = `SELECT scope || ':' || value AS key, tier, place FROM sluice.tiers
      WHERE namespace = $1 AND place > $2 ORDER BY place LIMIT $3`
    const rows = await itemsOf(sql, text, namespace, 'place', '')
    return rows.map(({ key, tier }) => ({ kind: 'tier', namespace, key, item: tier }) as Edit)
  },
  async (sql, namespace) => {
    const text = `SELECT '' AS key, scope, value, rule, limits, until, reason, place
      FROM sluice.overrides WHERE namespace = $1 AND ${LASTING} AND place > $2
      ORDER BY place LIMIT $3`
    const rows = await itemsOf(sql, text, namespace, 'place', '')
    return rows.map(({ scope, value, rule, limits, until, reason }) => {
      const item = {
        scope,
        value,
        rule,
        limits,
        ...(until === null ? {} : { until: (until as Date).toISOString() }),
        ...(reason === null ? {} : { reason }),
      }
      const key = JSON.stringify([scope, value, rule])
      return { kind: 'override', namespace, key, item } as Edit
    })
  },
  (sql, namespace) => listEdits(sql, 'exemptions', namespace),
  (sql, namespace) => listEdits(sql, 'blocks', namespace),
  async (sql, namespace) => {
    const text = `SELECT id AS key, resource, methods, unit, cost FROM sluice.costs
      WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3`
    const rows = await itemsOf(sql, text, namespace, 'key', NO_ID)
    return rows.map(({ key, methods, ...rest }) => {
      const item = { ...rest, methods: (methods as string | null)?.split('|') ?? null }
      return { kind: 'cost', namespace, key, item: item as unknown as CostItem }
    })
  },
]

async function listEdits(
  sql: Sql,
  table: 'exemptions' | 'blocks',
  namespace: string,
): Promise<Edit[]> {
  const text = `SELECT id AS key, scope, value, until, reason FROM sluice.${table}
    WHERE namespace = $1 AND ${LASTING} AND id > $2 ORDER BY id LIMIT $3`
  const rows = await itemsOf(sql, text, namespace, 'key', NO_ID)
  const kind = table === 'blocks' ? 'block' : 'exemption'
  return rows.map(({ key, scope, value, until, reason }) => {
    const item = { scope, value, until: (until as Date | null)?.toISOString() ?? null, reason }
    return { kind, namespace, key, item: item as ListedSubject }
  })
}

async function tokenEdits(sql: Sql): Promise<Edit[]> {
  const text = `SELECT id AS key, name, hash, role, namespaces, expires_at FROM sluice.tokens
    WHERE $1::boolean AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      AND id > $2 ORDER BY id LIMIT $3`
  const rows = await itemsOf(sql, text, true, 'key', NO_ID)
  return rows.map(({ key, expires_at, ...rest }) => {
    const item = { ...rest, expires_at: (expires_at as Date | null)?.toISOString() ?? null }
    return { kind: 'token', namespace: '', key, item } as unknown as Edit
  })
}
