/** However much is read, writes and data planes go on: over PostgreSQL, with connections of their own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { ControlPlane } from '../../src/control/control-plane.js'
import type { Database } from '../../src/control/database.js'
import { openPostgres } from '../../src/control/postgres.js'
import { type AdminServer, startAdmin } from './admin-server.js'
import { PostgresServer } from './databases.js'
import { ROOT } from './world.js'

describe('reading much', () => {
  let server: PostgresServer
  let database: Database
  let reads: Database
  let watcher: Database
  let control: ControlPlane
  let admin: AdminServer
  beforeAll(async () => {
    server = await PostgresServer.start()
    const url = await server.createDatabase()
    database = openPostgres(url, { max: 1 })
    reads = openPostgres(url, { max: 4 })
    watcher = openPostgres(url)
    control = new ControlPlane({ database, reads })
    admin = await startAdmin({ control, mode: 'database' })
  })
  afterAll(async () => {
    expect(admin.failures).toEqual([])
    await admin.stop()
    await Promise.all([database, reads, watcher].map((one) => one.close()))
    await server.stop()
  })

  /** All of a pool's connections are in use while `work` runs. */
  const whileHeld = async (pool: Database, size: number, work: () => Promise<void>) => {
    let letGo = (): void => undefined
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let taken = 0
    const holders = Array.from({ length: size }, () =>
      pool.transaction(async (sql) => {
        await sql.query('SELECT 1')
        taken++
        await held
      }),
    )
    await until('all are taken', () => taken === size)
    try {
      await work()
    } finally {
      letGo()
      await Promise.all(holders)
    }
  }

  it('begins with the tables, whichever of the connections is asked first', async () => {
    expect((await admin.call('GET', '/v1/namespaces')).status).toBe(200)
  })

  it('keeps neither writes nor the feed nor tending waiting', async () => {
    await whileHeld(reads, 4, async () => {
      const block = { scope: 'user', value: 'x' }
      expect((await admin.call('POST', '/v1/blocks', block)).status).toBe(201)
      const { revision } = (await control.feed.head())!
      expect(await control.feed.changesAfter(revision - 1)).toHaveLength(1)
      expect((await control.feed.snapshot())!.revision).toBe(revision)
      await control.tend()
    })
  })

  it('does not wait for writes', async () => {
    await control.rules.create(ROOT, 'default', { name: 'a', scope: 'user', limits: '1/s' })
    await whileHeld(database, 1, async () => {
      const paths = ['/v1/rules', '/v1/document', '/v1/audit', '/v1/namespaces', '/v1/blocks']
      for (const path of paths)
        expect([path, (await admin.call('GET', path)).status]).toEqual([path, 200])
      expect((await admin.call('PUT', '/v1/document?dry_run=true', {})).status).toBe(200)
    })
  })

  it('of whole documents happens two at a time, and is refused where very many wait', async () => {
    const answers: Promise<{ status: number; code: string | undefined }>[] = []
    const ask = async (i: number) => {
      const { status, body } =
        i % 2 === 0
          ? await admin.call('GET', '/v1/document')
          : await admin.call('PUT', '/v1/document?dry_run=true', {})
      return { status, code: body.error?.code }
    }
    const waits = `SELECT 1 AS one FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await watcher.transaction(async (sql) => {
      await sql.query('LOCK TABLE sluice.rules IN ACCESS EXCLUSIVE MODE')
      let refused = 0
      for (let i = 0; i < 25; i++) {
        const answer = ask(i)
        answers.push(answer)
        void answer.then(({ code }) => code === 'busy' && refused++)
      }
      await until('three are refused', () => refused === 3)
      await until('two are read', async () => (await sql.query(waits)).length === 2)
    })
    const all = await Promise.all(answers)
    expect(all.filter(({ status }) => status === 200)).toHaveLength(22)
    expect(all.filter(({ status, code }) => status === 503 && code === 'busy')).toHaveLength(3)
  })
})
