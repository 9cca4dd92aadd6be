/**
 * What was used, kept in a file of the data folder: a line for each claim, answer and release, written
 * before it is acted on, so that neither a stop nor kill −9 lets a receipt be used twice. Begun anew at
 * every start with what is not an hour old.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GOOD_FOR_MS, type OnceJournal } from './once.js'

/** id, time, and the answer; null for a claim, none for a release. */
type Line = readonly [id: string, at: number, answer?: string | null]

export class OnceFile implements OnceJournal {
  readonly kept: readonly (readonly [string, string | null, number])[]
  readonly since: number
  readonly #path: string

  /** Throws where the folder cannot be written. */
  constructor(folder: string, now: number) {
    this.#path = join(folder, 'used.log')
    const { since, entries } = read(this.#path, now)
    this.since = since
    this.kept = entries
    const lines = entries.map(([id, answer, at]) => JSON.stringify([id, at, answer]))
    writeFileSync(`${this.#path}.new`, [JSON.stringify([since]), ...lines, ''].join('\n'), {
      mode: 0o600,
    })
    renameSync(`${this.#path}.new`, this.#path)
  }

  claimed(id: string, at: number): void {
    this.#append([id, at, null])
  }

  answered(id: string, answer: string, at: number): void {
    this.#append([id, at, answer])
  }

  released(id: string, at: number): void {
    this.#append([id, at])
  }

  #append(line: Line): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`)
  }
}

/** A line that was torn is the last one, and was not acted on. A file that is not there knows nothing of before. */
function read(
  path: string,
  now: number,
): { since: number; entries: [string, string | null, number][] } {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return { since: now, entries: [] }
  }
  const [head, ...lines] = text.split('\n').flatMap((line) => parsed(line))
  const since = typeof head?.[0] === 'number' ? head[0] : now
  const kept = new Map<string, [string, string | null, number]>()
  for (const [id, at, answer] of lines as unknown as Line[]) {
    if (answer === undefined) kept.delete(id)
    else kept.set(id, [id, answer, at])
  }
  const oldest = now - GOOD_FOR_MS
  const entries = [...kept.values()].filter(([, , at]) => at >= oldest)
  return { since: Math.max(since, oldest), entries }
}

function parsed(line: string): unknown[][] {
  try {
    const value: unknown = JSON.parse(line)
    return Array.isArray(value) ? [value] : []
  } catch {
    return []
  }
}
