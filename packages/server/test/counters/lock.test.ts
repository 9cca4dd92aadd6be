/** The lock of a folder: whose it is, and who may take it over. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openCounters } from '../../src/counters/counters.js'
import { newFolder, START } from './kept-rules.js'

const BY_HAND = { intervalMs: 3_600_000, now: () => START }

interface Owner {
  readonly pid: number
  readonly began: string
}

/** A folder with the lock of another owner, otherwise as this process writes it. */
async function lockedBy(owner: Partial<Owner>): Promise<string> {
  const folder = newFolder()
  const counters = openCounters(folder, BY_HAND)
  const own = JSON.parse(readFileSync(join(folder, 'lock'), 'utf8')) as Owner
  await counters.close()
  writeFileSync(join(folder, 'lock'), JSON.stringify({ ...own, ...owner }))
  return folder
}

/** When a process began, as its machine counts. */
function beganOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!
}

it('of a process that is alive is honoured', async () => {
  const folder = await lockedBy({ pid: process.ppid, began: beganOf(process.ppid) })
  expect(() => openCounters(folder, BY_HAND)).toThrow(`in use by pid ${process.ppid}`)
})

it('of a process that ended is taken over, though another one has its number', async () => {
  const folder = await lockedBy({ pid: process.ppid, began: 'before' })
  await openCounters(folder, BY_HAND).close()
})

it('of a process that ended is taken over, though its parent does not know yet', async () => {
  const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'])
  onTestFinished(() => void parent.kill())
  const [said] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(said.toString())
  while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await new Promise(setImmediate)
  const folder = await lockedBy({ pid, began: beganOf(pid) })
  await openCounters(folder, BY_HAND).close()
})

it('is refreshed with each write', async () => {
  const folder = newFolder()
  const counters = openCounters(folder, BY_HAND)
  const lock = join(folder, 'lock')
  utimesSync(lock, 1, 1)
  await counters.flush()
  expect(statSync(lock).mtimeMs).toBeGreaterThan(Date.now() - 60_000)
  await counters.close()
  expect(existsSync(lock)).toBe(false)
})

it('that another server has taken over stays when this one closes', async () => {
  const folder = newFolder()
  const counters = openCounters(folder, BY_HAND)
  const another = JSON.stringify({ pid: process.ppid, began: '', where: 'another', id: 'x' })
  writeFileSync(join(folder, 'lock'), another)
  await counters.close()
  expect(readFileSync(join(folder, 'lock'), 'utf8')).toBe(another)
})
