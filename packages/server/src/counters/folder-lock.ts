/**
 * One server for each folder. The lock is a file that says who has it: which process of which machine,
 * and when that process began, because process numbers come again (in a container it is always 1). Who
 * was killed leaves his lock behind: where that process can be looked for, its lock is taken over at
 * once; from another machine or container only when it has not been refreshed for a while.
 */
import { randomUUID } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { CountersError } from './counters-error.js'

/** A lock from elsewhere that was not refreshed for this long belongs to nobody. */
const FORGOTTEN_MS = 10_000

interface Owner {
  readonly pid: number
  /** When the process began, as its machine counts; empty where that cannot be asked. */
  readonly began: string
  /** Machine and process numbers' space. */
  readonly where: string
  readonly id: string
}

const heldHere = new Set<string>()

export class FolderLock {
  readonly #path: string
  readonly #text: string

  /** Throws `in_use` where another server has the folder. */
  constructor(folder: string) {
    this.#path = join(resolve(folder), 'lock')
    const owner: Owner = {
      pid: process.pid,
      began: beganOf('self'),
      where: where(),
      id: randomUUID(),
    }
    this.#text = JSON.stringify(owner)
    this.#hold(folder)
  }

  #hold(folder: string): void {
    const aside = `${this.#path}.${randomUUID()}`
    writeFileSync(aside, this.#text, { mode: 0o600, flag: 'wx' })
    try {
      while (!this.#take(aside)) this.#removeStale(folder)
    } finally {
      rmSync(aside, { force: true })
    }
    heldHere.add(this.#path)
  }

  /** A link is made whole or not at all: nobody reads half a lock. */
  #take(aside: string): boolean {
    try {
      linkSync(aside, this.#path)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  }

  #removeStale(folder: string): void {
    const found = read(this.#path)
    if (found === null) return
    if (!isStale(found, this.#path))
      throw new CountersError('in_use', `The folder ${folder} is in use by ${nameOf(found.owner)}`)
    const gone = `${this.#path}.${randomUUID()}`
    try {
      renameSync(this.#path, gone)
    } catch {
      return
    }
    // Another server may have taken it over in between: then it gets it back.
    if (read(gone)?.text !== found.text) this.#take(gone)
    rmSync(gone, { force: true })
  }

  /**
   * Says that it is still held. Where the lock is gone, and maybe the folder with it, it is taken again,
   * and the answer is false.
   */
  async refresh(folder: string, now: number): Promise<boolean> {
    try {
      await utimes(this.#path, now / 1000, now / 1000)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      this.#hold(folder)
      return false
    }
  }

  release(): void {
    heldHere.delete(this.#path)
    if (read(this.#path)?.text === this.#text) rmSync(this.#path, { force: true })
  }
}

interface Found {
  readonly text: string
  readonly owner: Owner | null
  readonly refreshedAt: number
}

function read(path: string): Found | null {
  let text: string
  let refreshedAt: number
  try {
    text = readFileSync(path, 'utf8')
    refreshedAt = statSync(path).mtimeMs
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return { text, owner: JSON.parse(text) as Owner, refreshedAt }
  } catch {
    return { text, owner: null, refreshedAt }
  }
}

function isStale({ owner, refreshedAt }: Found, path: string): boolean {
  if (owner === null || owner.where !== where()) return Date.now() - refreshedAt > FORGOTTEN_MS
  if (owner.pid === process.pid && owner.began === beganOf('self')) return !heldHere.has(path)
  if (!isAlive(owner.pid)) return true
  return owner.began !== '' && owner.began !== beganOf(owner.pid)
}

/** One that has ended and is only not yet buried by its parent is not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !['Z', 'X'].includes(fieldsOf(pid)[0] ?? '')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When it began: the 22nd field of Linux's account of a process. */
function beganOf(pid: number | 'self'): string {
  return fieldsOf(pid)[19] ?? ''
}

/** From the third field on, the state: the second, its name, may have anything in it. */
function fieldsOf(pid: number | 'self'): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

function where(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

function nameOf(owner: Owner | null): string {
  if (owner === null) return 'another server'
  const host = owner.where.split(' ')[0]
  return owner.where === where() ? `pid ${owner.pid}` : `pid ${owner.pid} on ${host}`
}

/** Who has a folder, for people; null: nobody, or whoever had it is gone. */
export function lockHolder(folder: string): string | null {
  const path = join(resolve(folder), 'lock')
  const found = read(path)
  return found === null || isStale(found, path) ? null : nameOf(found.owner)
}
