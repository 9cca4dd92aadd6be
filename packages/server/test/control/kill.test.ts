/** Killed in the middle of writes, and a database that goes and comes: nothing answered is lost, nothing half-written is seen. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { ControlPlane } from '../../src/control/control-plane.js'
import type { Database } from '../../src/control/database.js'
import { openEmbedded } from '../../src/control/embedded.js'
import { openPostgres } from '../../src/control/postgres.js'
import { type AdminServer, startAdmin } from './admin-server.js'
import { PostgresServer } from './databases.js'
import { Script } from './processes.js'
import { inconsistencies, ROOT } from './world.js'

const script = new Script('writing-process')
afterAll(() => script.remove())

/** What was answered, and is there. */
async function expectKept(database: Database, lines: readonly string[]): Promise<void> {
  const answered = new Map<string, number>()
  for (const line of lines.filter((one) => one !== 'open')) {
    const [name, version] = line.split(' ') as [string, string]
    answered.set(name, Number(version))
  }
  const rows = await database.query<{ name: string; version: number }>(
    'SELECT name, version FROM sluice.rules',
  )
  const kept = new Map(rows.map(({ name, version }) => [name, version]))
  const lost = [...answered].filter(([name, version]) => (kept.get(name) ?? 0) < version)
  expect(lost).toEqual([])
  expect(await inconsistencies(database)).toEqual([])
}

describe('a process on the embedded database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-killed-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('killed while it writes, again and again, loses nothing that it answered', async () => {
    const lines: string[] = []
    for (const writes of [1, 20, 45]) {
      const writer = script.start('embedded', folder)
      await until('it has written', () => writer.lines.length > writes)
      writer.child.kill('SIGKILL')
      await writer.ended
      lines.push(...writer.lines)
      const database = openEmbedded(folder)
      await expectKept(database, lines)
      await database.close()
    }
  })
})

describe('PostgreSQL', () => {
  let server: PostgresServer
  let url: string
  let database: Database
  let control: ControlPlane
  let admin: AdminServer
  beforeAll(async () => {
    server = await PostgresServer.start()
    url = await server.createDatabase()
    database = openPostgres(url, { patienceMs: 1_000 })
    control = new ControlPlane({ database })
    admin = await startAdmin({ control, mode: 'database' })
  })
  afterAll(async () => {
    expect(admin.failures).toEqual([])
    await admin.stop()
    await database.close()
    await server.stop()
  })

  let count = 0
  const create = () => {
    const name = `rule-${count++}`
    const rule = { name, scope: 'user', resource: `/${name}`, limits: '1/s' }
    return admin.call('POST', '/v1/rules', rule)
  }

  it('loses nothing of several processes that were killed', async () => {
    expect((await create()).status).toBe(201)
    const writers = [1, 2, 3].map(() => script.start('postgres', url))
    await until('all have written', () => writers.every(({ lines }) => lines.length > 20))
    for (const { child } of writers) child.kill('SIGKILL')
    await Promise.all(writers.map(({ ended }) => ended))
    await expectKept(
      database,
      writers.flatMap(({ lines }) => lines),
    )
  })

  it('loses nothing where its backends are ended in the middle of writes', async () => {
    const answered: string[] = []
    const end = new AbortController()
    const statuses = new Set<number>()
    const writer = async () => {
      while (!end.signal.aborted) {
        const { status, body } = await create()
        statuses.add(status)
        if (status === 201) answered.push(`${body.name} 1`)
      }
    }
    const writing = Promise.all([1, 2, 3, 4].map(writer))
    const other = openPostgres(url)
    for (let i = 0; i < 20; i++) {
      const before = answered.length
      await until('writes go on', () => answered.length > before + 2)
      await other.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      )
    }
    end.abort()
    await writing
    await expectKept(other, answered)
    await other.close()
    expect([...statuses].toSorted((a, b) => a - b)).toEqual([201, 503])
  })

  it('being away is a clear 503, and it comes back by itself', async () => {
    const seen: number[] = []
    const stop = control.feed.watch(() => seen.push(1))
    await server.kill()
    const asked: [string, string, unknown][] = [
      ['GET', '/v1/rules', undefined],
      ['POST', '/v1/blocks', { scope: 'user', value: 'x' }],
      ['GET', '/v1/audit', undefined],
      ['GET', '/v1/document', undefined],
      ['PUT', '/v1/document?dry_run=true', {}],
      ['GET', '/v1/namespaces', undefined],
      ['GET', '/v1/tokens', undefined],
      ['PUT', '/v1/subjects/user/1/tier', { tier: 'x' }],
      ['GET', '/v1/costs', undefined],
    ]
    for (const [method, path, body] of asked) {
      const answer = await admin.call(method, path, body)
      expect([path, answer.status, answer.body.error.code]).toEqual([
        path,
        503,
        'database_unavailable',
      ])
      expect(answer.text).not.toContain('ECONNREFUSED')
      expect([path, answer.body.error.retryable]).toEqual([path, true])
    }
    await server.start()
    await until('it is back', async () => (await create()).status === 201)
    const before = seen.length
    const other = new ControlPlane({ database: openPostgres(url) })
    await other.blocks.add(ROOT, 'default', { scope: 'user', value: 'other' })
    await until('it looks again', () => seen.length > before)
    await other.database.close()
    stop()
    expect(await inconsistencies(database)).toEqual([])
  })

  it('that hangs is given up, and found again when it goes on', async () => {
    server.pause()
    const answers = await Promise.all([create(), create(), admin.call('GET', '/v1/rules')])
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503])
    server.resume()
    await until('it goes on', async () => (await create()).status === 201)
    expect(await inconsistencies(database)).toEqual([])
  })

  it('that is newer than this version is refused in words', async () => {
    const newer = await server.createDatabase()
    const made = openPostgres(newer)
    const first = new ControlPlane({ database: made })
    await first.prepare()
    await made.query(
      `INSERT INTO sluice.sluice_migrations (version, name, checksum) VALUES (999, 'later', 'x')`,
    )
    const second = new ControlPlane({ database: made })
    await expect(second.prepare()).rejects.toThrow('it is newer')
    await expect(second.namespaces()).rejects.toMatchObject({ code: 'database_unavailable' })
    await made.close()
  })
})
