/**
 * A connection while it asks only what the fast path answers. Answers leave in the order of their
 * requests: what is decided at once is written at once, what waits for the store keeps its place in a
 * queue. All answers of one event go in one write. Anything else the socket asks for, and it is handed
 * over to node:http for good, with the bytes that were not understood.
 *
 * What holds: bytes are decided upon once; a socket that does not take its answers is not read from; a
 * connection that stands still in the middle of a request, or idle, is ended by `sweep`.
 */
import type { Socket } from 'node:net'
import type { Request } from '@sluice/limiter'
import type { Answer, DecisionRecord } from '@sluice/limiter/transport'
import { BATCH_BODY_BYTES, CHECK_BODY_BYTES } from '../route.js'
import { MOST_CHECKS } from '../wire-request.js'
import { BytesOut } from './bytes-out.js'
import type { FastPath } from './fast-path.js'
import { HAND_OVER, HttpHead, MORE_NEEDED } from './http-head.js'

/** More requests than this are not taken while their answers wait for the store. */
const MOST_WAITING = 256

/** An answer's place in the queue; null while it is being decided. */
interface Place {
  bytes: Buffer | null
}

const head = new HttpHead()
/** One for all connections: whatever is written here is sent in the same turn. */
const out = new BytesOut()
const SPARE = Buffer.alloc(0)

export class Connection {
  readonly socket: Socket
  readonly #path: FastPath
  readonly #queue: Place[] = []
  /** What came of a request that is not whole, and how many bytes make it whole at least. */
  #parts: Buffer[] = []
  #length = 0
  #needed = 1
  /** No more requests are read: the last answer says so. */
  #closes = false
  #isHandingOver = false
  #ended = false
  /** When the bytes of an unfinished request began to come, an answer began to be waited for, or it was last used. */
  #since: number
  /** Decisions of this event. */
  #decided = 0
  #authorized = SPARE
  #host = SPARE
  readonly #onData = (chunk: Buffer) => this.#receive(chunk)
  readonly #onEnd = () => this.#end()
  readonly #onDrain = () => this.#resume()
  readonly #onError = () => this.socket.destroy()
  readonly #onClose = () => this.#path.closed(this)

  constructor(socket: Socket, path: FastPath) {
    this.socket = socket
    this.#path = path
    this.#since = path.now
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
  }

  #receive(chunk: Buffer): void {
    if (this.#length === 0) this.#since = this.#path.now
    if (this.#closes || this.#isHandingOver) {
      if (this.#isHandingOver) this.#keep(chunk)
      return
    }
    if (this.#length + chunk.length < this.#needed) return this.#keep(chunk)
    let bytes = chunk
    if (this.#length > 0) {
      bytes = Buffer.concat([...this.#parts, chunk])
      this.#parts = []
      this.#length = 0
    }
    const started = performance.now()
    const rest = this.#readAll(bytes)
    this.#send()
    if (this.#decided > 0) this.#took(started, this.#decided)
    this.#decided = 0
    if (rest === null) return
    if (rest.length > 0) this.#keep(Buffer.from(rest))
    if (this.#isHandingOver && this.#queue.length === 0) this.#handOver()
  }

  #keep(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#length += bytes.length
  }

  /** Answers every whole request; what is left, or null if nothing more will be read. */
  #readAll(bytes: Buffer): Buffer | null {
    const end = bytes.length
    let at = 0
    this.#needed = 1
    while (at < end) {
      if (this.#queue.length >= MOST_WAITING) {
        this.socket.pause()
        break
      }
      const read = head.read(bytes, at, end)
      if (read === MORE_NEEDED) break
      const isTooLong = head.bodyLength > (head.isBatch ? BATCH_BODY_BYTES : CHECK_BODY_BYTES)
      if (read === HAND_OVER || isTooLong || !this.#isAdmitted(bytes)) {
        this.#isHandingOver = true
        this.socket.pause()
        break
      }
      const bodyEnd = head.bodyStart + head.bodyLength
      if (bodyEnd > end) {
        this.#needed = bodyEnd - at
        break
      }
      this.#closes = head.closes || this.#path.isDraining
      if (head.isBatch) this.#answerBatch(bytes, head.bodyStart, bodyEnd)
      else this.#answerCheck(bytes, head.bodyStart, bodyEnd)
      at = bodyEnd
      if (this.#closes) return null
    }
    return at === 0 ? bytes : bytes.subarray(at)
  }

  /** Whether the caller may ask, as far as can be told at once; the ordinary way says why not. */
  #isAdmitted(bytes: Buffer): boolean {
    const { gate } = this.#path
    if (gate.isPrivate) return true
    if (gate.token === null) {
      const host = bytes.subarray(head.hostStart, head.hostEnd)
      if (host.equals(this.#host)) return true
      if (!gate.isLocal(host.toString('latin1'))) return false
      this.#host = Buffer.from(host)
      return true
    }
    if (head.authorizationEnd === 0) return false
    const shown = bytes.subarray(head.authorizationStart, head.authorizationEnd)
    if (this.#authorized.length > 0 && isSame(shown, this.#authorized)) return true
    if (!gate.token.isIn(shown.toString('latin1'))) return false
    this.#authorized = Buffer.from(shown)
    return true
  }

  #answerCheck(bytes: Buffer, start: number, end: number): void {
    const { scanner, decisions, writer } = this.#path
    const request = scanner.single(bytes, start, end)
    if (request === null) return this.#answerOrdinarily('/v1/check', bytes, start, end)
    const closes = this.#closes
    const answer = this.#attempt(() => decisions.decide(request))
    if (answer instanceof Promise || this.#queue.length > 0)
      this.#waitFor(Promise.resolve(answer), 1, (decided, to) => writer.single(to, decided, closes))
    else {
      writer.single(out, answer, closes)
      this.#decided++
    }
  }

  #answerBatch(bytes: Buffer, start: number, end: number): void {
    const { scanner, decisions, writer } = this.#path
    const requests: Request[] = []
    if (!scanner.batch(bytes, start, end, requests, MOST_CHECKS))
      return this.#answerOrdinarily('/v1/check/batch', bytes, start, end)
    const closes = this.#closes
    const answers = requests.map((request) => this.#attempt(() => decisions.decide(request)))
    const count = answers.length
    if (this.#queue.length > 0 || answers.some((answer) => answer instanceof Promise))
      this.#waitFor(Promise.all(answers.map(async (one) => one)), count, (all, to) =>
        writer.batch(to, all, closes),
      )
    else {
      writer.batch(out, answers as DecisionRecord[], closes)
      this.#decided += count
    }
  }

  #waitFor<T>(answer: Promise<T>, count: number, write: (answer: T, to: BytesOut) => void): void {
    const started = performance.now()
    this.#wait(answer, (decided, to) => {
      write(decided, to)
      this.#took(started, count)
    })
  }

  /** Decisions of one event share its time. */
  #took(started: number, count: number): void {
    const seconds = (performance.now() - started) / 1000
    this.#path.decisions.observer.took('rest', seconds / count, count)
  }

  /** The scanner accepts nothing that the limiter refuses, so what is thrown here is a defect. */
  #attempt(decide: () => Answer<DecisionRecord>): Answer<DecisionRecord> {
    try {
      return decide()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #answerOrdinarily(path: string, bytes: Buffer, start: number, end: number): void {
    const { answers, writer } = this.#path
    const body = Buffer.from(bytes.subarray(start, end))
    const closes = this.#closes
    const reply = answers.guarded(path, async () =>
      answers.handle(answers.route(path, 'POST'), {}, body, ''),
    )
    this.#wait(reply, (said, to) => writer.reply(to, said, closes))
  }

  /** Keeps the answer's place until it is there. */
  #wait<T>(answer: Promise<T>, write: (answer: T, to: BytesOut) => void): void {
    const place: Place = { bytes: null }
    this.#queue.push(place)
    const fill = (render: (to: BytesOut) => void) => {
      const before = out.at
      render(out)
      place.bytes = Buffer.from(out.bytes.subarray(before, out.at))
      out.at = before
      this.#flushSoon()
    }
    answer.then(
      (value) => fill((to) => write(value, to)),
      (error: unknown) =>
        fill((to) => this.#path.writer.reply(to, this.#path.failed(error), this.#closes)),
    )
  }

  #isFlushing = false

  /** Answers that come together leave together. */
  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    let ready = 0
    while (ready < this.#queue.length && this.#queue[ready]!.bytes !== null) ready++
    if (ready === 0) return
    const bytes = this.#queue.splice(0, ready).map((place) => place.bytes!)
    this.#write(bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes))
    this.#since = this.#path.now
    if (this.#queue.length > 0) return
    if (this.#isHandingOver) this.#handOver()
    else this.#resume()
  }

  #send(): void {
    if (out.at === 0) {
      if (this.#closes && this.#queue.length === 0) this.socket.end()
      return
    }
    const bytes = out.taken()
    this.#write(this.#path.isTls ? Buffer.from(bytes) : bytes)
    out.renew(!this.#path.isTls && this.socket.writableLength > 0)
  }

  #write(bytes: Buffer): void {
    const { socket } = this
    if (socket.destroyed) return
    if (!socket.write(bytes)) socket.pause()
    if ((this.#closes || this.#ended) && this.#queue.length === 0 && this.#isFlushed()) socket.end()
  }

  #isFlushed(): boolean {
    return !this.#queue.some((place) => place.bytes !== null)
  }

  /** Goes on reading what was left when there was too much. */
  #resume(): void {
    if (this.#closes || this.#isHandingOver || this.socket.destroyed) return
    if (this.socket.writableNeedDrain || this.#queue.length > 0) return
    if (this.#length > 0 && this.#length >= this.#needed) {
      const bytes = Buffer.concat(this.#parts)
      this.#parts = []
      this.#length = 0
      this.#needed = 1
      this.#receive(bytes)
    }
    if (this.socket.isPaused() && !this.#isHandingOver) this.socket.resume()
  }

  #handOver(): void {
    const { socket } = this
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('drain', this.#onDrain)
    socket.off('error', this.#onError)
    socket.off('close', this.#onClose)
    this.#path.handOver(this, bytes)
  }

  #end(): void {
    this.#ended = true
    if (this.#queue.length === 0 && !this.#isHandingOver) this.socket.end()
  }

  /** The rest of its life is over: in the middle of a request, idle, or without taking its answers. */
  isOverdue(now: number, requestMs: number, idleMs: number): boolean {
    if (this.#queue.length > 0 || this.#isHandingOver) return false
    const isUnfinished = this.#length > 0 || this.socket.writableLength > 0
    return now - this.#since > (isUnfinished ? requestMs : idleMs)
  }

  /** Nothing is asked and nothing waits to be answered. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#length === 0 && this.socket.writableLength === 0
  }
}

/** Without a hint of where two differ. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let different = 0
  for (let i = 0; i < a.length; i++) different |= a[i]! ^ b[i]!
  return different === 0
}
