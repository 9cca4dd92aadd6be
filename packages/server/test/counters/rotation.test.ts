/** What is used does not make `used.log` grow for ever: it is rewritten with the counters' files. */
import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readSettings } from '../../src/config.js'
import { openBacking } from '../../src/counters/backing.js'
import { openCounters } from '../../src/counters/counters.js'
import { NotDone } from '../../src/receipts/once.js'
import { Log } from '../../src/telemetry/log.js'
import { limiterOver, newFolder } from './kept-rules.js'

/** Given out by another process. */
const foreign = (at: number) => ({ at, number: null, count: 0 })

it('is rewritten once with each new file of counters, and when it has grown', async () => {
  const folder = newFolder()
  let rotations = 0
  let hasGrown = false
  const beside = {
    get hasGrown() {
      return hasGrown
    },
    rotate: async () => {
      rotations++
      hasGrown = false
    },
  }
  const counters = openCounters(folder, { intervalMs: 3_600_000, beside: () => beside })
  const limiter = limiterOver(counters.store)
  const files = () => readdirSync(folder).filter((name) => name.endsWith('.log')).length
  await counters.flush()
  expect([files(), rotations]).toEqual([1, 1])
  limiter.checkSync({ subject: { user: 'u1' } })
  await counters.flush()
  expect([files(), rotations]).toEqual([1, 1])
  hasGrown = true
  await counters.flush()
  expect([files(), rotations]).toEqual([1, 2])
  await counters.close()
  const again = openCounters(folder, { intervalMs: 3_600_000, beside: () => beside })
  await again.flush()
  expect([files(), rotations]).toEqual([2, 3])
  await again.close()
})

it('stays small in a folder where very much is used and nothing of it is to be kept', async () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-rotation-'))
  const settings = readSettings({ flags: { data }, environment: {}, file: null })
  const backing = await openBacking(settings, new Log({ write: () => undefined }))
  const size = () => statSync(join(data, 'used.log')).size
  const refuse = async () => {
    throw new NotDone('no')
  }
  for (let i = 0; i < 50; i++) {
    const id = `${i}${'x'.repeat(100_000)}`
    await expect(backing.once.run(id, foreign(Date.now()), refuse)).rejects.toThrow(NotDone)
  }
  expect(size()).toBeGreaterThan(8_000_000)
  await expect.poll(size, { timeout: 10_000 }).toBeLessThan(1000)
  await backing.close()
})
