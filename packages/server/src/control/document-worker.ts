/** The thread that checks large documents for the control plane: a bundle of its own, started for one document. */
import { parentPort, workerData } from 'node:worker_threads'
import type { RulesDocument } from '@sluice/limiter'
import { contentOf } from './content.js'
import { MOST_FAULTS } from './faults.js'

const content = contentOf(JSON.parse((workerData as string[]).join('')) as RulesDocument)
// Texts cross over faster than objects, and the other side reads them a piece at a time.
const pieces = Array.isArray(content)
  ? [
      JSON.stringify({
        faults: content.slice(0, MOST_FAULTS),
        others: Math.max(0, content.length - MOST_FAULTS),
      }),
    ]
  : Object.entries(content).flatMap(([part, value]) => piecesOf(part, value))
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort!.postMessage(pieces)

function piecesOf(part: string, value: unknown): string[] {
  if (!Array.isArray(value)) return [JSON.stringify({ part, value })]
  const pieces: string[] = []
  for (let i = 0; i < value.length; i += 200)
    pieces.push(JSON.stringify({ part, items: value.slice(i, i + 200) }))
  return pieces
}
