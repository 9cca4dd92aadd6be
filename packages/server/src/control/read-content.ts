/** Documents checked without a long pause for whoever is deciding: small ones here, large ones in a thread. */
import { Worker } from 'node:worker_threads'
import { type Fault, inSlices, type RulesDocument, type Slices } from '@sluice/limiter'
import { DEEPEST } from '../nesting.js'
import { type Content, contentOf } from './content.js'
import type { WorkerDocument } from './document-worker.js'
import { namespaceFaults } from './namespace-faults.js'
import { jsonTexts, TooDeep } from './print-json.js'
import { parseDocument, type SentDocument, type Unreadable } from './sent-document.js'

/** From so many characters on another thread is quicker than the pause is worth. */
const LARGE = 32 * 1024
/** What the thread may take. */
const MOST_MEGABYTES = 1536
const TOO_LARGE = { unreadable: 'the document takes more memory to check than there is; send less' }

interface Piece {
  readonly part?: string
  readonly value?: unknown
  readonly items?: readonly unknown[]
  readonly faults?: Fault[]
  readonly others?: number
  readonly unreadable?: string
}

/** Why a document is refused: what is wrong with it, and how much more there is. */
export interface RefusedContent {
  readonly faults: readonly Fault[]
  readonly others: number
}

export async function readContent(document: RulesDocument): Promise<Content | RefusedContent> {
  let texts: string[]
  try {
    texts = await inSlices(jsonTexts(document))
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    return { faults: [{ path: '', message: `is nested more than ${DEEPEST} deep` }], others: 0 }
  }
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length < LARGE) return contentHere(document)
  const read = await readThere(await inSlices(joined(texts)))
  return read as Content | RefusedContent
}

/** The same for a document as it was sent: a large one is not even parsed here. */
export async function readSent(
  sent: SentDocument,
  namespace: string,
): Promise<Content | RefusedContent | Unreadable> {
  if (sent.bytes.length >= LARGE) return readThere({ ...sent, namespace })
  const parsed = parseDocument(sent)
  if ('unreadable' in parsed) return parsed
  const faults = namespaceFaults(parsed, namespace)
  return faults.length > 0 ? { faults, others: 0 } : contentHere({ ...parsed, namespace })
}

function contentHere(document: RulesDocument): Content | RefusedContent {
  const content = contentOf(document)
  return Array.isArray(content) ? { faults: content, others: 0 } : content
}

const TEXTS = 1000

/** Fewer texts, which cross over faster. */
function* joined(texts: readonly string[]): Slices<string[]> {
  const longer: string[] = []
  for (let i = 0; i < texts.length; i += TEXTS) {
    longer.push(texts.slice(i, i + TEXTS).join(''))
    yield
  }
  return longer
}

/** Beside the bundle; from the sources, where the bundle was put. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  const name = 'document-worker.cjs'
  return new URL(isSource ? `../../dist/${name}` : `./${name}`, import.meta.url)
}

/** Asks the thread for a few pieces at a time, so that none is long to take over. */
async function readThere(document: WorkerDocument): Promise<Content | RefusedContent | Unreadable> {
  const worker = new Worker(threadFile(), {
    workerData: document,
    transferList: 'bytes' in document ? transferable(document.bytes) : [],
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  })
  const content = new ContentInPieces()
  try {
    return await new Promise((resolve, reject) => {
      worker.on('message', (pieces: string[]) => {
        const read = content.add(pieces)
        if (read !== undefined) resolve(read)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        else worker.postMessage('next')
      })
      worker.on('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? resolve(TOO_LARGE) : reject(error),
      )
      worker.on('exit', () => reject(new Error('the checking thread ended')))
    })
  } finally {
    await worker.terminate()
  }
}

/** Nothing is copied where the bytes have memory of their own. */
function transferable({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}

/** What the thread gives, put together again; the last pieces are none. */
class ContentInPieces {
  readonly #content: Content = {
    settings: {},
    rules: [],
    tiers: [],
    overrides: [],
    exemptions: [],
    blocks: [],
    costs: [],
    warnings: [],
  }

  add(pieces: readonly string[]): Content | RefusedContent | Unreadable | undefined {
    for (const text of pieces) {
      const piece = JSON.parse(text) as Piece
      if (piece.unreadable !== undefined) return { unreadable: piece.unreadable }
      if (piece.faults !== undefined) return { faults: piece.faults, others: piece.others ?? 0 }
      const parts = this.#content as unknown as Record<string, unknown>
      if (piece.items === undefined) parts[piece.part!] = piece.value
      else (parts[piece.part!] as unknown[]).push(...piece.items)
    }
    return pieces.length === 0 ? this.#content : undefined
  }
}
