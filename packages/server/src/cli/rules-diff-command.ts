/** `sluice rules diff`: a rules file and a server's rules, line by line. */
import type { Command } from 'commander'
import { EXIT, type SetExitCode } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { canonicalDocument, printDocument, readDocument, servedDocument } from './rules-document.js'
import { ServerClient } from './server-client.js'
import { printLines } from './table.js'
import type { Style, Terminal } from './terminal.js'
import { unifiedDiff } from './unified-diff.js'

export function addDiff(rules: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  rules
    .command('diff')
    .summary("compare a rules file with a server's rules")
    .description(
      "Compares the server's rules with this file, line by line, both in their canonical form. Exit 6: they differ.",
    )
    .argument('[FILE]', 'sluice.yaml unless given; - is stdin')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const globals = globalsOf(command, terminal)
      const wanted = await readDocument(file, globals, terminal)
      const client = new ServerClient(globals)
      const { document } = await servedDocument(client, wanted.namespace)
      const namespace = document.namespace ?? wanted.namespace ?? 'default'
      const diff = unifiedDiff(
        { name: client.name, text: printDocument(await canonicalDocument(document, namespace)) },
        {
          name: wanted.name,
          text: printDocument(await canonicalDocument(wanted.document, namespace)),
        },
      )
      const differs = diff !== ''
      if (globals.json) terminal.out(`${JSON.stringify({ differs, diff })}\n`)
      else terminal.out(printLines(diff, terminal, styleOf))
      if (differs) setExitCode(EXIT.no)
      else if (!globals.json) terminal.say('They are the same.\n')
    })
}

function styleOf(line: string): Style | null {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : null
}
