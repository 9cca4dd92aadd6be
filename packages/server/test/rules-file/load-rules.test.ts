/** Loading: the same rules by either thread, faults in all their places, and never long without a pause. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createLimiter } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { loadRules } from '../../src/rules-file/load-rules.js'
import { readRules } from '../../src/rules-file/read-rules.js'
import { manyRules, newFolder, rules } from './files.js'

async function fileOf(text: string | Uint8Array): Promise<string> {
  const path = join(await newFolder(), 'sluice.yaml')
  await writeFile(path, text)
  return path
}

describe('loading a file', () => {
  it.each([
    ['small', rules('1/s')],
    ['large', manyRules(2000)],
  ])('that is %s gives the rules it holds', async (_, text) => {
    const [loaded, read] = [await loadRules(await fileOf(text)), readRules(text)]
    if ('faults' in loaded || 'faults' in read) throw new Error('expected good rules')
    expect(loaded.rules.book).toEqual(read.rules.book)
    expect(loaded.rules.rules).toEqual(read.rules.rules)
    const ask = { subject: { user: 'ada' }, resource: '/v1/things-7' }
    const answers = [loaded, read].map((one) => createLimiter({ rules: one.rules }).checkSync(ask))
    expect(answers[0]!.limit).toBe(answers[1]!.limit)
  })

  it.each([
    ['small', ''],
    ['large', manyRules(2000)],
  ])('that is %s and faulty gives every fault', async (_, before) => {
    const text = `${before === '' ? 'rules:\n' : before}  bad: { limits: 1/x }\ncosts: { /x: 0 }\n`
    expect(await loadRules(await fileOf(text))).toEqual({ ...readRules(text), text })
  })

  it.each([
    ['that is not there', undefined, 'there is no such file'],
    ['that is no text', Buffer.from([0xff, 0xfe, 0x61, 0]), 'the file is not UTF-8 text'],
    ['that is large and no text', Buffer.alloc(100_000, 0xff), 'the file is not UTF-8 text'],
  ])('%s is a fault', async (_, bytes, message) => {
    const path = bytes === undefined ? join(await newFolder(), 'none') : await fileOf(bytes)
    expect(await loadRules(path)).toMatchObject({ faults: [{ line: 1, column: 1, message }] })
  })

  it('lets others have their turn after every hundred rules, where a clock says that time is up', async () => {
    let pauses = 0
    let now = 0
    const pace = {
      now: () => (now += 1000),
      pause: async () => {
        pauses++
      },
    }
    const loaded = await loadRules(await fileOf(manyRules(20_000)), pace)
    expect(loaded).not.toHaveProperty('faults')
    expect(pauses).toBeGreaterThanOrEqual(200)
  })
})
