/**
 * The thread that parses and checks large documents for the control plane: a bundle of its own, started
 * for one document. It answers with pieces of text, some of them whenever it is asked for the next.
 */
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { RulesDocument } from '@sluice/limiter'
import { contentOf } from './content.js'
import { MOST_FAULTS } from './faults.js'
import { namespaceFaults } from './namespace-faults.js'
import { parseDocument, type SentDocument } from './sent-document.js'

/** Texts that are a document when joined, or its bytes and the namespace that it is for. */
export type WorkerDocument = readonly string[] | (SentDocument & { readonly namespace: string })

const ITEMS = 200
const PIECES = 10

// On Linux this is the priority of the calling thread, elsewhere of the process: checking waits for deciding.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)

const pieces = piecesOf(workerData as WorkerDocument)
const next = () => {
  const some: string[] = []
  while (some.length < PIECES) {
    const { value, done } = pieces.next()
    if (done === true) break
    some.push(value)
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(some)
}
parentPort!.on('message', next)
next()

/** Texts cross over faster than objects, and the other side reads them a piece at a time. */
function* piecesOf(given: WorkerDocument): Generator<string, void> {
  let document: RulesDocument
  if (!('bytes' in given)) document = JSON.parse(given.join('')) as RulesDocument
  else {
    const parsed = parseDocument(given)
    if ('unreadable' in parsed) return yield JSON.stringify(parsed)
    const faults = namespaceFaults(parsed, given.namespace)
    if (faults.length > 0) return yield JSON.stringify({ faults, others: 0 })
    document = { ...parsed, namespace: given.namespace }
  }
  const content = contentOf(document)
  if (Array.isArray(content)) {
    const [faults, others] = [content.slice(0, MOST_FAULTS), content.length - MOST_FAULTS]
    return yield JSON.stringify({ faults, others: Math.max(0, others) })
  }
  for (const [part, value] of Object.entries(content) as [string, unknown][]) {
    if (!Array.isArray(value)) yield JSON.stringify({ part, value })
    else
      for (let i = 0; i < value.length; i += ITEMS)
        yield JSON.stringify({ part, items: value.slice(i, i + ITEMS) })
  }
}
