/** The counters of the newest file that can be believed; a damaged one is set aside, and the one before used. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import type { MemoryStore } from '@sluice/limiter'
import { StoreState } from '@sluice/limiter/state'
import type { CounterFiles } from './counter-files.js'
import { findWholeGroups, readPieces } from './counter-log.js'

export interface Restored {
  readonly keys: number
  /** How long before now the counters were as they are. */
  readonly ageMs: number
  /** The file's name. */
  readonly from: string
}

/** Into a store that was not used yet; null where there is nothing that can be read. */
export function restore(
  store: MemoryStore,
  files: CounterFiles,
  now: number,
  log: (line: string) => void,
): Restored | null {
  const { numbers } = files
  for (const number of numbers) {
    const name = files.nameOf(number)
    try {
      const { takenAtMs, left } = read(store, files.pathOf(number))
      if (left > 0) log(`${name}: the last ${left} bytes are torn or damaged and were left out`)
      return { keys: store.size.keys, ageMs: Math.max(0, now - takenAtMs), from: name }
    } catch (error) {
      if (isAboutTheDisk(error)) throw error
      const aside = files.setAside(number)
      log(`${name} is damaged (${(error as Error).message}): set aside as ${aside}`)
    }
  }
  if (numbers.length > 0)
    log('NO COUNTERS COULD BE READ: every counter starts at zero, and limits may be exceeded once')
  return null
}

function read(store: MemoryStore, path: string): { takenAtMs: number; left: number } {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const found = findWholeGroups(file, size)
    if (found === null) throw new Error('not one whole state is in it')
    new StoreState(store).import(readPieces(file, found.end))
    return { takenAtMs: found.takenAtMs, left: size - found.end }
  } finally {
    closeSync(file)
  }
}

/** A file that may not be opened is not damaged. What cannot be read from the disk's surface (EIO) is. */
function isAboutTheDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return ['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(code ?? '')
}
