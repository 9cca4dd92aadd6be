/**
 * Rules from a file, without a long pause for whoever is deciding meanwhile. Small files are read here:
 * that is quicker than starting a thread. Large ones are parsed and checked by a thread of their own,
 * cross over in pieces, and are put together in slices.
 */
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { inSlices, type Pace, type RuleBook, RuleSet } from '@sluice/limiter'
import { BookInPieces } from './book-pieces.js'
import { decode } from './decode.js'
import { type BadRules, type GoodRules, readRules } from './read-rules.js'
import type { WorkerAnswer } from './rules-worker.js'

/** From so many bytes on a file is read by another thread: some 300 rules, or 30 where others wait meanwhile. */
const LARGE = 32 * 1024
const LARGE_WHILE_DECIDING = 4 * 1024

export interface LoadedRules extends GoodRules {
  /** The file as it was read. */
  readonly source: Buffer
}

export interface RefusedRules extends BadRules {
  /** What the faults are in; empty where the file could not be read. */
  readonly text: string
}

export interface LoadOptions extends Pace {
  /** Ends the thread that is reading. */
  readonly signal?: AbortSignal
  /** Others are deciding, so a few milliseconds matter more than starting a thread. */
  readonly whileDeciding?: boolean
}

/** Never rejects: a file that cannot be read is a fault too. */
export async function loadRules(
  path: string,
  options: LoadOptions = {},
): Promise<LoadedRules | RefusedRules> {
  try {
    return await rulesOf(await readFile(path), options)
  } catch (error) {
    return unreadable(error)
  }
}

/** Rejects only when the signal says so. */
export async function rulesOf(
  source: Buffer,
  options: LoadOptions = {},
): Promise<LoadedRules | RefusedRules> {
  const large = options.whileDeciding === true ? LARGE_WHILE_DECIDING : LARGE
  const read = source.length < large ? readHere(source) : await readThere(source, options)
  if (!('faults' in read)) return { ...read, source }
  const text = decode(source)
  return { ...read, text: typeof text === 'string' ? text : '' }
}

export function unreadable(error: unknown): RefusedRules {
  const { code, message } = error as NodeJS.ErrnoException
  const words = code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${message}`
  return { faults: [{ path: '', line: 1, column: 1, length: 0, message: words }], text: '' }
}

function readHere(source: Buffer): GoodRules | BadRules {
  const text = decode(source)
  return typeof text === 'string' ? readRules(text) : text
}

async function readThere(source: Buffer, options: LoadOptions): Promise<GoodRules | BadRules> {
  const answer = await askThread(source, options.signal)
  if ('faults' in answer) return answer
  const rules = await inSlices(RuleSet.assemble(answer), options)
  return { rules, warnings: rules.warnings }
}

/** Beside the bundle; from the sources, where the bundle was put. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  return new URL(isSource ? '../../dist/rules-worker.cjs' : './rules-worker.cjs', import.meta.url)
}

async function askThread(source: Buffer, signal?: AbortSignal): Promise<RuleBook | BadRules> {
  signal?.throwIfAborted()
  const worker = new Worker(threadFile(), { workerData: source })
  const pieces = new BookInPieces()
  const { promise, resolve, reject } = deferred<RuleBook | BadRules>()
  const abort = () => reject(signal!.reason)
  signal?.addEventListener('abort', abort, { once: true })
  worker.on('message', (answer: WorkerAnswer) => {
    if ('faults' in answer) return resolve(answer)
    const book = pieces.add(answer)
    if (book !== undefined) resolve(book)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    else worker.postMessage('next')
  })
  worker.on('error', (error) => resolve(unreadable(error)))
  worker.on('exit', () => resolve(unreadable(new Error('the reading thread ended'))))
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

function deferred<T>() {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
