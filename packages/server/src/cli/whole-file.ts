/** Writes a file whole or not at all: whoever reads it meanwhile, a server that follows it too, sees the old or the new. */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Keeps the mode and, where it may, the owner of what was there; behind a link, what it leads to is replaced and the link stays. */
export function writeWhole(file: string, text: string): void {
  const target = realpathSync(file)
  const { mode, uid, gid } = statSync(target)
  const aside = join(dirname(target), `.sluice-${randomUUID()}`)
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true })
    giveTo(aside, uid, gid)
    chmodSync(aside, mode & 0o7777)
    renameSync(aside, target)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
}

/** An administrator's change must not take a file away from the server that reads it. */
function giveTo(file: string, uid: number, gid: number): void {
  const own = statSync(file)
  if (own.uid === uid && own.gid === gid) return
  try {
    chownSync(file, uid, gid)
  } catch {
    // Only an administrator may.
  }
}
