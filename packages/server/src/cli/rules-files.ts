/** Rules files that a command is given: read, refused with their faults, and written whole. */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { decode } from '../rules-file/decode.js'
import type { RefusedRules } from '../rules-file/load-rules.js'
import { printable, printFaults } from '../rules-file/print-faults.js'
import type { BadRules } from '../rules-file/read-rules.js'
import { STANDARD_FILE } from '../startup-sense.js'
import { CommandError, EXIT } from './exit-codes.js'
import type { Terminal } from './terminal.js'

export const FILE = ['[FILE]', 'sluice.yaml unless given; - is stdin'] as const

export interface RulesSource {
  /** For people. */
  readonly name: string
  readonly isInput: boolean
  readonly bytes: Buffer
}

/** By name, `-` for stdin, the standard one where none is named. */
export async function rulesSources(
  files: readonly string[],
  terminal: Terminal,
): Promise<RulesSource[]> {
  const sources: RulesSource[] = []
  for (const file of files.length === 0 ? [STANDARD_FILE] : files)
    sources.push(
      file === '-'
        ? { name: '<stdin>', isInput: true, bytes: await terminal.input() }
        : { name: file, isInput: false, bytes: await read(file) },
    )
  return sources
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw noSuchFile(file)
    throw new CommandError(`${printable(file)} cannot be read: ${printable(message)}`)
  }
}

function noSuchFile(file: string): CommandError {
  const next = file === STANDARD_FILE ? ' Make one: sluice init' : ''
  return new CommandError(`There is no ${printable(file)} here.${next}`)
}

/** A file's text, and what is made of it; a faulty one ends the command. */
export function readSource<T extends object>(
  { name, bytes }: RulesSource,
  terminal: Terminal,
  readText: (text: string) => T | BadRules,
): { readonly text: string; readonly made: T } {
  const text = decode(bytes)
  if (typeof text !== 'string') throw faultyRules(name, { ...text, text: ' ' }, terminal)
  const made = readText(text)
  if ('faults' in made) throw faultyRules(name, { ...made, text }, terminal)
  return { text, made }
}

/** Every fault at its place, then how many. */
export function faultyRules(
  file: string,
  { text, faults }: RefusedRules,
  { hasColor }: Pick<Terminal, 'hasColor'>,
): CommandError {
  if (text === '' && !existsSync(file)) return noSuchFile(file)
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const printed = printFaults(file, text, faults, { color: hasColor })
  return new CommandError(`${printed}${count}.`, EXIT.invalidRules)
}

/**
 * Writes a file whole or not at all: whoever reads it meanwhile, a server that follows it too, sees the old or
 * the new. Keeps the mode and, where it may, the owner of what was there; behind a link, what it leads to is
 * replaced and the link stays.
 */
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
