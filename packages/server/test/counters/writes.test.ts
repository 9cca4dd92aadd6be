/** How files of counters are written: whole or not at all, on the disk before they count, readable to one. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryStore } from '@sluice/limiter'
import { expect, it } from 'vitest'
import { CounterFiles } from '../../src/counters/counter-files.js'
import { openCounters } from '../../src/counters/counters.js'
import { restore } from '../../src/counters/restore.js'
import { limiterOver, newFolder, START } from './kept-rules.js'

const BY_HAND = { intervalMs: 3_600_000, now: () => START }

/** Opens files of which each group that is synced is told. */
function syncing(synced: () => void): typeof open {
  return async (...args) => {
    const file = await open(...args)
    const real = file.datasync.bind(file)
    file.datasync = async () => {
      await real()
      synced()
    }
    return file
  }
}

const logsIn = (folder: string) =>
  readdirSync(folder).filter((name) => /^counters-\d+\.log$/.test(name))

it('a new file has its name once its first group is on the disk, and changes are too when a write has ended', async () => {
  const folder = newFolder()
  const names: string[][] = []
  const counters = openCounters(folder, {
    ...BY_HAND,
    open: syncing(() => names.push(logsIn(folder))),
  })
  const limiter = limiterOver(counters.store)
  limiter.checkSync({ subject: { user: 'u1' } })
  await counters.flush()
  expect(names).toEqual([[]])
  limiter.checkSync({ subject: { user: 'u1' } })
  await counters.flush()
  expect(names).toEqual([[], ['counters-000001.log']])
  await counters.close()
})

it('on a full disk the file that is kept in case goes first', async () => {
  const folder = newFolder()
  for (let i = 0; i < 2; i++) {
    const counters = openCounters(folder, BY_HAND)
    limiterOver(counters.store).checkSync({ subject: { user: `u${i}` } })
    await counters.close()
  }
  expect(logsIn(folder)).toHaveLength(2)
  const full: typeof open = async (...args) => {
    const file = await open(...args)
    file.writeFile = async () => {
      throw Object.assign(new Error('ENOSPC: no room'), { code: 'ENOSPC' })
    }
    return file
  }
  const counters = openCounters(folder, { ...BY_HAND, open: full })
  await expect(counters.flush()).rejects.toThrow('no room')
  expect(logsIn(folder)).toEqual(['counters-000002.log'])
  await counters.close()
})

it('only the last damaged file is kept', async () => {
  const folder = newFolder()
  const write = async () => {
    const counters = openCounters(folder, BY_HAND)
    limiterOver(counters.store).checkSync({ subject: { user: 'u1' } })
    await counters.close()
  }
  for (let damages = 0; damages < 3; damages++) {
    for (let writes = 0; writes < 3; writes++) await write()
    const newest = join(folder, logsIn(folder).sort().at(-1)!)
    const bytes = readFileSync(newest)
    bytes[40]! ^= 1
    writeFileSync(newest, bytes)
  }
  await write()
  const damaged = readdirSync(folder).filter((name) => name.endsWith('.damaged'))
  expect(damaged).toHaveLength(1)
})

it('a file that may not be opened is not taken for a damaged one', async () => {
  const folder = newFolder()
  const counters = openCounters(folder, BY_HAND)
  await counters.close()
  const files = new CounterFiles(folder)
  const pathOf = files.pathOf.bind(files)
  let asked = 0
  files.pathOf = (number) => {
    if (asked++ > 0) return pathOf(number)
    throw Object.assign(new Error('EACCES: not yours'), { code: 'EACCES' })
  }
  expect(() => restore(memoryStore(), files, START, () => {})).toThrow('not yours')
  expect(readdirSync(folder).some((name) => name.endsWith('.damaged'))).toBe(false)
})

it('a folder that was there is closed to others', async () => {
  const folder = newFolder()
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  await openCounters(folder, BY_HAND).close()
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})
