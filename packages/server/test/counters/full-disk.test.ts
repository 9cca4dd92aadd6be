/** Receipts on a small disk of its own that gets full; where the system lets one be mounted. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { NotRecorded, OnceInMemory } from '../../src/receipts/once.js'
import { OnceFile } from '../../src/receipts/once-file.js'
import { startService } from '../service.js'

/** Given out by another process. */
const foreign = (at: number) => ({ at, number: null, count: 0 })

const disk = mkdtempSync(join(tmpdir(), 'sluice-full-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk])
const isMounted = mounted.status === 0
const ballast = join(disk, 'ballast')
const PAGE = 4096

/** Until not a page is left. */
function fill(): void {
  const file = openSync(ballast, 'a')
  try {
    for (;;) writeSync(file, Buffer.alloc(PAGE))
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  } finally {
    closeSync(file)
  }
}

// Mounting needs root; elsewhere the disk cannot be made full.
describe.skipIf(!isMounted)('on a full disk (skipped where no disk can be mounted)', () => {
  afterAll(() => {
    if (isMounted) spawnSync('umount', [disk])
    rmSync(disk, { recursive: true, force: true })
  })

  it('a refund is refused with 503, works once there is room, and is honoured once', async () => {
    const rules = 'rules:\n  a: { scope: user, resource: /a, limits: 1000/d fixed }\n'
    const start = () => startService({ rules, flags: { data: join(disk, 'data') } })
    const request = { subject: { user: 'ada' }, resource: '/a', include: ['receipt'] }
    const first = await start()
    const receipts: string[] = []
    for (let i = 0; i < 200; i++)
      receipts.push((await first.post('/v1/check', request)).body.receipt)
    fill()
    const refund = (receipt: string) => first.post('/v1/refund', { receipt })
    const refused: string[] = []
    for (const receipt of receipts) {
      const { status, body } = await refund(receipt)
      if (status === 200) continue
      expect(status).toBe(503)
      expect(body.error.code).toBe('disk_unwritable')
      expect(body.error.message).toContain('ENOSPC')
      refused.push(receipt)
    }
    // What fits into the last page of the file is still taken.
    expect(refused.length).toBeGreaterThan(100)
    const given = receipts.length - refused.length
    expect((await first.post('/v1/quota', request)).body.remaining).toBe(800 + given)
    expect((await first.post('/v1/check', { ...request, subject: { user: 'eve' } })).status).toBe(
      200,
    )
    const codes = () => first.log.map(({ code }) => code)
    expect(codes().filter((code) => code === 'used_log_unwritable')).toHaveLength(1)
    rmSync(ballast)
    for (const receipt of [...refused, ...refused]) {
      const { status, body } = await refund(receipt)
      expect([status, body.refunded]).toEqual([200, { requests: 1 }])
    }
    expect((await first.post('/v1/quota', request)).body.remaining).toBe(1000)
    expect(codes()).toContain('used_log_written')
    expect(codes()).not.toContain('internal')
    await first.stop()

    const second = await start()
    await second.post('/v1/check', request)
    for (const receipt of receipts)
      expect((await second.post('/v1/refund', { receipt })).body.refunded).toEqual({ requests: 1 })
    expect((await second.post('/v1/quota', request)).body.remaining).toBe(999)
    expect(second.log.filter(({ code }) => code !== undefined)).toEqual([])
    await second.stop()
  })

  it('an answer that finds no room is given, and written once there is room', async () => {
    const folder = join(disk, 'once')
    mkdirSync(folder)
    const now = 1e12
    const log = { info() {}, warn() {}, error() {} }
    const file = new OnceFile(folder, now, log)
    const once = new OnceInMemory(() => now, file)
    // Room for a claim in the last page, and not for a long answer.
    const path = join(folder, 'used.log')
    for (let i = 0; statSync(path).size % PAGE < PAGE - 1000; i++)
      await once.run(`before-${i}`, foreign(now), async () => 'short')
    fill()
    const answer = 'long '.repeat(2 * PAGE)
    expect(await once.run('long', foreign(now), async () => answer)).toBe(answer)
    expect(await once.run('long', foreign(now), async () => 'twice')).toBe(answer)
    await expect(
      (async () => {
        for (let i = 0; ; i++) await once.run(`after-${i}`, foreign(now), async () => 'short')
      })(),
    ).rejects.toThrow(NotRecorded)
    rmSync(ballast)
    await once.run('next', foreign(now), async () => 'short')
    file.close()
    const reopened = new OnceFile(folder, now, log)
    const again = new OnceInMemory(() => now, reopened)
    expect(await again.run('long', foreign(now), async () => 'twice')).toBe(answer)
    expect(await again.run('before-0', foreign(now), async () => 'twice')).toBe('short')
    reopened.close()
  })
})
