/** Counters in a folder: what is there after a restart, and what happens when the disk is not well. */
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createLimiter, memoryStore } from '@sluice/limiter'
import { StoreState } from '@sluice/limiter/state'
import { describe, expect, it, vi } from 'vitest'
import { CounterFiles } from '../../src/counters/counter-files.js'
import { CounterWriter } from '../../src/counters/counter-writer.js'
import { type CountersOptions, openCounters } from '../../src/counters/counters.js'
import { limiterOver, newFolder, remainingOf, START } from './kept-rules.js'

/** Only what a test asks to be written is written. */
const BY_HAND = { intervalMs: 3_600_000, now: () => START } satisfies CountersOptions

function failing(code: string, isFailing: () => boolean): typeof open {
  return async (...args) => {
    const file = await open(...args)
    const real = file.writeFile.bind(file)
    file.writeFile = async (...content: Parameters<FileHandle['writeFile']>) => {
      if (isFailing()) {
        // As much as there is room for.
        await real((content[0] as Buffer).subarray(0, 5))
        throw Object.assign(new Error(`${code}: the disk said no`), { code })
      }
      return real(...content)
    }
    return file
  }
}

describe('counters in a folder', () => {
  it('are there again after a restart, and after another', async () => {
    const folder = newFolder()
    let expected = ''
    for (let round = 0; round < 4; round++) {
      const counters = openCounters(folder, BY_HAND)
      if (round === 0) expect(counters.restored).toBeNull()
      else expect(counters.restored).toMatchObject({ keys: 3 + round, ageMs: 0 })
      if (round > 0) expect(await remainingOf(counters.store)).toBe(expected)
      const limiter = limiterOver(counters.store)
      for (let i = 0; i <= round; i++)
        limiter.checkSync({ subject: { user: `u${i}`, org: `o${i % 3}` } })
      await counters.flush()
      for (let i = 0; i <= 3; i++) limiter.checkSync({ subject: { user: `u${round}`, org: 'o1' } })
      if (round === 0) limiter.checkSync({ subject: { org: 'o2' } })
      expected = await remainingOf(counters.store)
      await counters.close()
    }
  })

  it('are written by themselves, and only when something was counted', async () => {
    const folder = newFolder()
    const counters = openCounters(folder, { intervalMs: 20, now: () => START })
    const limiter = limiterOver(counters.store)
    await until(() => readdirSync(folder).includes('counters-000001.log'))
    limiter.checkSync({ subject: { user: 'u1' } })
    const path = join(folder, 'counters-000001.log')
    const before = statSync(path).size
    await until(() => statSync(path).size > before)
    await counters.flush()
    const after = statSync(path).size
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(statSync(path).size).toBe(after)
    cpSync(folder, `${folder}-killed`, { recursive: true })
    rmSync(join(`${folder}-killed`, 'lock'))
    const killed = openCounters(`${folder}-killed`, BY_HAND)
    expect(await remainingOf(killed.store)).toBe(await remainingOf(counters.store))
    await Promise.all([counters.close(), killed.close()])
  })

  it('say how old they are', async () => {
    const folder = newFolder()
    const first = openCounters(folder, BY_HAND)
    limiterOver(first.store).checkSync({ subject: { user: 'u1' } })
    await first.close()
    const second = openCounters(folder, { ...BY_HAND, now: () => START + 1234 })
    expect(second.restored).toEqual({ keys: 1, ageMs: 1234, from: 'counters-000001.log' })
    await second.close()
  })

  it('are nobody else’s to read', async () => {
    const folder = newFolder()
    const counters = openCounters(folder, BY_HAND)
    await counters.flush()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(folder))
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    await counters.close()
  })

  it('begin another file when one has grown, and keep one before', async () => {
    const folder = newFolder()
    const counters = openCounters(folder, BY_HAND)
    let now = START
    const rules = { r: { scope: 'user', limits: '1000/h' } } as const
    const { store } = counters
    const limiter = createLimiter({ rules, store, clock: () => now })
    for (let round = 0; round < 30; round++) {
      now += 1
      for (let i = 0; i < 20_000; i++) limiter.checkSync({ subject: { user: `u${i}` } })
      await counters.flush()
    }
    const names = readdirSync(folder).filter((name) => name.endsWith('.log'))
    expect(names).toHaveLength(2)
    expect(names).not.toContain('counters-000001.log')
    await counters.close()
    const again = openCounters(folder, BY_HAND)
    const after = createLimiter({ rules, store: again.store, clock: () => now })
    expect(again.restored?.keys).toBe(20_000)
    expect((await after.peek({ subject: { user: 'u7' } })).remaining).toBe(970)
    await again.close()
  })
})

describe('a full store', () => {
  it('is written whole where rows had to go while their changes were read', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    const store = memoryStore({ maxKeys: 8 })
    const rules = { r: { scope: 'user', limits: '50/d fixed' } } as const
    const limiter = createLimiter({ rules, store, clock: () => START })
    const flood = () => {
      for (let i = 0; i < 200; i++) limiter.checkSync({ subject: { user: `flood-${i}` } })
    }
    const writer = new CounterWriter(store, new CounterFiles(folder), { now: () => START })
    limiter.checkSync({ subject: { user: 'u1' } })
    await writer.write()
    limiter.checkSync({ subject: { user: 'u1' } })
    // oxlint-disable-next-line typescript/unbound-method -- it is called on the writer's state
    const { exportChanges } = StoreState.prototype
    vi.spyOn(StoreState.prototype, 'exportChanges').mockImplementationOnce(function* (
      this: StoreState,
    ) {
      for (const piece of exportChanges.call(this)) {
        flood()
        yield piece
      }
    })
    await writer.write()
    vi.restoreAllMocks()
    await writer.leave()
    expect(readdirSync(folder)).toContain('counters-000002.log')
    const again = openCounters(folder, { ...BY_HAND, store: { maxKeys: 8 } })
    expect(again.restored?.from).toBe('counters-000002.log')
    const after = createLimiter({ rules, store: again.store, clock: () => START })
    expect((await after.peek({ subject: { user: 'u1' } })).remaining).toBeLessThanOrEqual(48)
    await again.close()
  })
})

describe('trouble with the disk', () => {
  it('lets the next write wait for 2, 4, 8 and so on intervals, and for 32 at most', async () => {
    const delays: number[] = []
    let tick = () => {}
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
      delays.push(ms)
      tick = run
      return { unref: () => undefined }
    }) as unknown as typeof setTimeout)
    const options = { now: () => START, intervalMs: 10_000, open: failing('EIO', () => true) }
    const counters = openCounters(newFolder(), options)
    limiterOver(counters.store).checkSync({ subject: { user: 'u1' } })
    for (let i = 1; i <= 7; i++) {
      tick()
      while (delays.length <= i) await new Promise(setImmediate)
    }
    vi.restoreAllMocks()
    // What the write took is subtracted.
    expect(delays.map((ms) => Math.ceil(ms / 10_000))).toEqual([1, 2, 4, 8, 16, 32, 32, 32])
    await counters.close()
  })

  it.each(['ENOSPC', 'EIO', 'EACCES'])(
    '(%s) is said once, stops no decision, and is over by itself',
    async (code) => {
      const folder = newFolder()
      const troubles: (string | undefined)[] = []
      let isFailing = false
      const counters = openCounters(folder, {
        ...BY_HAND,
        intervalMs: 5,
        open: failing(code, () => isFailing),
        onTrouble: (trouble) =>
          troubles.push(trouble === null ? 'over' : trouble.message.split(':')[0]),
      })
      const limiter = limiterOver(counters.store)
      limiter.checkSync({ subject: { user: 'u1' } })
      await counters.flush()
      isFailing = true
      limiter.checkSync({ subject: { user: 'u1' } })
      for (let i = 0; i < 3; i++) await expect(counters.flush()).rejects.toThrow(code)
      expect(limiter.checkSync({ subject: { user: 'u2' } }).allowed).toBe(true)
      expect(troubles).toEqual([code])
      isFailing = false
      await until(() => troubles.length === 2)
      expect(troubles).toEqual([code, 'over'])
      const expected = await remainingOf(counters.store)
      await counters.close()
      expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
      const again = openCounters(folder, BY_HAND)
      expect(await remainingOf(again.store)).toBe(expected)
      await again.close()
    },
  )

  it('does not keep a server from closing', async () => {
    const counters = openCounters(newFolder(), {
      ...BY_HAND,
      closeWithinMs: 30,
      open: () => new Promise(() => undefined),
    })
    const began = performance.now()
    await counters.close()
    expect(performance.now() - began).toBeLessThan(2000)
  })

  it('is over when a folder that was removed can be made again', async () => {
    const folder = newFolder()
    const counters = openCounters(folder, BY_HAND)
    const limiter = limiterOver(counters.store)
    limiter.checkSync({ subject: { user: 'u1' } })
    await counters.flush()
    rmSync(folder, { recursive: true })
    limiter.checkSync({ subject: { user: 'u1' } })
    await counters.flush()
    const expected = await remainingOf(counters.store)
    await counters.close()
    const again = openCounters(folder, BY_HAND)
    expect(await remainingOf(again.store)).toBe(expected)
    await again.close()
  })

  it('of a folder that cannot be made is said when it is opened', () => {
    const folder = newFolder()
    writeFileSync(folder, 'a file')
    expect(() => openCounters(folder, BY_HAND)).toThrow(/cannot keep counters/)
    expect(() => openCounters(join(folder, 'inside'), BY_HAND)).toThrow(/cannot keep counters/)
  })

  it.skipIf(process.getuid?.() === 0)(
    'of a folder that may only be read is said too (skipped as root, who may write anywhere)',
    () => {
      const folder = newFolder()
      mkdirSync(folder)
      chmodSync(dirname(folder), 0o500)
      expect(() => openCounters(join(dirname(folder), 'other'), BY_HAND)).toThrow(/EACCES/)
      chmodSync(dirname(folder), 0o700)
    },
  )
})

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 2))
}
