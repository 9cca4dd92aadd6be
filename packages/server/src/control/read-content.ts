/** Documents checked without a long pause for whoever is deciding: small ones here, large ones in a thread. */
import { Worker } from 'node:worker_threads'
import { type Fault, inSlices, type RulesDocument, type Slices } from '@sluice/limiter'
import { DEEPEST } from '../nesting.js'
import { type Content, contentOf } from './content.js'
import { jsonTexts, TooDeep } from './print-json.js'

/** From so many characters on another thread is quicker than the pause is worth. */
const LARGE = 32 * 1024

interface Piece {
  readonly part?: string
  readonly value?: unknown
  readonly items?: readonly unknown[]
  readonly faults?: Fault[]
  readonly others?: number
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
  if (length >= LARGE) return inSlices(putTogether(await askThread(await inSlices(joined(texts)))))
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

function* putTogether(pieces: readonly string[]): Slices<Content | RefusedContent> {
  const content: Record<string, unknown> = {
    rules: [],
    tiers: [],
    overrides: [],
    exemptions: [],
    blocks: [],
    costs: [],
  }
  for (const piece of pieces) {
    const { part, value, items, faults, others = 0 } = JSON.parse(piece) as Piece
    if (faults !== undefined) return { faults, others }
    if (items === undefined) content[part!] = value
    else (content[part!] as unknown[]).push(...items)
    yield
  }
  return content as unknown as Content
}

/** Beside the bundle; from the sources, where the bundle was put. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  const name = 'document-worker.cjs'
  return new URL(isSource ? `../../dist/${name}` : `./${name}`, import.meta.url)
}

async function askThread(texts: readonly string[]): Promise<string[]> {
  const worker = new Worker(threadFile(), { workerData: texts })
  try {
    return await new Promise((resolve, reject) => {
      worker.on('message', resolve)
      worker.on('error', reject)
      worker.on('exit', () => reject(new Error('the checking thread ended')))
    })
  } finally {
    await worker.terminate()
  }
}
