/** Asks back before something is changed. */
import { UsageError } from '../config.js'
import { CommandError } from './exit-codes.js'
import type { Globals } from './globals.js'
import type { Terminal } from './terminal.js'

/** Ends the command where the answer is no; a pipe cannot be asked, so it must say so beforehand. */
export async function confirm(
  question: string,
  { yes, input }: Globals,
  terminal: Terminal,
): Promise<void> {
  if (yes) return
  if (!terminal.inIsTerminal || !terminal.sayIsTerminal || !input)
    throw new UsageError('nobody can be asked here; --yes does it without asking')
  terminal.say(`${question} [y/N] `)
  const answer = await terminal.line()
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('Nothing was changed.')
}
