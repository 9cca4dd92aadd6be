/** `sluice help`: of a command what it takes, of an error code what it means and what to do. */
import { ERROR_CODES } from '@sluice/contract'
import { ERROR_CODES as LIBRARY_CODES } from '@sluice/limiter'
import { nearest, quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import { globalsOf } from './globals.js'
import type { Terminal } from './terminal.js'

interface Known {
  readonly meaning: string
  /** Null: it is thrown by the library, never sent. */
  readonly status: number | null
  readonly remedy: string | null
}

export function addHelp(program: Command, terminal: Terminal): void {
  program
    .command('help')
    .summary('what a command or an error code means')
    .description('Says what a command takes, or what an error code means and what to do.')
    .argument('[command|code...]')
    .action((words: string[], _options: object, command: Command) => {
      const found = commandAt(program, words)
      if (found !== null) return found.outputHelp()
      const [code = ''] = words
      const known = codes().get(words.join(' '))
      if (known === undefined) throw unknown(words.join(' '), program)
      if (globalsOf(command, terminal).json)
        return terminal.out(`${JSON.stringify({ code, ...known })}\n`)
      const { status, meaning, remedy } = known
      const where = status === null ? 'thrown by the library' : `HTTP ${status}`
      terminal.out(`${terminal.paintData('bold', code)}  ${where}\n  ${meaning}\n`)
      if (remedy !== null) terminal.out(`  ${terminal.paintData('cyan', 'do:')} ${remedy}\n`)
    })
}

function commandAt(program: Command, words: readonly string[]): Command | null {
  let at: Command | undefined = program
  for (const word of words) {
    at = at.commands.find((one) => one.name() === word)
    if (at === undefined) return null
  }
  return at
}

function codes(): Map<string, Known> {
  const all = new Map<string, Known>()
  for (const [code, meaning] of Object.entries(LIBRARY_CODES))
    all.set(code, { status: null, meaning, remedy: null })
  for (const [code, known] of Object.entries(ERROR_CODES)) all.set(code, known)
  return all
}

function unknown(words: string, program: Command): UsageError {
  const known = [...codes().keys(), ...program.commands.map((command) => command.name())]
  const near = nearest(words, known)
  const guess = near === undefined ? '' : ` Did you mean ${near}?`
  return new UsageError(
    `No command or error code is called ${printable(quote(words))}.${guess}\nError codes: ${[...codes().keys()].join(', ')}`,
  )
}
