/** The rules files that a command is given: by name, `-` for stdin, the standard one where none is named. */
import { readFile } from 'node:fs/promises'
import { printable } from '../rules-file/print-faults.js'
import { STANDARD_FILE } from '../startup-sense.js'
import { CommandError } from './exit-codes.js'
import type { Terminal } from './terminal.js'

export interface RulesSource {
  /** For people. */
  readonly name: string
  readonly isInput: boolean
  readonly bytes: Buffer
}

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
    const name = printable(file)
    if (code !== 'ENOENT') throw new CommandError(`${name} cannot be read: ${printable(message)}`)
    const next = file === STANDARD_FILE ? ' Make one: sluice init' : ''
    throw new CommandError(`There is no ${name} here.${next}`)
  }
}
