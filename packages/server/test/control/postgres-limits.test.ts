/** What a PostgreSQL server is told to give up by itself, so that no process keeps the others from writing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { ControlPlane } from '../../src/control/control-plane.js'
import { type Database, DatabaseAway, DatabaseBusy } from '../../src/control/database.js'
import { openPostgres } from '../../src/control/postgres.js'
import { PostgresServer } from './databases.js'
import { ROOT } from './world.js'

const TAKE_HEAD = 'UPDATE sluice.head SET revision = revision RETURNING pg_backend_pid() AS pid'
const BACKENDS = `SELECT pid, wait_event_type AS waits FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`

describe('a PostgreSQL server', () => {
  let server: PostgresServer
  let url: string
  let watcher: Database
  const opened: Database[] = []
  const open = (options: Parameters<typeof openPostgres>[1]) => {
    const database = openPostgres(url, options)
    opened.push(database)
    return database
  }
  beforeAll(async () => {
    server = await PostgresServer.start()
    url = await server.createDatabase()
    watcher = openPostgres(url)
    await new ControlPlane({ database: watcher }).prepare()
  })
  afterAll(async () => {
    await Promise.all([watcher, ...opened].map((one) => one.close()))
    await server.stop()
  })

  const settingsOf = async (database: Database) => {
    const names = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']
    const rows = await database.query<{ setting: string }>(
      'SELECT setting FROM pg_settings WHERE name = ANY($1) ORDER BY array_position($1, name)',
      [names],
    )
    return rows.map(({ setting }) => Number(setting))
  }

  it('has limits of its own for locks, statements and transactions that stand still', async () => {
    expect(await settingsOf(watcher)).toEqual([9_000, 10_000, 15_000])
    expect(await settingsOf(open({ patienceMs: 1_000 }))).toEqual([900, 1_000, 15_000])
  })

  it('gives up waiting for the lock of a writer, says so, and keeps the connection', async () => {
    const holder = open({})
    const waiting = open({ patienceMs: 500 })
    const control = new ControlPlane({ database: waiting })
    const block = () => control.blocks.add(ROOT, 'default', { scope: 'user', value: 'x' })
    await control.prepare()
    const backends = async () =>
      (await watcher.query<{ pid: number }>(BACKENDS)).map((one) => one.pid)
    await holder.transaction(async (sql) => {
      await sql.query(TAKE_HEAD)
      const before = await backends()
      for (let i = 0; i < 3; i++)
        await expect(block()).rejects.toMatchObject({
          code: 'database_unavailable',
          message: 'others are writing; ask again',
        })
      expect(await backends()).toEqual(before)
      const rows = await watcher.query(`${BACKENDS} AND wait_event_type = 'Lock'`)
      expect(rows).toEqual([])
    })
    expect(await block()).toMatchObject({ value: 'x' })
  })

  it('gives up a statement that takes too long, says so, and keeps the connection', async () => {
    const database = open({ patienceMs: 500 })
    const backend = async () => (await database.query('SELECT pg_backend_pid() AS pid'))[0]
    const before = await backend()
    const error = await database.query('SELECT pg_sleep(60)').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(DatabaseBusy)
    expect(error).toMatchObject({ mayHaveRun: false })
    expect(await backend()).toEqual(before)
  })

  it('ends a transaction that stands still, so that others write', async () => {
    const frozen = open({ idleMs: 300 })
    const control = new ControlPlane({ database: open({}) })
    let goOn = (): void => undefined
    let hasIt = false
    const standing = frozen.transaction(async (sql) => {
      await sql.query(TAKE_HEAD)
      hasIt = true
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
      await sql.query('SELECT 1')
    })
    await until('it holds the lock', () => hasIt)
    const fields = { scope: 'user', value: 'y' }
    expect(await control.blocks.add(ROOT, 'default', fields)).toMatchObject({ value: 'y' })
    goOn()
    const error = await standing.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(DatabaseAway)
    expect(error).not.toBeInstanceOf(DatabaseBusy)
    expect(await frozen.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })
})
