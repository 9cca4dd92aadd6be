/** The embedded database's own affairs: its lock, its seed, its dump, and files that do not open. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import type { Database } from '../../src/control/database.js'
import { openEmbedded } from '../../src/control/embedded.js'

describe('the embedded database', () => {
  let folder: string
  let database: Database | null = null
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
  })
  afterEach(async () => {
    await database?.close()
    database = null
    rmSync(folder, { recursive: true, force: true })
  })
  const files = () => join(folder, 'database', 'files')
  const dump = () => join(folder, 'database.dump.tar.gz')

  it('is opened by one process at a time', async () => {
    database = openEmbedded(folder)
    expect(() => openEmbedded(folder)).toThrow('is in use')
    await database.close()
    database = openEmbedded(folder)
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('refuses what is asked after it was closed', async () => {
    database = openEmbedded(folder)
    await database.close()
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ mayHaveRun: false })
  })

  it('keeps nobody waiting for its opening longer than it says, however many ask', async () => {
    database = openEmbedded(folder, { openingMs: 1 })
    const asked = await Promise.allSettled([1, 2, 3].map(() => database!.query('SELECT 1')))
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    for (const one of asked)
      expect(one).toMatchObject({
        reason: { mayHaveRun: false, message: 'the database is still opening' },
      })
    await until('it is open', async () => (await database!.query('SELECT 1')).length === 1)
  })

  it('begins again where making it was cut off, and opens past a stale pid', async () => {
    mkdirSync(files(), { recursive: true })
    writeFileSync(join(files(), 'PG_VERSION'), '18')
    writeFileSync(join(folder, 'database', 'beginning'), '')
    database = openEmbedded(folder)
    await database.query('CREATE TABLE kept (id int)')
    expect(existsSync(join(folder, 'database', 'beginning'))).toBe(false)
    await database.close()
    writeFileSync(join(files(), 'postmaster.pid'), '1\n')
    database = openEmbedded(folder)
    expect(await database.query('SELECT * FROM kept')).toEqual([])
  })

  it('keeps a dump after writes, and takes it where the files do not open', async () => {
    const said: string[] = []
    const options = { dumpEveryMs: 0, dumpAfterMs: 0, log: (line: string) => said.push(line) }
    database = openEmbedded(folder, options)
    await database.query('SELECT 1')
    await database.query('CREATE TABLE kept (id int)')
    await database.query('INSERT INTO kept VALUES (7)')
    await until('a dump with the row is there', async () => {
      await database!.query('INSERT INTO kept VALUES (7)')
      return existsSync(dump()) && statSync(dump()).size > 0
    })
    // One more, which has the rows for certain.
    const before = statSync(dump()).mtimeMs
    await until('it is written again', async () => {
      await database!.query('INSERT INTO kept VALUES (7)')
      return statSync(dump()).mtimeMs > before
    })
    await database.close()
    expect(said).toEqual([])
    truncateSync(join(files(), 'global', 'pg_control'), 10)
    database = openEmbedded(folder, options)
    const rows = await database.query('SELECT DISTINCT id FROM kept')
    expect(rows).toEqual([{ id: 7 }])
    expect(said.join('\n')).toContain('did not open')
    expect(said.join('\n')).toContain('the dump of')
    expect(readdirSync(folder).filter((name) => name.startsWith('database.broken-'))).toHaveLength(
      1,
    )
  })

  it('writes no dump where nothing was written', async () => {
    database = openEmbedded(folder, { dumpEveryMs: 0, dumpAfterMs: 0 })
    for (let i = 0; i < 50; i++) await database.query('SELECT 1')
    await database.close()
    expect(existsSync(dump())).toBe(false)
  })

  it('says so where there is no dump, and begins empty', async () => {
    const said: string[] = []
    database = openEmbedded(folder)
    await database.query('CREATE TABLE gone (id int)')
    await database.close()
    truncateSync(join(files(), 'global', 'pg_control'), 10)
    database = openEmbedded(folder, { log: (line) => said.push(line) })
    await expect(database.query('SELECT * FROM gone')).rejects.toMatchObject({ state: '42P01' })
    expect(said.join('\n')).toContain('there is no dump; it begins empty')
  })
})
