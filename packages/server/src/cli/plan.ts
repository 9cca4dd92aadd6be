/** A plan in lines: what comes, goes and changes, and what becomes of the counters. */
import type { PlannedChange } from './rules-document.js'
import { type Cell, printTable } from './table.js'
import type { Style, Terminal } from './terminal.js'

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

export function countChanges(changes: readonly PlannedChange[]): string {
  return changes.length === 1 ? '1 change' : `${changes.length} changes`
}
