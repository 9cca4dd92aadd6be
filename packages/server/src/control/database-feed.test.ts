import { expect, it } from 'vitest'
import type { Sql } from './database.js'
import { databaseFeed } from './database-feed.js'

/** More than fit on the stack as arguments of a call. */
const MANY = 300_000

/** A database with one namespace and very many blocks, answered a page at a time. */
const sql = {
  query: async (text: string, [, after, most]: readonly unknown[] = []) => {
    if (text.includes('sluice.head')) return [{ revision: 1, digest: 'd' }]
    if (text.includes('sluice.namespaces')) return [{ name: 'default', settings: {} }]
    if (!text.includes('sluice.blocks')) return []
    const first = Number.parseInt(String(after).replaceAll('-', ''), 10) + 1
    const count = Math.min(Number(most), MANY + 1 - first)
    return Array.from({ length: count }, (_, i) => ({
      key: String(first + i),
      scope: 'user',
      value: 'x',
      until: null,
      reason: null,
    }))
  },
} as unknown as Sql

it('has a snapshot of very many items of one kind', async () => {
  const ask = <T>(work: (asked: Sql) => Promise<T>) => work(sql)
  const feed = databaseFeed({ read: ask, view: ask }, () => () => undefined)
  const { edits } = (await feed.snapshot())!
  expect(edits).toHaveLength(MANY + 1)
  expect(edits.at(-1)).toMatchObject({ kind: 'block', key: String(MANY) })
})
