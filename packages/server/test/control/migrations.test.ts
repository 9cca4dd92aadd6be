/** Migrations and partitions, on both databases. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import type { Database } from '../../src/control/database.js'
import {
  MIGRATIONS,
  type Migration,
  migrate,
  migrationStatus,
} from '../../src/control/migrations.js'
import { tendPartitions } from '../../src/control/partitions.js'
import { openPostgres } from '../../src/control/postgres.js'
import { DATABASES, PostgresServer, type TestDatabase } from './databases.js'
import { Script } from './processes.js'

const AUDIT = { table: 'audit', by: 'month', keptDays: 90 } as const
const PARTITIONS = `SELECT relname AS name FROM pg_class WHERE relname ~ '^audit_2' AND relkind = 'r' ORDER BY 1`

async function partitionsOf(database: Database): Promise<string[]> {
  return (await database.query<{ name: string }>(PARTITIONS)).map(({ name }) => name)
}

describe.each(DATABASES)('$kind', ({ start }) => {
  let place: TestDatabase
  let database: Database
  beforeAll(async () => {
    place = await start()
    database = place.open()
  })
  afterAll(async () => {
    await database.close()
    await place.stop()
  })

  it('runs what is missing, once, and says what was run', async () => {
    expect((await migrationStatus(database)).every(({ appliedAt }) => appliedAt === null)).toBe(
      true,
    )
    expect(await migrate(database)).toEqual(MIGRATIONS.map(({ name }) => name))
    expect(await migrate(database)).toEqual([])
    const status = await migrationStatus(database)
    expect(status.map(({ version }) => version)).toEqual(MIGRATIONS.map(({ version }) => version))
    expect(status.every(({ appliedAt }) => appliedAt instanceof Date)).toBe(true)
    expect(await database.query('SELECT revision, digest FROM sluice.head')).toEqual([
      { revision: 0, digest: '' },
    ])
  })

  it('leaves nothing of a migration that fails, and runs it when it is mended', async () => {
    const broken: Migration = {
      version: 99,
      name: 'broken',
      statements: ['CREATE TABLE sluice.half (id int)', 'CREATE TABLE sluice.half (id int)'],
    }
    await expect(migrate(database, [...MIGRATIONS, broken])).rejects.toMatchObject({
      state: '42P07',
    })
    const mended = { ...broken, statements: broken.statements.slice(0, 1) }
    expect(await migrate(database, [...MIGRATIONS, mended])).toEqual(['broken'])
    await database.query('DROP TABLE sluice.half')
    await database.query('DELETE FROM sluice.sluice_migrations WHERE version = 99')
  })

  it('refuses a database that is newer, and one that was made otherwise', async () => {
    const changed = MIGRATIONS.map((one) => ({
      ...one,
      statements: [...one.statements, 'SELECT 1'],
    }))
    await expect(migrate(database, changed)).rejects.toThrow('another migration 1 (control)')
    await expect(migrationStatus(database, changed)).rejects.toThrow('another migration 1')
    await expect(migrate(database, [])).rejects.toThrow('does not know: it is newer')
  })

  it('makes partitions ahead, drops what is too old, and does so twice without harm', async () => {
    const now = new Date('2026-03-15T12:00:00Z')
    const first = await tendPartitions(database, AUDIT, now)
    expect(first.made).toEqual([
      'audit_2026_02',
      'audit_2026_03',
      'audit_2026_04',
      'audit_2026_05',
      'audit_2026_06',
    ])
    expect(await tendPartitions(database, AUDIT, now)).toEqual({ made: [], dropped: [] })
    const insert = `INSERT INTO sluice.audit (at, revision, ordinal, namespace, actor, action, target)
      VALUES ($1, 1, 0, 'default', 'a', 'b', 'c')`
    for (const at of ['2026-02-01T00:00:00Z', '2026-06-30T23:59:59.999Z'])
      await database.query(insert, [new Date(at)])
    // February ends 90 days before the 30th of May, and not a millisecond earlier.
    const kept = await tendPartitions(database, AUDIT, new Date('2026-05-29T23:59:59.999Z'))
    expect(kept.dropped).toEqual([])
    const gone = await tendPartitions(database, AUDIT, new Date('2026-05-30T00:00:00Z'))
    expect(gone.dropped).toEqual(['audit_2026_02'])
    expect(await database.query('SELECT count(*) AS n FROM sluice.audit')).toEqual([{ n: 1 }])
  })

  it('makes partitions of days', async () => {
    await database.query(
      'CREATE TABLE sluice.daily (at timestamptz NOT NULL) PARTITION BY RANGE (at)',
    )
    const daily = { table: 'daily', by: 'day', keptDays: 2 } as const
    const { made } = await tendPartitions(database, daily, new Date('2026-12-31T23:00:00Z'))
    expect(made[0]).toBe('daily_2026_12_30')
    expect(made[2]).toBe('daily_2027_01_01')
    const { dropped } = await tendPartitions(database, daily, new Date('2027-01-02T00:00:00Z'))
    expect(dropped).toEqual(['daily_2026_12_30'])
  })
})

describe('several processes on one PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())

  it('migrate at once', async () => {
    const script = new Script('migrating-process')
    try {
      const url = await server.createDatabase()
      const processes = Array.from({ length: 4 }, () => script.start(url))
      expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
      // Each once, whichever of them ran it.
      const ran = processes.flatMap(({ lines }) => lines.flatMap((line) => line.split(' ')))
      const names = MIGRATIONS.map(({ name }) => name)
      expect(ran.filter((name) => name !== '').toSorted()).toEqual(names.toSorted())
    } finally {
      script.remove()
    }
  })

  it('migrate though one of them was killed in the middle', async () => {
    const url = await server.createDatabase()
    const [holder, watcher] = [openPostgres(url), openPostgres(url)]
    const waits = `SELECT pid FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`
    // The first migration waits for a table that another holds, and loses its connection there.
    await holder.query('CREATE SCHEMA sluice')
    await holder.query('CREATE TABLE sluice.held (id int)')
    const blocked: Migration = {
      version: 98,
      name: 'blocked',
      statements: ['CREATE TABLE sluice.before (id int)', 'LOCK TABLE sluice.held'],
    }
    const cut = openPostgres(url)
    let failed: Promise<unknown> | undefined
    await holder.transaction(async (sql) => {
      await sql.query('LOCK TABLE sluice.held')
      failed = migrate(cut, [...MIGRATIONS, blocked]).catch((error: unknown) => error)
      await until('it waits', async () => (await watcher.query(waits)).length === 1)
      await watcher.query(`SELECT pg_terminate_backend(pid) FROM (${waits}) AS waiting`)
    })
    expect(await failed).toMatchObject({ mayHaveRun: false })
    const applied = (await migrationStatus(watcher, [...MIGRATIONS, blocked])).map(
      ({ appliedAt }) => appliedAt !== null,
    )
    expect(applied).toEqual([...MIGRATIONS.map(() => true), false])
    expect(await migrate(cut, [...MIGRATIONS, blocked])).toEqual(['blocked'])
    await Promise.all([holder, watcher, cut].map((one) => one.close()))
  })

  it('tend partitions at once', async () => {
    const url = await server.createDatabase()
    const instances = Array.from({ length: 6 }, () => openPostgres(url))
    await Promise.all(instances.map((one) => migrate(one)))
    const now = new Date('2026-03-15T12:00:00Z')
    const worked = await Promise.all(instances.map((one) => tendPartitions(one, AUDIT, now)))
    expect(worked.flatMap(({ made }) => made).toSorted()).toEqual(await partitionsOf(instances[0]!))
    await Promise.all(instances.map((one) => one.close()))
  })
})
