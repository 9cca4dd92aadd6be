import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import type { Database } from '../../src/control/database.js'
import { openPostgres } from '../../src/control/postgres.js'
import { Publishing } from '../../src/control/publishing.js'
import type { Head } from '../../src/feed/change.js'
import { History, namespaceEdit, ruleEdit } from '../feed/history.js'
import { PostgresServer } from './databases.js'

let server: PostgresServer
let database: Database
beforeAll(async () => {
  server = await PostgresServer.start()
  database = openPostgres(await server.createDatabase())
})
afterAll(async () => {
  await database.close()
  await server.stop()
})

function publishing(history: History, publish: () => Promise<void>) {
  let there: Head | null = null
  const troubles: (string | null)[] = []
  const made = new Publishing({
    database,
    source: history,
    publish: async () => {
      await publish()
      there = history.state.head
    },
    published: async () => there,
    trouble: (error) => troubles.push(error?.message ?? null),
  })
  return { made, troubles, there: () => there }
}

describe('publishing', () => {
  it('brings every change there, at once after it was made', async () => {
    const history = new History()
    history.commit([namespaceEdit()])
    const { made, there } = publishing(history, async () => undefined)
    await until('it is there', () => there()?.revision === 1)
    history.commit([ruleEdit('a', '1/s')])
    await until('it is there', () => there()?.revision === 2)
    await made.close()
  })

  it('is done by one at a time, and by another where that one has gone', async () => {
    const history = new History()
    history.commit([namespaceEdit()])
    let inside = 0
    let most = 0
    const slowly = async () => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setTimeout(resolve, 20))
      inside--
    }
    const all = [
      publishing(history, slowly),
      publishing(history, slowly),
      publishing(history, slowly),
    ]
    for (let i = 0; i < 5; i++) {
      const revision = history.commit([ruleEdit(`r${i}`, '1/s')])
      await until('all have it', () => all.every(({ there }) => there()?.revision === revision))
    }
    expect(most).toBe(1)
    for (const { made } of all) await made.close()
  })

  it('says that it does not get through, and that it does again', async () => {
    const history = new History()
    history.commit([namespaceEdit()])
    let isAway = true
    const { made, troubles, there } = publishing(history, async () => {
      if (isAway) throw new Error('no Redis')
    })
    await until('it is said', () => troubles.length > 0)
    isAway = false
    await until('it is there', () => there()?.revision === 1)
    await until('it is said', () => troubles.length === 2)
    expect(troubles).toEqual(['no Redis', null])
    await made.close()
  })

  it('says that another one holds the lock and does nothing', async () => {
    const history = new History()
    history.commit([namespaceEdit()])
    let free: (() => void) | undefined
    const held = database.transaction(async (sql) => {
      await sql.query('SELECT pg_advisory_xact_lock(7311640)')
      await new Promise<void>((resolve) => {
        free = resolve
      })
    })
    await until('it is held', () => free !== undefined)
    const { made, troubles, there } = publishing(history, async () => undefined)
    await until('it is said', () => troubles[0]?.includes('another control plane') === true)
    free!()
    await held
    await until('it is there', () => there()?.revision === 1)
    await made.close()
  })
})
