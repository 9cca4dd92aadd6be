/** The embedded database on a small disk of its own that gets full; where the system lets one be mounted. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { DatabaseAway } from '../../src/control/database.js'
import { openEmbedded } from '../../src/control/embedded.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-full-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=120m', 'tmpfs', folder])
const isMounted = mounted.status === 0

describe.skipIf(!isMounted)('on a full disk (skipped where no disk can be mounted)', () => {
  afterAll(() => {
    if (isMounted) spawnSync('umount', [folder])
    rmSync(folder, { recursive: true, force: true })
  })

  it('the embedded database is away, keeps its files, and is back when there is room', async () => {
    const database = openEmbedded(join(folder, 'data'))
    const ballast = join(folder, 'ballast')
    await database.query('CREATE TABLE things (batch int, text text)')
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 12 * 1024 * 1024))
    const insert = (batch: number) =>
      database.query(
        `INSERT INTO things SELECT $1, repeat(md5(random()::text), 20) FROM generate_series(1, 2000)`,
        [batch],
      )
    let answered = 0
    const full = await (async () => {
      for (;;) await insert(answered++)
    })().catch((error: unknown) => error)
    answered--
    expect(full).toBeInstanceOf(DatabaseAway)
    expect(full).toMatchObject({ mayHaveRun: false, message: 'the disk of the database is full' })
    await expect(insert(1000)).rejects.toBeInstanceOf(DatabaseAway)
    await expect(database.query('SELECT 1')).rejects.toBeInstanceOf(DatabaseAway)
    rmSync(ballast)
    await until('it is back', () => insert(2000).then(Boolean, () => false))
    const [row] = await database.query(
      'SELECT count(DISTINCT batch) AS batches FROM things WHERE batch < 1000',
    )
    expect(row).toEqual({ batches: answered })
    expect(await database.query('SELECT 1 FROM things WHERE batch = 1000')).toEqual([])
    expect(readdirSync(join(folder, 'data')).filter((name) => name.includes('broken'))).toEqual([])
    await database.close()
  })
})
