/** The tree of commands. */
import { Command } from 'commander'
import { VERSION } from '../version.js'
import { addServe } from './serve-command.js'
import type { Terminal } from './terminal.js'

export function programOf(terminal: Terminal): Command {
  const program = new Command('sluice')
    .description('Decides, for every request an API receives, whether it may pass now.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.say(text),
    })
  addServe(program, terminal)
  return program
}
