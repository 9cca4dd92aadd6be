/** What is wrong with something an operator wrote: where, what, what was expected, and what to write instead. */

export interface Fault {
  /** Where in the document: `rules.search.limits[1]`. Empty for the whole. */
  readonly path: string
  /** Says what is wrong, of what the path names: `unknown unit "mon"`; `is missing`. */
  readonly message: string
  /** What would have been right: `s, min, h, d or w`. */
  readonly expected?: string
  /** What to do about it. */
  readonly hint?: string
  /** The field at `path` whose name is meant, rather than its value. */
  readonly key?: string
  /** Which part of the text is meant, where the value is a text. */
  readonly offset?: number
  readonly length?: number
}

/** What was accepted, and probably does not do what its author meant. */
export interface Warning {
  readonly code: WarningCode
  /** Where in the document. */
  readonly path: string
  /** Of what the path names: `is not in force yet`. */
  readonly message: string
}

export const WARNING_CODES = {
  not_in_force_yet: 'The field is accepted and has no effect yet.',
  never_leased: 'A limit of the rule is never leased, so that every decision goes to the store.',
  same_cost: 'Two costs become one where resources are normalised.',
  cost_above_shard: 'A cost is more than one shard of the rule holds.',
} as const

export type WarningCode = keyof typeof WARNING_CODES

export function printWarning({ code, path, message }: Warning): string {
  return code === 'not_in_force_yet' ? `${path} ${message}` : `${path}: ${message}`
}

/** Faults that are kept of one document: more would only take memory. */
const MOST_FAULTS = 100_000

/** A list of faults is full: reading on would take time and find no more that is kept. */
export class TooManyFaults extends Error {}

/** A list that takes no more than so many, and then throws TooManyFaults. */
export class Faults extends Array<Fault> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array
  }

  override push(...faults: Fault[]): number {
    for (const fault of faults) {
      if (this.length >= MOST_FAULTS) throw new TooManyFaults()
      super.push(fault)
    }
    return this.length
  }
}

export function printFault(fault: Fault): string {
  const where = fault.path === '' ? '' : `${fault.path}: `
  const expected = fault.expected === undefined ? '' : `; expected ${fault.expected}`
  const hint = fault.hint === undefined ? '' : ` (${fault.hint})`
  return `${where}${fault.message}${expected}${hint}`
}

/** Quotes what was written, cut to a length that a person reads. */
export function quote(written: unknown): string {
  let text: string | undefined
  try {
    if (typeof written === 'number') text = String(written)
    else text = typeof written === 'bigint' ? `${written}n` : JSON.stringify(written)
  } catch {
    text = undefined
  }
  text ??= typeof written
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

/** `a, b or c`. */
export function list(words: readonly string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** The word that was probably meant, if one is near enough. */
export function nearest(written: string, words: Iterable<string>): string | undefined {
  if (written.length > 64) return undefined
  const wanted = written.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const word of words) {
    if (Math.abs(word.length - wanted.length) >= bestDistance) continue
    const distance = editDistance(wanted, word.toLowerCase())
    if (distance < bestDistance) {
      best = word
      bestDistance = distance
    }
  }
  return best
}

export function didYouMean(written: string, words: Iterable<string>): string {
  const word = nearest(written, words)
  return word === undefined ? '' : `; did you mean ${quote(word)}?`
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let d = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        d = Math.min(d, beforeLast[j - 2]! + 1)
      }
      row.push(d)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
