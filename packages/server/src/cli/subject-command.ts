/** `sluice subject`: what holds for one subject, and what is changed for it alone. */
import type { Command } from 'commander'
import type { SetExitCode } from './exit-codes.js'
import { addOverride, addReset, addTier } from './subject-change-commands.js'
import { addListing } from './subject-listing-commands.js'
import { addShow } from './subject-show-command.js'
import type { Terminal } from './terminal.js'

export function addSubject(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  const subject = program
    .command('subject')
    .summary('see and change what holds for one subject')
    .description('Shows what holds for one subject, and changes it for that one alone.')
    .helpCommand(false)
  addShow(subject, terminal)
  addTier(subject, terminal)
  addOverride(subject, terminal)
  addListing(subject, 'block', terminal, setExitCode)
  addListing(subject, 'exempt', terminal, setExitCode)
  addReset(subject, terminal)
}
