/**
 * A connection while it asks only what the fast path answers. Answers leave in the order of their
 * requests: what is decided at once is written at once, what waits for the store keeps its place in a
 * queue. All answers of one event go in one write. Anything else the socket asks for, and it is handed
 * over to node:http for good, with the bytes that were not understood.
 *
 * What holds: bytes are decided upon once; every whole request is answered, also where the other side has
 * finished sending; a socket that does not take its answers, or asks for more than the store keeps up
 * with, is not read from; a connection that stands still in the middle of a request, or idle, is ended by
 * `sweep`.
 */

import type { Socket } from 'node:net'
import { BATCH_BODY_BYTES, CHECK_BODY_BYTES, MOST_CHECKS } from '@sluice/contract'
import type { Request } from '@sluice/limiter'
import type { Awaitable, DecisionRecord } from '@sluice/limiter/transport'
import type { Caller } from '../../../security/caller.js'
import { Admission } from './admission.js'
import { AnswerQueue } from './answer-queue.js'
import { BytesOut } from './bytes-out.js'
import type { FastPath } from './fast-path.js'
import { HAND_OVER, HttpHead, MORE_NEEDED } from './http-head.js'

/** More checks than this are not taken from a connection while their answers wait for the store. */
const MOST_WAITING = 1000
/** Requests of a connection that are answered the ordinary way at a time. */
export const MOST_ORDINARY = 8

const head = new HttpHead()
/** One for all connections: whatever is written here is sent in the same turn. */
const out = new BytesOut()

export class Connection {
  readonly socket: Socket
  readonly #path: FastPath
  readonly #queue = new AnswerQueue((bytes) => this.#answered(bytes))
  /** Checks whose answers wait for the store. */
  #waiting = 0
  /** Requests that take the ordinary way; each gives its place back in a later turn of the event loop. */
  #ordinary = 0
  /** What came of requests that are not answered yet, and how many bytes make the first one whole at least. */
  #parts: Buffer[] = []
  #length = 0
  #needed = 1
  /** No more requests are read: the last answer says so. */
  #closes = false
  #isHandingOver = false
  #isHandedOver = false
  /** The other side has sent all that it will. */
  #hasEnded = false
  /** When it last got on: with a request, an answer, or its first bytes. */
  #since: number
  /** Decisions of this event. */
  #decided = 0
  readonly #admission: Admission
  /** Bytes that are being sent from where they were written. */
  readonly #lent: Buffer[] = []
  readonly #onData = (chunk: Buffer) => this.#receive(chunk)
  readonly #onEnd = () => this.#finish()
  readonly #onDrain = () => {
    for (const lent of this.#lent.splice(0)) out.giveBack(lent)
    this.goOn()
  }
  readonly #onError = () => this.socket.destroy()
  readonly #onClose = () => this.#forget()

  constructor(socket: Socket, path: FastPath) {
    this.socket = socket
    this.#path = path
    this.#admission = new Admission(path.gate, socket.remoteAddress ?? '')
    this.#since = path.now
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
  }

  #receive(chunk: Buffer): void {
    if (this.#closes) return
    if (this.#length === 0) this.#since = this.#path.now
    if (this.#isHandingOver || this.#length + chunk.length < this.#needed) return this.#keep(chunk)
    this.#read(this.#length === 0 ? chunk : Buffer.concat([...this.#release(), chunk]))
  }

  /** Answers what can be answered of these bytes, and keeps the rest. */
  #read(bytes: Buffer): void {
    const started = performance.now()
    const rest = this.#readAll(bytes)
    if (rest < bytes.length && !this.#closes) this.#keep(Buffer.from(bytes.subarray(rest)))
    if (rest > 0) this.#since = this.#path.now
    this.#send()
    if (this.#decided > 0) this.#took(started, this.#decided)
    this.#decided = 0
    this.#settle()
  }

  #keep(bytes: Buffer): void {
    if (!this.#path.budget.take(bytes.length)) {
      this.socket.destroy()
      return
    }
    this.#parts.push(bytes)
    this.#length += bytes.length
  }

  /** What was kept, to be kept no longer. */
  #release(): Buffer[] {
    const parts = this.#parts
    this.#path.budget.give(this.#length)
    this.#parts = []
    this.#length = 0
    return parts
  }

  /** Answers every whole request; where the rest begins. */
  #readAll(bytes: Buffer): number {
    const end = bytes.length
    let at = 0
    this.#needed = 1
    while (at < end) {
      if (this.#isHeldUp()) {
        this.socket.pause()
        break
      }
      const read = head.read(bytes, at, end)
      if (read === MORE_NEEDED) break
      const isTooLong = head.bodyLength > (head.isBatch ? BATCH_BODY_BYTES : CHECK_BODY_BYTES)
      const caller =
        read === HAND_OVER || isTooLong ? null : this.#admission.admits(bytes, head, this.#path.now)
      if (caller === null) {
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
      if (head.isBatch) this.#answerBatch(caller, bytes, head.bodyStart, bodyEnd)
      else this.#answerCheck(caller, bytes, head.bodyStart, bodyEnd)
      at = bodyEnd
      if (this.#closes) break
    }
    return at
  }

  /** The store must catch up first: with this connection, or with all of them. */
  #isHeldUp(): boolean {
    if (this.#waiting >= MOST_WAITING || this.#ordinary >= MOST_ORDINARY) return true
    return this.#path.isHeldUp && this.#path.holdUp(this)
  }

  #answerCheck(caller: Caller, bytes: Buffer, start: number, end: number): void {
    const { decisions, writer } = this.#path
    const home = this.#path.homeOf(caller)
    const request = home?.scanner.single(bytes, start, end) ?? null
    if (request === null) return this.#answerOrdinarily('/v1/check', caller, bytes, start, end)
    const closes = this.#closes
    const { include } = home!.scanner
    const answer = this.#attempt(() => decisions.decide(home!.tenant, request))
    if (answer instanceof Promise || !this.#queue.isEmpty)
      this.#wait(Promise.resolve(answer), 1, (decided, to) =>
        writer.single(to, decided, closes, include),
      )
    else {
      writer.single(out, answer, closes, include)
      this.#decided++
    }
  }

  #answerBatch(caller: Caller, bytes: Buffer, start: number, end: number): void {
    const { decisions, writer } = this.#path
    const home = this.#path.homeOf(caller)
    const requests: Request[] = []
    if (home?.scanner.batch(bytes, start, end, requests, MOST_CHECKS) !== true)
      return this.#answerOrdinarily('/v1/check/batch', caller, bytes, start, end)
    const closes = this.#closes
    const { tenant, scanner } = home
    const { include } = scanner
    const answers = requests.map((request) =>
      this.#attempt(() => decisions.decide(tenant, request)),
    )
    const count = answers.length
    if (!this.#queue.isEmpty || answers.some((answer) => answer instanceof Promise)) {
      const all = Promise.all(answers.map(async (one) => one))
      this.#wait(all, count, (decided, to) => writer.batch(to, decided, closes, include))
    } else {
      writer.batch(out, answers as DecisionRecord[], closes, include)
      this.#decided += count
    }
  }

  /** The scanner accepts nothing that the limiter refuses, so what is thrown here is a defect. */
  #attempt(decide: () => Awaitable<DecisionRecord>): Awaitable<DecisionRecord> {
    try {
      return decide()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #answerOrdinarily(path: string, caller: Caller, bytes: Buffer, start: number, end: number): void {
    const { answers, writer } = this.#path
    const body = Buffer.from(bytes.subarray(start, end))
    const closes = this.#closes
    const reply = answers.guarded(async () =>
      answers.handle(answers.find(path, 'POST'), {
        caller,
        headers: {},
        rawHeaders: [],
        bytes: body,
        query: '',
      }),
    )
    this.#ordinary++
    void reply.then(() => setImmediate(() => this.#leaveOrdinary()))
    const checks = path === '/v1/check' ? 1 : MOST_CHECKS
    this.#wait(reply, checks, (said, to) => writer.reply(to, said, closes), false)
  }

  /** All other connections have had a turn. */
  #leaveOrdinary(): void {
    this.#ordinary--
    this.goOn()
  }

  /** Keeps the answer's place until it is there. `isTimed`: they are decisions that nobody else times. */
  #wait<T>(
    answer: Promise<T>,
    checks: number,
    write: (answer: T, to: BytesOut) => void,
    isTimed = true,
  ): void {
    const give = this.#queue.next()
    const started = performance.now()
    this.#waiting += checks
    this.#path.waiting += checks
    const fill = (render: (to: BytesOut) => void) => {
      this.#waiting -= checks
      this.#path.caughtUp(checks)
      give(this.#rendered(render))
    }
    const fulfilled = (value: T) => {
      fill((to) => write(value, to))
      if (isTimed) this.#took(started, checks)
    }
    const failed = (error: unknown) =>
      fill((to) => this.#path.writer.reply(to, this.#path.failed(error), this.#closes))
    answer.then(fulfilled, failed)
  }

  /** Bytes of their own, whatever happens while they are made. */
  #rendered(render: (to: BytesOut) => void): Buffer {
    const before = out.at
    try {
      render(out)
      return Buffer.from(out.bytes.subarray(before, out.at))
    } catch (error) {
      this.#path.failed(error)
      this.socket.destroy()
      return Buffer.alloc(0)
    } finally {
      out.at = before
    }
  }

  /** Decisions of one event share its time. */
  #took(started: number, count: number): void {
    const seconds = (performance.now() - started) / 1000
    this.#path.decisions.observer.took('rest', seconds / count, count)
  }

  /** What was waited for is there. */
  #answered(bytes: Buffer): void {
    this.#write(bytes)
    this.#since = this.#path.now
    this.goOn()
  }

  #send(): void {
    if (out.at === 0) return
    const bytes = out.taken()
    const { socket } = this
    if (this.#path.isTls) this.#write(Buffer.from(bytes))
    else {
      this.#write(bytes)
      if (socket.writableNeedDrain) this.#lent.push(out.lend())
      else if (socket.writableLength > 0) out.lend()
    }
    out.shrink()
  }

  #write(bytes: Buffer): void {
    if (!this.socket.destroyed && !this.socket.write(bytes)) this.socket.pause()
  }

  /** Reads on where it was held up. */
  goOn(): void {
    const { socket } = this
    if (this.#isHandedOver || socket.destroyed || socket.writableNeedDrain) return
    const isWhole = this.#length > 0 && this.#length >= this.#needed
    if (isWhole && !this.#closes && !this.#isHandingOver && !this.#isHeldUp())
      this.#read(Buffer.concat(this.#release()))
    else this.#settle()
  }

  /** Ends, hands over or reads on, as there is nothing left to answer here. */
  #settle(): void {
    const { socket } = this
    if (!this.#queue.isEmpty || socket.destroyed) return
    if (this.#isHandingOver) this.#handOver()
    else if (this.#closes || (this.#hasEnded && !this.#isLeft())) socket.end()
    else if (socket.isPaused() && !socket.writableNeedDrain && !this.#isHeldUp()) socket.resume()
  }

  /** Requests that came whole, and were held up. */
  #isLeft(): boolean {
    return this.#length >= this.#needed && this.#isHeldUp()
  }

  #handOver(): void {
    const { socket } = this
    this.#isHandedOver = true
    const bytes = Buffer.concat(this.#release())
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('drain', this.#onDrain)
    socket.off('error', this.#onError)
    socket.off('close', this.#onClose)
    this.#path.handOver(this, bytes, this.#hasEnded)
  }

  #finish(): void {
    this.#hasEnded = true
    this.goOn()
  }

  #forget(): void {
    this.#release()
    this.#path.closed(this)
  }

  /** The rest of its life is over: in the middle of a request, idle, or without taking its answers. */
  isOverdue(now: number, requestMs: number, idleMs: number): boolean {
    if (!this.#queue.isEmpty) return false
    const isUnfinished = this.#length > 0 || this.#closes || this.socket.writableLength > 0
    return now - this.#since > (isUnfinished ? requestMs : idleMs)
  }

  /** Nothing is asked and nothing waits to be answered. */
  get isIdle(): boolean {
    return this.#queue.isEmpty && this.#length === 0 && this.socket.writableLength === 0
  }
}
