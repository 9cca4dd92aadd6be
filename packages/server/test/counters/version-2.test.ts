/**
 * `version-2/counters-000001.log.gz` is a file that the release before wrote: a whole state and two changes
 * after it, with a log, holds, refunds, and rules whose limits changed meanwhile.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createLimiter, type MemoryStore } from '@sluice/limiter'
import { expect, it } from 'vitest'
import { openCounters } from '../../src/counters/counters.js'
import { newFolder, START } from './kept-rules.js'

const RULES = {
  many: { scope: 'user', limits: ['20/h exact', '3 concurrent for 10m', '7/min'] },
  narrow: { scope: 'user', additive: true, limits: ['20/h', '30/d'] },
  tiered: { scope: 'org', limits: ['10/h', '30/d fixed'], tiers: { pro: '50/h' } },
  flood: { scope: 'ip', resource: '/flood', limits: '9/h' },
  flooded: {
    scope: 'ip',
    resource: '/flood',
    additive: true,
    limits: ['500/d fixed', '9/h', '800/d'],
  },
} as const

/** What that release said when it read the file itself. */
const SAID = [
  '17 0 6 17 29 2 29',
  '20 3 7 20 30 3 29',
  '18 1 7 17 30 5 29',
  '17 0 7 17 30 3 29',
  '17 0 7 17 29 5 30',
  '17 0 7 17 29 2 29',
  '18 0 6 18 29 3 29',
  '17 0 6 17 29 5 29',
]

/** What is left of every limit of a few users. */
async function remainingOf(store: MemoryStore): Promise<string[]> {
  const limiter = createLimiter({ rules: RULES, store, clock: () => START + 1000 })
  const left: string[] = []
  for (let i = 0; i < 8; i++) {
    const { limits } = await limiter.peek({ subject: { user: `u${i}`, org: `o${i % 5}` } })
    left.push(limits.map(({ remaining }) => remaining).join(' '))
  }
  return left
}

it('counters of the release before are read, and written in this one’s version', async () => {
  const folder = newFolder()
  mkdirSync(folder)
  const fixture = new URL('version-2/counters-000001.log.gz', import.meta.url)
  writeFileSync(join(folder, 'counters-000001.log'), gunzipSync(readFileSync(fixture)))
  const lines: string[] = []
  for (const from of ['counters-000001.log', 'counters-000002.log']) {
    const counters = openCounters(folder, {
      intervalMs: 3_600_000,
      now: () => START + 1000,
      store: { maxKeys: 120 },
      log: (line) => lines.push(line),
    })
    expect(counters.restored?.from).toBe(from)
    expect(await remainingOf(counters.store)).toEqual(SAID)
    await counters.close()
  }
  expect(lines).toEqual([])
})
