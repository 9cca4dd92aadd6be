/** `sluice rules plan`, `diff`, `apply` and `export`: whole sets of rules, between files and a server. */
import { printable } from '../../rules-file/print-faults.js'
import { command } from '../command.js'
import { EXIT } from '../exit-codes.js'
import type { Globals } from '../globals.js'
import type { AnswerOf } from '../operation.js'
import {
  canonicalDocument,
  printDocument,
  putDocument,
  readDocument,
  servedDocument,
  WITHIN_MS,
} from '../rules-document.js'
import { FILE } from '../rules-files.js'
import { type Cell, printLines, printTable } from '../table.js'
import type { Style, Terminal } from '../terminal.js'
import { unifiedDiff } from '../unified-diff.js'

export const plan = command('plan', {
  operation: 'applyDocument',
  also: ['getDocument'],
  summary: 'say what applying a rules file would change',
  description:
    'Says what would change on the server if this file were applied, and whether what subjects have used carries over. Changes nothing. Exit 6: something would change.',
  arguments: [FILE],
  run: async ({ args: [file], client, globals, terminal }) => {
    const wanted = await readDocument(file, globals, terminal)
    const { etag } = await servedDocument(client, wanted.namespace)
    const planned = await putDocument(client, wanted, etag, true)
    const { changes } = planned
    sayWarnings(planned, globals, terminal)
    if (changes.length === 0) return { json: planned, words: 'Nothing would change.' }
    const words = `${countChanges(changes)}. To apply: sluice rules apply ${wanted.name}`
    return { json: planned, data: printPlan(changes, terminal), words, exit: EXIT.no }
  },
})

export const diff = command('diff', {
  operation: 'getDocument',
  summary: "compare a rules file with a server's rules",
  description:
    "Compares the server's rules with this file, line by line, both in their canonical form. Exit 6: they differ.",
  arguments: [FILE],
  run: async ({ args: [file], client, globals, terminal }) => {
    const wanted = await readDocument(file, globals, terminal)
    const { document } = await servedDocument(client, wanted.namespace)
    const namespace = document.namespace ?? wanted.namespace ?? 'default'
    const textOf = async (one: typeof document) =>
      printDocument(await canonicalDocument(one, namespace))
    const changes = unifiedDiff(
      { name: client.name, text: await textOf(document) },
      { name: wanted.name, text: await textOf(wanted.document) },
    )
    const json = { differs: changes !== '', diff: changes }
    if (!json.differs) return { json, words: 'They are the same.' }
    return { json, data: printLines(changes, terminal, styleOf), exit: EXIT.no }
  },
})

function styleOf(line: string): Style | null {
  if (line.startsWith('+')) return 'green'
  if (line.startsWith('-')) return 'red'
  return line.startsWith('@@') ? 'cyan' : null
}

export const apply = command('apply', {
  operation: 'applyDocument',
  also: ['getDocument'],
  summary: "make a server's rules those of a file",
  description:
    "Makes the server's rules those of this file, all or nothing: what the file does not have is taken away. Shows the plan first and asks; --yes does not ask. Somebody else's change in between is never overwritten.",
  arguments: [FILE],
  run: async ({ args: [file], client, globals, terminal, show, confirm }) => {
    const wanted = await readDocument(file, globals, terminal)
    const { etag } = await servedDocument(client, wanted.namespace)
    const planned = await putDocument(client, wanted, etag, true)
    sayWarnings(planned, globals, terminal)
    if (planned.changes.length === 0) return { json: planned, words: 'Nothing to change.' }
    show({ data: printPlan(planned.changes, terminal) })
    await confirm(`Apply ${countChanges(planned.changes)} to ${client.name}?`)
    const applied = await putDocument(client, wanted, etag, false)
    const words = `Applied ${countChanges(applied.changes)}: revision ${applied.revision}.`
    return { json: applied, words }
  },
})

/** What the server accepts and thinks is probably not meant. */
function sayWarnings(
  { warnings = [] }: AnswerOf<'applyDocument'>,
  { json }: Globals,
  terminal: Terminal,
): void {
  const head = terminal.paint('yellow', 'warning')
  for (const { field, message } of json ? [] : warnings)
    terminal.say(`${head} ${printable(field)} ${printable(message)}\n`)
}

export const exported = command('export', {
  operation: 'getDocument',
  summary: "print a server's rules as a file",
  description:
    "Prints the server's rules as a rules file, which `sluice rules apply` and `sluice serve --rules` take.",
  ask: () => ({ withinMs: WITHIN_MS }),
  show: (document, { terminal }) => {
    const text = printDocument(document)
    // A file gets every character; a terminal those that it does not act on.
    return { data: terminal.outIsTerminal ? printLines(text, terminal, () => null) : text }
  },
})

export type PlannedChange = AnswerOf<'applyDocument'>['changes'][number]

const MARKS: Readonly<Record<string, { readonly text: string; readonly style: Style }>> = {
  added: { text: '+', style: 'green' },
  removed: { text: '-', style: 'red' },
  changed: { text: '~', style: 'yellow' },
}
const ANEW = { text: '!', style: 'red' } as const

/** ```
 * ~ per-user  10/s -> 5/s  use carries over
 * ``` */
export function printPlan(changes: readonly PlannedChange[], terminal: Terminal): string {
  const ordered = changes.toSorted((a, b) => rankOf(a) - rankOf(b))
  const lines = ordered.map(lineOf)
  if (!terminal.outIsTerminal) return printTable(lines, terminal)
  const joined = lines.map(([mark, name, ...rest]): Cell[] => [
    { text: `${mark.text} ${name}`, style: mark.style },
    ...rest,
  ])
  return printTable(joined, terminal)
}

const ORDER = ['changed', 'added', 'removed']

/** Rules first, and of each kind what changes, what comes, what goes. */
function rankOf({ what, change }: PlannedChange): number {
  return (what === 'rule' ? 0 : ORDER.length) + ORDER.indexOf(change)
}

type PlanLine = [mark: { readonly text: string; readonly style: Style }, name: string, ...Cell[]]

function lineOf(planned: PlannedChange): PlanLine {
  const { what, name, change, before, after, counters } = planned
  const isAnew = counters === 'start anew'
  const mark = isAnew ? ANEW : (MARKS[change] ?? { text: '~', style: 'yellow' as const })
  const shown = what === 'rule' || what === name ? name : `${what} ${name}`
  const text = change === 'changed' ? `${before} -> ${after}` : (after ?? before ?? '')
  const effect = isAnew
    ? 'new counter, all start unused'
    : counters === 'carry over'
      ? 'use carries over'
      : ''
  return effect === '' ? [mark, shown, text] : [mark, shown, text, effect]
}

function countChanges(changes: readonly PlannedChange[]): string {
  return changes.length === 1 ? '1 change' : `${changes.length} changes`
}
