/**
 * The thread that reads large rules files: a bundle of its own, started for one file. It answers with the
 * faults, or with the checked document, a piece whenever it is asked for the next.
 */
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { type BookPiece, takeApart } from './book-pieces.js'
import { decode } from './decode.js'
import type { BadRules } from './read-rules.js'
import { readRules } from './read-rules.js'

export type WorkerAnswer = BookPiece | BadRules

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const answer = (message: WorkerAnswer) => parentPort!.postMessage(message)

// On Linux this is the priority of the calling thread, elsewhere of the process: reading waits for deciding.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)

const text = decode(workerData as Uint8Array)
const read = typeof text === 'string' ? readRules(text) : text
if ('faults' in read) answer({ faults: read.faults })
else {
  const pieces = takeApart(read.rules.book)
  const next = () => {
    const { value, done } = pieces.next()
    if (done !== true) answer(value)
  }
  parentPort!.on('message', next)
  next()
}
