/** `sluice rules export`: a server's rules as a file. */

import type { Command } from 'commander'
import { globalsOf } from './globals.js'
import { printDocument, WITHIN_MS } from './rules-document.js'
import { pathOf, ServerClient } from './server-client.js'
import { printLines } from './table.js'
import type { Terminal } from './terminal.js'

export function addExport(rules: Command, terminal: Terminal): void {
  rules
    .command('export')
    .summary("print a server's rules as a file")
    .description(
      "Prints the server's rules as a rules file, which `sluice rules apply` and `sluice serve --rules` take.",
    )
    .action(async (_options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const client = new ServerClient(globals)
      const { namespace } = globals
      const { body } = await client.ask('GET', pathOf(['document'], { namespace }), {
        withinMs: WITHIN_MS,
      })
      if (globals.json) terminal.out(`${JSON.stringify(body)}\n`)
      else terminal.out(shownOn(terminal, printDocument(body)))
    })
}

/** A file gets every character; a terminal those that it does not act on. */
function shownOn(terminal: Terminal, text: string): string {
  return terminal.outIsTerminal ? printLines(text, terminal, () => null) : text
}
