/** `sluice rules validate`: everything that is wrong with rules files, each fault at its place. */
import type { Command } from 'commander'
import { rulesOf } from '../rules-file/load-rules.js'
import { printable, printFaults } from '../rules-file/print-faults.js'
import { EXIT, type SetExitCode } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { rulesSources } from './rules-source.js'
import { printTable } from './table.js'
import type { Terminal } from './terminal.js'

export function addValidate(rules: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  rules
    .command('validate')
    .summary('say everything that is wrong with rules files')
    .description('Says everything that is wrong with rules files, and where. Exit 3: something is.')
    .argument('[FILE...]', 'sluice.yaml unless given; - is stdin')
    .action(async (files: string[], _options: object, command: Command) => {
      const { json } = globalsOf(command, terminal)
      const documents: object[] = []
      let count = 0
      for (const { name, bytes } of await rulesSources(files, terminal)) {
        const read = await rulesOf(bytes)
        if ('faults' in read) {
          const { faults, text } = read
          count += faults.length
          documents.push({ file: name, ok: false, faults, warnings: [] })
          if (!json) terminal.say(printFaults(name, text, faults, { color: terminal.hasColor }))
          continue
        }
        const { warnings } = read
        const size = read.rules.size
        documents.push({ file: name, ok: true, rules: size, faults: [], warnings })
        if (json) continue
        const ok = { text: 'ok', style: 'green' } as const
        terminal.out(printTable([[ok, name, size === 1 ? '1 rule' : `${size} rules`]], terminal))
        for (const warning of warnings)
          terminal.say(
            `${terminal.paint('yellow', 'warning')} ${printable(name)}: ${printable(warning)}\n`,
          )
      }
      if (json) terminal.out(`${JSON.stringify({ ok: count === 0, files: documents })}\n`)
      if (count === 0) return
      if (!json) terminal.say(count === 1 ? '1 fault.\n' : `${count} faults.\n`)
      setExitCode(EXIT.invalidRules)
    })
}
