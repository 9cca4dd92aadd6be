/** A server that is killed, and two servers that want one folder: real processes. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openCounters } from '../../src/counters/counters.js'
import { BATCH, countedIn } from './counted.js'
import { limiterOver, newFolder, START } from './kept-rules.js'

const here = dirname(fileURLToPath(import.meta.url))
const script = join(here, '../../../../.cache', `deciding-process-${process.pid}.mjs`)

beforeAll(() => {
  buildSync({
    entryPoints: [join(here, 'deciding-process.ts')],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
  })
})
afterAll(() => rmSync(script, { force: true }))

/** Runs until it is killed; `lines` has what it said. */
function start(folder: string, pauseMs = 0): { child: ChildProcess; lines: string[] } {
  const child = spawn(process.execPath, [script, folder, String(pauseMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop()!
    lines.push(...parts)
  })
  return { child, lines }
}

async function said(lines: readonly string[], ...words: string[]): Promise<void> {
  const isSaid = (line: string) => words.some((word) => line.startsWith(word))
  while (!lines.some(isSaid)) await setTimeout(5)
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

const lastOf = (lines: readonly string[], word: string) =>
  Number(lines.findLast((line) => line.startsWith(word))!.split(' ')[1])

describe('a server that is killed', () => {
  it('has kept what it had counted before its last write, and nothing that it had not', async () => {
    for (let round = 0; round < 12; round++) {
      const folder = newFolder()
      const { child, lines } = start(folder, round % 3 === 0 ? 0 : 10)
      await said(lines, 'kept')
      await setTimeout(Math.random() * 250)
      await kill(child)
      const counters = openCounters(folder)
      expect(counters.restored).not.toBeNull()
      const counted = await countedIn(counters.store)
      expect(counted).toBeGreaterThanOrEqual(lastOf(lines, 'kept'))
      expect(counted).toBeLessThanOrEqual(lastOf(lines, 'asked') + BATCH)
      await counters.close()
    }
  })

  it('goes on from there, again and again', async () => {
    const folder = newFolder()
    let counted = 0
    for (let round = 0; round < 5; round++) {
      const { child, lines } = start(folder)
      await said(lines, 'kept')
      await setTimeout(Math.random() * 100)
      await kill(child)
      const counters = openCounters(folder)
      const now = await countedIn(counters.store)
      expect(now).toBeGreaterThanOrEqual(counted + lastOf(lines, 'kept'))
      counted = now
      await counters.close()
    }
  })
})

describe('two servers and one folder', () => {
  it('the second is told who has it, and gets it once the first was killed', async () => {
    const folder = newFolder()
    const { child, lines } = start(folder)
    await said(lines, 'open')
    expect(() => openCounters(folder)).toThrow(`The folder ${folder} is in use by pid ${child.pid}`)
    await kill(child)
    const counters = openCounters(folder)
    expect(() => openCounters(folder)).toThrow(`in use by pid ${process.pid}`)
    await counters.close()
    await openCounters(folder).close()
    expect(existsSync(join(folder, 'lock'))).toBe(false)
  })

  it('of many that want what a killed one left, one gets it', async () => {
    for (let round = 0; round < 3; round++) {
      const folder = newFolder()
      const first = start(folder)
      await said(first.lines, 'open')
      await kill(first.child)
      const others = Array.from({ length: 4 }, () => start(folder, 50))
      await Promise.all(others.map(({ lines }) => said(lines, 'open', 'refused')))
      expect(others.filter(({ lines }) => lines.includes('open'))).toHaveLength(1)
      await Promise.all(others.map(({ child }) => kill(child)))
    }
  })

  it('a lock from another machine is honoured while it is refreshed', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    const lock = join(folder, 'lock')
    writeFileSync(lock, JSON.stringify({ pid: 1, began: '5', where: 'elsewhere x', id: 'a' }))
    expect(() => openCounters(folder)).toThrow('in use by pid 1 on elsewhere')
    execFileSync('touch', ['-d', '1 minute ago', lock])
    await openCounters(folder).close()
  })
})

describe('a disk that is full', () => {
  it('is lived through, and written to again when there is room', async ({ skip }) => {
    const folder = newFolder()
    mkdirSync(folder)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder], {
        stdio: 'ignore',
      })
    } catch {
      skip('a small disk needs the right to mount one')
    }
    onTestFinished(() => void execFileSync('umount', ['-l', folder]))
    const troubles: unknown[] = []
    const onTrouble = (trouble: Error | null) => troubles.push(trouble)
    const counters = openCounters(folder, { intervalMs: 10, onTrouble, now: () => START })
    const limiter = limiterOver(counters.store)
    await counters.flush()
    for (let i = 0; i < 3000; i++) limiter.checkSync({ subject: { user: `u${i}` } })
    while (troubles.length === 0) await setTimeout(5)
    expect(troubles).toMatchObject([{ code: 'ENOSPC' }])
    expect(limiter.checkSync({ subject: { user: 'later' } }).allowed).toBe(true)
    execFileSync('mount', ['-o', 'remount,size=64m', folder])
    while (troubles.length === 1) await setTimeout(5)
    expect(troubles[1]).toBeNull()
    await counters.close()
    const again = openCounters(folder, { now: () => START })
    expect(again.restored?.keys).toBe(3001)
    await again.close()
  })
})
