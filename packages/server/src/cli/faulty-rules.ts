/** A rules file that is refused, as the end of a command: every fault at its place, then how many. */
import { existsSync } from 'node:fs'
import type { RefusedRules } from '../rules-file/load-rules.js'
import { printable, printFaults } from '../rules-file/print-faults.js'
import { STANDARD_FILE } from '../startup-sense.js'
import { CommandError, EXIT } from './exit-codes.js'
import type { Terminal } from './terminal.js'

export function faultyRules(
  file: string,
  { text, faults }: RefusedRules,
  { hasColor }: Pick<Terminal, 'hasColor'>,
): CommandError {
  if (text === '' && !existsSync(file)) {
    const next = file === STANDARD_FILE ? ' Make one: sluice init' : ''
    return new CommandError(`There is no ${printable(file)} here.${next}`)
  }
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const printed = printFaults(file, text, faults, { color: hasColor })
  return new CommandError(`${printed}${count}.`, EXIT.invalidRules)
}
