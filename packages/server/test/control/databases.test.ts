/** The port, on both databases: what every SQL of the control plane may rely on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, DatabaseAway, SqlError, violates } from '../../src/control/database.js'
import { DATABASES, type TestDatabase } from './databases.js'

describe.each(DATABASES)('$kind', ({ start }) => {
  let place: TestDatabase
  let database: Database
  beforeAll(async () => {
    place = await start()
    database = place.open()
    await database.query('CREATE TABLE things (id bigint PRIMARY KEY, name text, at timestamptz)')
  })
  afterAll(async () => {
    await database.close()
    await place.stop()
  })

  it('gives large integers and numerics as numbers, times as dates, JSON parsed', async () => {
    const at = new Date('2026-01-16T12:00:00.123Z')
    const rows = await database.query(
      'SELECT $1::int8 AS a, $2::numeric AS b, $3::timestamptz AS c, $4::jsonb AS d, $5::text[] AS e, $6::text AS f',
      [2 ** 40, 1.5, at, JSON.stringify({ x: ['y'] }), ['p', 'q"\\r,', ''], null],
    )
    expect(rows).toEqual([
      { a: 2 ** 40, b: 1.5, c: at, d: { x: ['y'] }, e: ['p', 'q"\\r,', ''], f: null },
    ])
  })

  it('keeps a transaction that ends well, and nothing of one that does not', async () => {
    await database.transaction(async (sql) => {
      await sql.query('INSERT INTO things (id) VALUES (1)')
    })
    const failed = database.transaction(async (sql) => {
      await sql.query('INSERT INTO things (id) VALUES (2)')
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    expect(await database.query('SELECT id FROM things')).toEqual([{ id: 1 }])
  })

  it('says which unique index refuses, and goes on', async () => {
    const twice = database.transaction(async (sql) => {
      await sql.query('INSERT INTO things (id) VALUES (10)')
      await sql.query('INSERT INTO things (id) VALUES (10)')
    })
    const error = await twice.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SqlError)
    expect(violates(error, 'things_pkey')).toBe(true)
    expect(violates(error, 'another')).toBe(false)
    expect(await database.query('SELECT id FROM things WHERE id = 10')).toEqual([])
  })

  it('does not take a transaction for done of which a statement was refused', async () => {
    const done = database.transaction(async (sql) => {
      await sql.query('INSERT INTO things (id) VALUES (20)')
      await sql.query('INSERT INTO things (id) VALUES (20)').catch(() => undefined)
      return 'done'
    })
    await expect(done).rejects.toMatchObject({ state: '23505' })
    expect(await database.query('SELECT id FROM things WHERE id = 20')).toEqual([])
  })

  it('does not mix transactions that run at once', async () => {
    await database.query('INSERT INTO things (id, name) VALUES (100, $1)', ['0'])
    const add = () =>
      database.transaction(async (sql) => {
        const [row] = await sql.query<{ name: string }>(
          'SELECT name FROM things WHERE id = 100 FOR UPDATE',
        )
        await sql.query('UPDATE things SET name = $1 WHERE id = 100', [
          String(Number(row!.name) + 1),
        ])
      })
    await Promise.all(Array.from({ length: 20 }, add))
    expect(await database.query('SELECT name FROM things WHERE id = 100')).toEqual([{ name: '20' }])
  })

  it('runs a transaction again where the database ended it for a race', async () => {
    let attempts = 0
    const raise = `DO $$ BEGIN RAISE EXCEPTION 'race' USING ERRCODE = '40001'; END $$`
    const done = await database.transaction(async (sql) => {
      if (++attempts < 3) await sql.query(raise)
      return attempts
    })
    expect(done).toBe(3)
    const always = database.transaction((sql) => sql.query(raise))
    await expect(always).rejects.toMatchObject({ state: '40001' })
  })

  it('is away where it has no room or cannot use its files, and nothing was done', async () => {
    for (const state of ['53000', '53100', '53200', '53300', '53400', '58030', '58P01']) {
      const raise = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`
      const alone = await database.query(raise).catch((error: unknown) => error)
      const within = await database
        .transaction(async (sql) => {
          await sql.query('INSERT INTO things (id) VALUES (30)')
          await sql.query(raise)
        })
        .catch((error: unknown) => error)
      for (const error of [alone, within]) {
        expect(error).toBeInstanceOf(DatabaseAway)
        expect(error).toMatchObject({ mayHaveRun: false })
      }
    }
    expect(await database.query('SELECT id FROM things WHERE id = 30')).toEqual([])
  })

  it('has what was written after it was closed and opened again', async () => {
    await database.query('INSERT INTO things (id) VALUES (1000)')
    await database.close()
    database = place.open()
    expect(await database.query('SELECT id FROM things WHERE id = 1000')).toEqual([{ id: 1000 }])
  })
})
