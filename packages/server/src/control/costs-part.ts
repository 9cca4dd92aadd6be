/** What requests cost where they do not say: one cost for each resource, methods and unit. */

import { randomUUID } from 'node:crypto'
import type { ListItem } from '@sluice/contract'
import { METHOD, quote } from '@sluice/limiter/transport'
import { type Caller, namespaceOf } from '../security/caller.js'
import { type CostRow, contentOf } from './content.js'
import {
  type ControlContext,
  notFound,
  type Page,
  type PageRequest,
  pageOf,
  refuseFile,
  requireId,
  requireNamespace,
  writeNamespace,
} from './context.js'
import { invalid, wireFaults } from './faults.js'
import { refuseMisfits } from './keep-whole.js'
import { NO_ID } from './load-content.js'
import { costKey } from './print-document.js'

export interface CostFields {
  readonly resource: string
  readonly methods?: readonly string[]
  readonly unit?: string
  readonly cost: unknown
}

interface CostRecord extends Record<string, unknown> {
  readonly id: string
  readonly namespace: string
  readonly resource: string
  readonly methods: string | null
  readonly unit: string
  readonly cost: number
}

const COLUMNS = 'id, namespace, resource, methods, unit, cost'

export function costsPart(context: ControlContext) {
  const { file } = context

  const list = (namespace: string, page: PageRequest): Promise<Page<ListItem<'listCosts'>>> =>
    context.read(async (sql) => {
      await requireNamespace(sql, namespace, file)
      const rows = await sql.query<CostRecord>(
        `SELECT ${COLUMNS} FROM sluice.costs WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3`,
        [namespace, page.after?.[0] ?? NO_ID, page.limit + 1],
      )
      return pageOf(rows, page.limit, wireCost, ({ id }) => [id])
    })

  /** In the place of the cost that was there. */
  const set = (caller: Caller, namespace: string, fields: CostFields) => {
    refuseFile(file)
    return context.write(caller.name, async (writing) => {
      const row = readCost(fields)
      await writeNamespace(writing, namespace, file)
      const [before] = await writing.sql.query<CostRecord>(
        `SELECT ${COLUMNS} FROM sluice.costs WHERE namespace = $1 AND place = $2`,
        [namespace, row.place],
      )
      const id = before?.id ?? randomUUID()
      const { resource, unit, cost, place } = row
      const methods = row.methods?.join('|') ?? null
      await writing.sql.query(
        `INSERT INTO sluice.costs (${COLUMNS}, place) VALUES ($1, $2, $3, $4, $5, $6, $7)
          ON CONFLICT (id) DO UPDATE SET resource = excluded.resource, cost = excluded.cost`,
        [id, namespace, resource, methods, unit, cost, place],
      )
      await refuseMisfits(writing, namespace)
      const item = { resource, methods: row.methods, unit, cost }
      writing.edit({ kind: 'cost', namespace, key: id, item })
      const after = wireCost({ id, namespace, resource, methods, unit, cost })
      writing.audit({
        namespace,
        action: 'cost.set',
        target: `cost ${costKey(item)} ${unit}`,
        before: before === undefined ? null : wireCost(before),
        after,
      })
      return after
    })
  }

  const remove = (caller: Caller, id: string): Promise<void> => {
    refuseFile(file)
    return context.write(caller.name, async (writing) => {
      requireId(id, 'cost')
      const [found] = await writing.sql.query<CostRecord>(
        `SELECT ${COLUMNS} FROM sluice.costs WHERE id = $1`,
        [id],
      )
      if (found === undefined) throw notFound('cost', id)
      const { namespace } = found
      namespaceOf(caller, namespace)
      await writing.sql.query('DELETE FROM sluice.costs WHERE id = $1', [id])
      // Without it a more general one may hold, which no limit admits.
      await refuseMisfits(writing, namespace)
      const before = wireCost(found)
      writing.edit({ kind: 'cost', namespace, key: id, item: null })
      writing.audit({
        namespace,
        action: 'cost.delete',
        target: `cost ${costKey(before)} ${found.unit}`,
        before,
        after: null,
      })
    })
  }

  return { list, set, remove }
}

/** Throws 422 with every fault. */
function readCost({ resource, methods, unit = 'requests', cost }: CostFields): CostRow {
  refuseMethods(resource, methods)
  const key = costKey({ resource, methods: methods?.map((one) => one.toUpperCase()) ?? null })
  const content = contentOf({ costs: { [key]: { [unit]: cost as number } } })
  if (Array.isArray(content)) throw invalid(wireFaults(content, `costs.${key}`, 'cost'))
  return content.costs[0]!
}

/** The table's keys are methods and resource in one text, so neither may look like the other. */
function refuseMethods(resource: string, methods: readonly string[] | undefined): void {
  if (methods === undefined) return
  const refuse = (message: string) => invalid([{ field: 'methods', message }])
  if (methods.length === 0) throw refuse('is empty; leave it out for all methods')
  const bad = methods.find((method) => !METHOD.test(method))
  if (bad !== undefined) throw refuse(`${quote(bad)} is not a method`)
  if (/^[A-Z][A-Z|-]* /.test(resource))
    throw refuse('the resource names methods already; write them in one place')
}

function wireCost({ id, namespace, resource, methods, unit, cost }: CostRecord) {
  return { id, namespace, resource, methods: methods?.split('|') ?? null, unit, cost }
}
