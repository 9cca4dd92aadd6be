/**
 * A connection that node:http serves. node:http begins every request of the bytes it is given, so it is
 * given one head at a time while few requests of this connection are in progress; places that become free
 * are taken in a later turn of the event loop, after all other connections had theirs. A request is in
 * progress from its start until the system has taken its answer, so a caller that does not read its
 * answers begins no more requests, and is ended by `isStuck`.
 *
 * What holds: while it is full, no part of a head is with node:http, whose time-out for it would run.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Requests of one connection that are worked on at a time; further ones wait for their turn. */
export const MOST_IN_PROGRESS = 8
const END_OF_HEAD = '\r\n\r\n'
/** Enough to tell the route. */
const KEPT_OF_HEAD = 24

/** What node:http adds to its sockets. */
type HttpSocket = Duplex & { readonly _paused?: boolean }
type Listener = (...args: unknown[]) => void

export class OrdinaryConnection {
  readonly #socket: HttpSocket
  /** node:http's own listeners. */
  #parse: Listener = () => undefined
  #end: Listener = () => undefined
  /** What came and was not given to node:http yet. */
  #rest: Buffer | null = null
  #hasEnded = false
  /** Requests that node:http has read, and that have not begun. */
  readonly #waiting: (() => void)[] = []
  #inProgress = 0
  /** The request that node:http read last. */
  #last: IncomingMessage | null = null
  /** How the head that node:http was given last begins, and whether more of it is to come. */
  #head = ''
  #isInHead = false
  #isScheduled = false
  #isPaused = false
  #pending = ''
  #since = 0

  constructor(socket: Duplex) {
    this.#socket = socket
  }

  /**
   * How the request line of the newest head begins: method and path, as far as they came. For requests
   * that node:http refuses before it has parsed their head.
   */
  get requestLine(): string {
    return this.#head.trimStart()
  }

  /** `serve` gives the socket to node:http, whose listeners for data and its end are put behind this. */
  begin(serve: () => void): void {
    const socket = this.#socket
    const before = { data: socket.listeners('data'), end: socket.listeners('end') }
    serve()
    const added = (event: 'data' | 'end') => {
      const listener = socket.listeners(event).find((one) => !before[event].includes(one))
      if (listener === undefined) throw new Error(`node:http does not listen for ${event}`)
      socket.off(event, listener as Listener)
      return listener as Listener
    }
    this.#parse = added('data')
    this.#end = added('end')
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('end', () => {
      this.#hasEnded = true
      this.#goOn()
    })
    socket.on('drain', () => this.#schedule())
  }

  /** Begins a request when it is its turn. */
  run(request: IncomingMessage, response: ServerResponse, work: () => void): void {
    const begin = () => {
      this.#inProgress++
      response.once('close', () => {
        this.#inProgress--
        const isKeptWaiting = this.#waiting.length > 0 || this.#rest !== null || this.#hasEnded
        if (isKeptWaiting || this.#isPaused) this.#schedule()
      })
      work()
    }
    this.#last = request
    if (this.#inProgress < MOST_IN_PROGRESS && this.#waiting.length === 0) begin()
    else this.#waiting.push(begin)
  }

  /** Whether its answers have not moved for so long; asked about once a second. */
  isStuck(now: number, mostMs: number): boolean {
    const { writableLength } = this.#socket
    const { _handle: handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    const pending = `${writableLength} ${handle?.writeQueueSize ?? 0}`
    if (writableLength === 0 || pending !== this.#pending) this.#since = now
    this.#pending = pending
    return now - this.#since > mostMs
  }

  #receive(chunk: Buffer): void {
    // node:http resumes the socket after each answer.
    if (this.#rest !== null) {
      this.#pause()
      this.#socket.unshift(chunk)
      return
    }
    this.#rest = chunk
    this.#feed()
  }

  /** With the end of this turn of the event loop, after all others had theirs. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#goOn()
    })
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && this.#inProgress < MOST_IN_PROGRESS) this.#waiting.shift()!()
    this.#feed()
  }

  /** Gives node:http what it may have now, up to the end of a head at a time. */
  #feed(): void {
    const socket = this.#socket
    while (this.#rest !== null) {
      if (socket.destroyed || socket.writableEnded) {
        this.#rest = null
        return
      }
      if (this.#isFull) return this.#pause()
      const rest = this.#rest
      const end = rest.indexOf(END_OF_HEAD)
      const length = end < 0 ? rest.length : end + END_OF_HEAD.length
      this.#rest = length < rest.length ? rest.subarray(length) : null
      this.#give(rest.subarray(0, length), end >= 0)
    }
    if (this.#isFull) return
    if (this.#hasEnded) {
      this.#hasEnded = false
      this.#end.call(socket)
    } else if (this.#isPaused) {
      this.#isPaused = false
      socket.resume()
    }
  }

  #give(piece: Buffer, endsHead: boolean): void {
    const last = this.#last
    if (!this.#isInHead && last?.complete !== false) {
      this.#head = ''
      this.#isInHead = true
    }
    if (this.#isInHead && this.requestLine.length < KEPT_OF_HEAD)
      this.#head = this.requestLine + piece.toString('latin1', 0, KEPT_OF_HEAD)
    this.#parse.call(this.#socket, piece)
    // The end of a head may come in two pieces. Then node:http has read a request.
    if (endsHead || this.#last !== last) this.#isInHead = false
  }

  /** A request whose body is still to come is not kept waiting for it. */
  get #isFull(): boolean {
    // node:http marks a socket whose answers are not taken, and then must not be given anything.
    if (this.#socket._paused === true) return true
    if (this.#last?.complete === false) return false
    return this.#inProgress >= MOST_IN_PROGRESS || this.#waiting.length > 0
  }

  #pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }
}
