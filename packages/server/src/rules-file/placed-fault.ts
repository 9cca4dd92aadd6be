/** A fault of a rules file with its place in the text: plain data, for people, for `--json` and across threads. */

export interface PlacedFault {
  /** Where in the document: `rules.search.limits[1]`. Empty for the whole. */
  readonly path: string
  /** From 1. */
  readonly line: number
  /** From 1, in characters. */
  readonly column: number
  /** In characters; 0 for a place between two. */
  readonly length: number
  /** A sentence of its own: `unknown unit "mon"`, `scope is missing`. */
  readonly message: string
  /** What would have been right: `s, min, h, d or w`. */
  readonly expected?: string
  /** What to do about it. */
  readonly hint?: string
}

/** The same before its lines are counted: from `start` up to `end` in the text. */
export interface SpanFault extends Omit<PlacedFault, 'line' | 'column' | 'length'> {
  readonly start: number
  readonly end: number
}

/** More than anyone reads; the last one kept says how many there are. */
const MOST_FAULTS = 1000

/** In the text's order. */
export function placeFaults(text: string, faults: readonly SpanFault[]): PlacedFault[] {
  const sorted = faults.toSorted((a, b) => a.start - b.start)
  const places = new Places(text)
  const kept = sorted.slice(0, MOST_FAULTS).map(({ start, end, ...fault }) => {
    const place = places.at(start)
    return { ...fault, ...place, length: charactersIn(text, start, Math.max(start, end)) }
  })
  if (kept.length === sorted.length) return kept
  const last = kept.at(-1)!
  const message = `${sorted.length - MOST_FAULTS} more faults after this`
  return [...kept, { path: '', line: last.line, column: last.column, length: 0, message }]
}

/** Lines of ascending offsets, counted once. */
class Places {
  readonly #text: string
  #line = 1
  #lineStart = 0

  constructor(text: string) {
    this.#text = text
  }

  at(offset: number): { line: number; column: number } {
    for (;;) {
      const end = this.#text.indexOf('\n', this.#lineStart)
      if (end < 0 || end >= offset) break
      this.#line++
      this.#lineStart = end + 1
    }
    return { line: this.#line, column: 1 + charactersIn(this.#text, this.#lineStart, offset) }
  }
}

function charactersIn(text: string, from: number, to: number): number {
  let count = 0
  for (const _ of text.slice(from, to)) count++
  return count
}
