/**
 * Rows of data: columns under each other where somebody looks, tabs in a pipe. Cells come from servers
 * and files, so what a terminal would act on is escaped here.
 */
import { printable } from '../rules-file/print-faults.js'
import type { Style, Terminal } from './terminal.js'

interface PaintedCell {
  readonly text: string
  readonly style: Style
}

export type Cell = string | PaintedCell

export interface TableOptions {
  /** Before each line on a terminal. */
  readonly indent?: string
}

export function printTable(
  rows: readonly (readonly Cell[])[],
  terminal: Pick<Terminal, 'outIsTerminal' | 'paintData'>,
  { indent = '' }: TableOptions = {},
): string {
  const lines = rows.map((row) => row.map(printableCell))
  if (!terminal.outIsTerminal)
    return lines.map((row) => `${row.map(({ text }) => text).join('\t')}\n`).join('')
  const widths: number[] = []
  for (const row of lines)
    for (const [i, { text }] of row.entries())
      if (i < row.length - 1) widths[i] = Math.max(widths[i] ?? 0, widthOf(text))
  const print = ({ text, style }: Partial<PaintedCell> & { text: string }, gap: string) =>
    (style === undefined ? text : terminal.paintData(style, text)) + gap
  return lines
    .map((row) => {
      const cells = row.map((cell, i) => {
        const isLast = i === row.length - 1
        return print(cell, isLast ? '' : ' '.repeat(widths[i]! - widthOf(cell.text) + 2))
      })
      return `${indent}${cells.join('')}\n`
    })
    .join('')
}

/** Lines of a text, each in a style of its own. */
export function printLines(
  text: string,
  { paintData }: Pick<Terminal, 'paintData'>,
  styleOf: (line: string) => Style | null,
): string {
  if (text === '') return ''
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      const style = styleOf(line)
      return style === null ? printable(line) : paintData(style, printable(line))
    })
  return `${lines.join('\n')}\n`
}

function printableCell(cell: Cell): Partial<PaintedCell> & { text: string } {
  return typeof cell === 'string'
    ? { text: printable(cell) }
    : { ...cell, text: printable(cell.text) }
}

function widthOf(text: string): number {
  return Array.from(text).length
}
