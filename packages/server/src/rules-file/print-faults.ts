/** Faults of a rules file as people read them: the place, the words, and the line with what is wrong marked. */
import type { PlacedFault } from './placed-fault.js'

export interface PrintOptions {
  readonly color?: boolean
}

/** Of a line of the file; longer ones are cut around what is meant. */
const WIDEST = 100
/** What a terminal would act on, or show in another order than it is. */
const UNPRINTABLE =
  /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu

/** Start and end of each style on a terminal. */
const STYLES = { bold: [1, 22], red: [31, 39], cyan: [36, 39] } as const

type Paint = (style: keyof typeof STYLES, text: string) => string

const inColor: Paint = (style, text) => {
  const [start, end] = STYLES[style]
  return `\u001b[${start}m${text}\u001b[${end}m`
}

/** One paragraph for each fault, each line ended. */
export function printFaults(
  name: string,
  text: string,
  faults: readonly PlacedFault[],
  { color = false }: PrintOptions = {},
): string {
  const paint: Paint = color ? inColor : (_, words) => words
  const lines = new Lines(text)
  return faults.map((fault) => printOne(printable(name), lines, fault, paint)).join('')
}

function printOne(name: string, lines: Lines, fault: PlacedFault, paint: Paint): string {
  const { line, column, message, expected, hint } = fault
  const head = `${paint('bold', `${name}:${line}:${column}:`)} ${printable(message)}\n`
  if (expected === undefined && hint === undefined) return head
  const width = Math.max(5, String(line).length)
  const margin = ' '.repeat(width)
  const shown = lines.around(fault)
  const marks = paint('red', '^'.repeat(shown.length))
  const words = expected === undefined ? '' : ` expected ${printable(expected)}`
  const tail = hint === undefined ? '' : `${margin} ${paint('cyan', '=')} ${printable(hint)}\n`
  return `${head}${String(line).padStart(width)} | ${shown.text}
${margin} | ${' '.repeat(shown.column)}${marks}${words}
${tail}`
}

/** Escapes what is no printable character. */
export function printable(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The lines of a text, found when asked for; faults come in their order. */
class Lines {
  readonly #text: string
  #line = 1
  #start = 0

  constructor(text: string) {
    this.#text = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }

  /** A line, cut to a width, and where in it the marks are. */
  around({ line, column, length }: PlacedFault): { text: string; column: number; length: number } {
    // Characters of one width, one for one: the marks stand under what they mean.
    const characters = Array.from(
      this.#at(line).replace(UNPRINTABLE, (c) => (c === '\t' ? ' ' : '\ufffd')),
    )
    const marks = Math.max(1, Math.min(length, characters.length - column + 1, WIDEST / 2))
    if (characters.length <= WIDEST)
      return { text: characters.join(''), column: column - 1, length: marks }
    const from = Math.max(0, Math.min(column - 1 - WIDEST / 4, characters.length - WIDEST))
    const [before, after] = [from > 0, from + WIDEST < characters.length]
    const middle = characters.slice(from, from + WIDEST).join('')
    return {
      text: `${before ? '...' : ''}${middle}${after ? '...' : ''}`,
      column: column - 1 - from + (before ? 3 : 0),
      length: marks,
    }
  }

  #at(line: number): string {
    if (line < this.#line) [this.#line, this.#start] = [1, 0]
    for (; this.#line < line; this.#line++) {
      const end = this.#text.indexOf('\n', this.#start)
      if (end < 0) break
      this.#start = end + 1
    }
    const end = this.#text.indexOf('\n', this.#start)
    const text = this.#text.slice(this.#start, end < 0 ? undefined : end)
    return text.endsWith('\r') ? text.slice(0, -1) : text
  }
}
