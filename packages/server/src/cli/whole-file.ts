/** Writes a file whole or not at all: whoever reads it meanwhile, a server that follows it too, sees the old or the new. */
import { randomUUID } from 'node:crypto'
import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Keeps the mode of what was there; behind a link, what it leads to is replaced and the link stays. */
export function writeWhole(file: string, text: string): void {
  const target = realpathSync(file)
  const { mode } = statSync(target)
  const aside = join(dirname(target), `.sluice-${randomUUID()}`)
  try {
    writeFileSync(aside, text, { mode: mode & 0o7777, flag: 'wx', flush: true })
    renameSync(aside, target)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
}
