/** `sluice rules fmt`: rules files in their canonical form, comments and meaning kept. */
import type { Command } from 'commander'
import { decode } from '../rules-file/decode.js'
import { formatRules } from '../rules-file/format-rules.js'
import { printable } from '../rules-file/print-faults.js'
import { EXIT, type SetExitCode } from './exit-codes.js'
import { faultyRules } from './faulty-rules.js'
import { globalsOf } from './globals.js'
import { type RulesSource, rulesSources } from './rules-source.js'
import type { Terminal } from './terminal.js'
import { writeWhole } from './whole-file.js'

interface Formatted extends RulesSource {
  readonly text: string
  readonly isChanged: boolean
}

export function addFmt(rules: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  rules
    .command('fmt')
    .summary('write rules files in their canonical form')
    .description(
      'Writes rules files in their canonical form, in place, and lists those that it changed. Comments and meaning stay. A faulty file stops it before any is written.',
    )
    .argument('[FILE...]', 'sluice.yaml unless given; - is stdin, written to stdout')
    .option('--check', 'write nothing; list what would change. Exit 6: something would')
    .action(async (files: string[], options: { check?: boolean }, command: Command) => {
      const isCheck = options.check === true
      const { json } = globalsOf(command, terminal)
      const sources = await rulesSources(files, terminal)
      const all = sources.map((source) => format(source, terminal))
      const changed = all.filter(({ isChanged }) => isChanged)
      if (!isCheck) {
        for (const { name, text, isInput } of changed) if (!isInput) writeWhole(name, text)
        for (const { text, isInput } of all) if (isInput && !json) terminal.out(text)
      }
      const listed = changed.filter(({ isInput }) => isCheck || !isInput).map(({ name }) => name)
      if (json) terminal.out(`${JSON.stringify({ changed: listed, written: !isCheck })}\n`)
      else for (const name of listed) terminal.out(`${printable(name)}\n`)
      if (!isCheck || changed.length === 0) return
      const count = changed.length === 1 ? '1 file' : `${changed.length} files`
      if (!json) terminal.say(`${count} would change. To write: sluice rules fmt\n`)
      setExitCode(EXIT.no)
    })
}

function format(source: RulesSource, terminal: Terminal): Formatted {
  const { name, bytes } = source
  const text = decode(bytes)
  if (typeof text !== 'string') throw faultyRules(name, { ...text, text: ' ' }, terminal)
  const formatted = formatRules(text)
  if ('faults' in formatted) throw faultyRules(name, { ...formatted, text }, terminal)
  return { ...source, text: formatted.text, isChanged: formatted.text !== text }
}
