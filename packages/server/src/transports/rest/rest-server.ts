/**
 * The REST interface on a port or a Unix socket. Connections begin on the fast path; those that ask for
 * anything else are handed over to node:http, which never listens itself.
 */
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Decisions } from '../../decisions.js'
import type { OrdinaryAnswers } from '../../http/answers.js'
import type { Gate } from '../../security/gate.js'
import type { AuthErrors } from './auth-errors.js'
import { BodyBudget } from './body-budget.js'
import { refuseClient, refuseExpectation } from './client-errors.js'
import { endedSocket } from './ended-socket.js'
import { FastPath } from './fast/fast-path.js'
import { OrdinaryConnection } from './ordinary-connection.js'
import { requestListener } from './request-listener.js'

export interface RestServerParts {
  readonly decisions: Decisions
  readonly answers: OrdinaryAnswers
  readonly gate: Gate
  readonly authErrors: AuthErrors
  /** Makes a listener whose connections are encrypted; plain ones unless given. */
  readonly tls?: (accept: (socket: TLSSocket) => void) => Server
  /** Whether plain checks take the fast path; spans need the ordinary one. */
  readonly isFast: boolean
  readonly failed: (error: unknown) => void
  readonly limits?: Partial<ConnectionLimits>
}

export interface ConnectionLimits {
  readonly maxConnections: number
  /** For a whole request to arrive, and for answers to be taken. */
  readonly requestMs: number
  readonly idleMs: number
}

const DEFAULT_LIMITS: ConnectionLimits = {
  maxConnections: 10_000,
  requestMs: 10_000,
  idleMs: 75_000,
}

/** Connections know the time of the last sweep, so each gets that much more: nobody is ended too early. */
const SWEEP_MS = 1000
const LONGEST_HEADERS = 16_384

export class RestServer {
  readonly #listener: Server
  readonly #http: HttpServer
  readonly #fast: FastPath
  readonly #limits: ConnectionLimits
  readonly #sockets = new Set<Socket>()
  readonly #ordinary = new Map<Duplex, OrdinaryConnection>()
  #sweeper: ReturnType<typeof setInterval> | undefined
  isDraining = false

  constructor(parts: RestServerParts) {
    this.#limits = { ...DEFAULT_LIMITS, ...parts.limits }
    const { requestMs, idleMs, maxConnections } = this.#limits
    const { answers, gate, authErrors } = parts
    const budget = new BodyBudget()
    this.#http = createHttpServer(
      {
        maxHeaderSize: LONGEST_HEADERS,
        headersTimeout: requestMs,
        requestTimeout: requestMs,
        keepAliveTimeout: idleMs,
        connectionsCheckingInterval: SWEEP_MS,
        requireHostHeader: false,
      },
      requestListener({
        answers,
        gate,
        authErrors,
        budget,
        isDraining: () => this.isDraining,
        connectionOf: (socket) => this.#ordinary.get(socket)!,
      }),
    )
    // Their length is bounded. With a bound of their number the last ones would be dropped unseen.
    this.#http.maxHeadersCount = 0
    // Callers who have finished sending are answered.
    Object.assign(this.#http, { httpAllowHalfOpen: true })
    const errors = { authErrors, connectionOf: (socket: Duplex) => this.#ordinary.get(socket) }
    this.#http.on('clientError', refuseClient(errors))
    this.#http.on('checkExpectation', refuseExpectation(errors))
    // It watches the time-outs of its connections from when it listens; these it is given.
    this.#http.emit('listening')
    this.#fast = new FastPath({
      decisions: parts.decisions,
      answers,
      gate,
      isTls: parts.tls !== undefined,
      budget,
      handOver: (socket, bytes, hasEnded) => this.#handOver(socket, bytes, hasEnded),
      failed: parts.failed,
    })
    const accept = (socket: Socket) => this.#accept(socket, parts.isFast)
    this.#listener =
      parts.tls?.(accept) ?? createServer({ allowHalfOpen: true, noDelay: true }, accept)
    this.#listener.maxConnections = maxConnections
    // Also those that never finish a handshake.
    this.#listener.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  #accept(socket: Socket, isFast: boolean): void {
    if (isFast) this.#fast.accept(socket)
    else {
      readInOrder(socket)
      this.#serve(socket)
    }
  }

  #handOver(socket: Socket, bytes: Buffer, hasEnded: boolean): void {
    if (socket.destroyed) return
    if (hasEnded) return this.#serve(endedSocket(socket, bytes))
    if (bytes.length > 0) socket.unshift(bytes)
    readInOrder(socket)
    this.#serve(socket)
    socket.resume()
  }

  /** Gives a connection to node:http. */
  #serve(socket: Duplex): void {
    const connection = new OrdinaryConnection(socket)
    this.#ordinary.set(socket, connection)
    socket.once('close', () => this.#ordinary.delete(socket))
    connection.begin(() => this.#http.emit('connection', socket))
  }

  /** Ends connections that stand still, and those whose answers are not read. */
  #sweep(): void {
    const { requestMs, idleMs } = this.#limits
    this.#fast.sweep(requestMs + SWEEP_MS, idleMs + SWEEP_MS)
    const now = performance.now()
    for (const [socket, connection] of this.#ordinary)
      if (connection.isStuck(now, requestMs)) socket.destroy()
  }

  /** Where it listens: a port of an address, or a path. */
  async listen(where: { host: string; port: number } | { path: string }): Promise<string> {
    // A socket is made with these permissions, so that there is no moment with others.
    const mask = 'path' in where ? process.umask(0o117) : null
    await new Promise<void>((resolve, reject) => {
      this.#listener.once('error', reject)
      this.#listener.listen(where, () => {
        this.#listener.off('error', reject)
        resolve()
      })
      if (mask !== null) process.umask(mask)
    })
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS)
    this.#sweeper.unref()
    if ('path' in where) return where.path
    const { port } = this.#listener.address() as AddressInfo
    return `${where.host.includes(':') ? `[${where.host}]` : where.host}:${port}`
  }

  /** From now on every answer says `Connection: close`; new connections are still taken. */
  drain(): void {
    this.isDraining = true
    this.#fast.isDraining = true
  }

  /** Takes no more connections, and waits until those that are there have ended; ends them after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.drain()
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()))
    const end = performance.now() + graceMs
    while (this.#sockets.size > 0 && performance.now() < end) {
      // An idle one may be about to ask: it gets half of the time to do so, and be told to close.
      if (performance.now() > end - graceMs / 2) {
        this.#fast.endIdle()
        this.#http.closeIdleConnections()
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (const socket of this.#sockets) socket.destroy()
    clearInterval(this.#sweeper)
    this.#http.close()
    await closed
  }

  get connections(): number {
    return this.#sockets.size
  }
}

/**
 * node:http lets its parser read from the system itself, past what the stream holds: bytes that were put
 * back would come after newer ones. A handle that is marked so is read through the stream.
 */
function readInOrder(socket: Duplex): void {
  const { _handle: handle } = socket as unknown as { _handle?: { _consumed?: boolean } | null }
  if (handle) handle._consumed = true
}
