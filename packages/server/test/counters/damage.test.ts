/** A file of counters torn or damaged anywhere: it opens, and says what some completed write said. */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore } from '@sluice/limiter'
import { beforeEach, describe, expect, it } from 'vitest'
import { CounterFiles } from '../../src/counters/counter-files.js'
import { openCounters } from '../../src/counters/counters.js'
import { restore } from '../../src/counters/restore.js'
import { limiterOver, newFolder, remainingOf, START } from './kept-rules.js'

let folder = ''
beforeEach(() => {
  folder = newFolder()
})

const BY_HAND = { intervalMs: 3_600_000, now: () => START }

/** A file after a whole state and several changes, and what was left after each. */
async function written(): Promise<{ bytes: Buffer; states: string[] }> {
  const counters = openCounters(folder, BY_HAND)
  const limiter = limiterOver(counters.store)
  const states: string[] = []
  for (let i = 0; i < 4; i++) {
    limiter.checkSync({ subject: { user: `u${i}`, org: 'o1' } })
    if (i === 2) await limiter.reset({ org: 'o1' })
    await counters.flush()
    states.push(await remainingOf(counters.store))
  }
  expect(new Set(states).size).toBe(4)
  const bytes = readFileSync(join(folder, 'counters-000001.log'))
  await counters.close()
  return { bytes, states }
}

const TITLE_BYTES = 'sluice counters 1\n'.length

/** The groups of a file: frames up to one that ends a group. */
function groupsOf(bytes: Buffer): Buffer[] {
  const groups: Buffer[] = []
  let start = TITLE_BYTES
  for (let at = start; at < bytes.length; ) {
    const isEnd = bytes[at + 4] === 1
    at += 9 + bytes.readUInt32BE(at)
    if (!isEnd) continue
    groups.push(bytes.subarray(start, at))
    start = at
  }
  return groups
}

/** A group without its last frame, by which it counts. */
function withoutEnd(group: Buffer): Buffer {
  let end = 0
  for (let at = 0; at < group.length; at += 9 + group.readUInt32BE(at)) end = at
  return group.subarray(0, end)
}

async function opened(bytes: Buffer): Promise<{ state: string | null; lines: string[] }> {
  const lines: string[] = []
  const path = join(folder, 'counters-000001.log')
  writeFileSync(path, bytes)
  const store = memoryStore()
  const restored = restore(store, new CounterFiles(folder), START, (line) => lines.push(line))
  if (restored !== null) return { state: await remainingOf(store), lines }
  expect(store.size.keys).toBe(0)
  expect(existsSync(`${path}.damaged`)).toBe(true)
  return { state: null, lines }
}

describe('a file of counters', () => {
  it('cut at any byte says what the last whole write said', async () => {
    const { bytes, states } = await written()
    let furthest = -1
    for (let length = 0; length <= bytes.length; length++) {
      const { state, lines } = await opened(bytes.subarray(0, length))
      const index = state === null ? -1 : states.indexOf(state)
      expect(index, `cut at ${length}`).toBeGreaterThanOrEqual(furthest)
      expect(state === null || index >= 0).toBe(true)
      furthest = index
      if (state === null) expect(lines.join()).toMatch(/set aside.*NO COUNTERS COULD BE READ/)
    }
    expect(furthest).toBe(states.length - 1)
  })

  it('with any bit changed says what some whole write said', async () => {
    const { bytes, states } = await written()
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes)
      damaged[at]! ^= 1 << (at % 8)
      const { state, lines } = await opened(damaged)
      if (state !== null) expect(states).toContain(state)
      expect(state).not.toBe(states.at(-1))
      expect(lines.length).toBeGreaterThan(0)
    }
  })

  it('with a group damaged, cut, missing, doubled or moved says what was written before it', async () => {
    const { bytes, states } = await written()
    const groups = groupsOf(bytes)
    const title = bytes.subarray(0, TITLE_BYTES)
    const [first, second, third, fourth] = groups as [Buffer, Buffer, Buffer, Buffer]
    for (const [kept, parts] of [
      [0, [first, third, fourth]],
      [0, [first, third, second, fourth]],
      [1, [first, second, second, third, fourth]],
      [1, [first, second, fourth]],
    ] as const) {
      const { state } = await opened(Buffer.concat([title, ...parts]))
      expect(state).toBe(states[kept])
    }
    const damaged = Buffer.from(second)
    damaged[100]! ^= 1
    for (const broken of [damaged, withoutEnd(second)]) {
      const { state } = await opened(Buffer.concat([title, first, broken]))
      expect(state).toBe(states[0])
    }
    // The whole state is gone: nothing of the file is believed.
    expect((await opened(Buffer.concat([title, second, third]))).state).toBeNull()
  })

  it('that is damaged is set aside for the one before', async () => {
    const first = openCounters(folder, BY_HAND)
    limiterOver(first.store).checkSync({ subject: { user: 'u1' } })
    await first.close()
    const before = await remainingOf(first.store)
    const second = openCounters(folder, BY_HAND)
    limiterOver(second.store).checkSync({ subject: { user: 'u2' } })
    await second.close()
    const path = join(folder, 'counters-000002.log')
    const bytes = readFileSync(path)
    bytes[100]! ^= 4
    writeFileSync(path, bytes)
    cpSync(path, join(folder, 'counters-000003.log.part'))
    const lines: string[] = []
    const third = openCounters(folder, { ...BY_HAND, log: (line) => lines.push(line) })
    expect(third.restored?.from).toBe('counters-000001.log')
    expect(await remainingOf(third.store)).toBe(before)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/counters-000002.log is damaged .* set aside/)
    await third.close()
    expect(readdirSync(folder).sort()).toEqual([
      'counters-000001.log',
      'counters-000002.log',
      'counters-000002.log.damaged',
    ])
  })
})
