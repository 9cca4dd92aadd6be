/** `sluice help`: of a command what it takes, of an error code what it means and what to do. */
import { ERROR_CODES, LIBRARY_REMEDIES } from '@sluice/contract'
import { ERROR_CODES as LIBRARY_CODES } from '@sluice/limiter'
import { nearest, quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../../config.js'
import { printable } from '../../rules-file/print-faults.js'
import { command } from '../command.js'

interface Known {
  readonly meaning: string
  /** Null: it is thrown by the library, never sent. */
  readonly status: number | null
  readonly remedy: string
  readonly retryable?: true
}

export const help = command('help', {
  summary: 'what a command or an error code means',
  description: 'Says what a command takes, or what an error code means and what to do.',
  arguments: [['[command|code...]', '']],
  run: ({ args: [words], terminal, command: { parent } }) => {
    const program = parent!
    const found = commandAt(program, words)
    if (found !== null) {
      found.outputHelp()
      return undefined
    }
    const code = words.join(' ')
    const known = codes().get(code)
    if (known === undefined) throw unknown(code, program)
    const { status, meaning, remedy, retryable = false } = known
    const where = status === null ? 'thrown by the library' : `HTTP ${status}`
    const head = `${terminal.paintData('bold', code)}  ${where}\n  ${meaning}\n`
    const action = `  ${terminal.paintData('cyan', 'do:')} ${remedy}\n`
    const again = retryable ? '  retryable: certainly nothing was done, it may be sent again\n' : ''
    return { json: { code, ...known }, data: head + action + again }
  },
})

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
  const remedies: Readonly<Record<string, string>> = LIBRARY_REMEDIES
  for (const [code, meaning] of Object.entries(LIBRARY_CODES))
    all.set(code, { status: null, meaning, remedy: remedies[code] ?? '' })
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
