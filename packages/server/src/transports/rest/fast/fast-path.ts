/** What the connections of the fast path share, and where they end: by time, by draining, or by being handed over. */
import type { Socket } from 'node:net'
import type { Decisions } from '../../../decisions.js'
import { ServiceError } from '../../../error-codes.js'
import { errorReply, type OrdinaryAnswers } from '../../../http/answers.js'
import type { Reply } from '../../../http/route.js'
import type { Caller } from '../../../security/caller.js'
import type { Gate } from '../../../security/gate.js'
import type { Tenant } from '../../../tenants.js'
import type { BodyBudget } from '../body-budget.js'
import { AnswerWriter } from './answer-writer.js'
import { Connection } from './connection.js'
import { CheckScanner } from './scan-checks.js'

export interface FastPathParts {
  readonly decisions: Decisions
  readonly answers: OrdinaryAnswers
  readonly gate: Gate
  readonly budget: BodyBudget
  readonly isTls: boolean
  /** Takes over a socket that asks for something else, and what it has sent already: all of it, or not. */
  readonly handOver: (socket: Socket, bytes: Buffer, hasEnded: boolean) => void
  readonly failed: (error: unknown) => void
}

/** A namespace, and the reader of plain checks in it. */
interface Home {
  readonly tenant: Tenant
  readonly scanner: CheckScanner
}

/** Checks of all connections together that may wait for the store; more than that would wait too long. */
const MOST_WAITING = 4000

export class FastPath {
  readonly decisions: Decisions
  readonly answers: OrdinaryAnswers
  readonly gate: Gate
  readonly budget: BodyBudget
  readonly isTls: boolean
  readonly writer: AnswerWriter
  isDraining = false
  /** Checks whose answers wait for the store. */
  waiting = 0
  /** Milliseconds that only go forward, as of the last sweep: enough for time-outs. */
  now = performance.now()
  readonly #homes = new WeakMap<Tenant, Home>()
  #last: Home | null = null
  readonly #connections = new Set<Connection>()
  readonly #heldUp = new Set<Connection>()
  readonly #parts: FastPathParts

  constructor(parts: FastPathParts) {
    this.#parts = parts
    this.decisions = parts.decisions
    this.answers = parts.answers
    this.gate = parts.gate
    this.budget = parts.budget
    this.isTls = parts.isTls
    this.writer = new AnswerWriter(parts.decisions)
  }

  /** The namespace that a caller's checks are of unless they say otherwise; null where there is none of that name. */
  homeOf({ namespaces }: Caller): Home | null {
    const { tenants } = this.decisions
    const only = namespaces?.size === 1 ? (namespaces.values().next().value as string) : null
    const tenant = tenants.get(only ?? tenants.home)
    if (tenant === undefined || namespaces?.has(tenant.namespace) === false) return null
    if (this.#last?.tenant === tenant) return this.#last
    let home = this.#homes.get(tenant)
    if (home === undefined) {
      home = { tenant, scanner: new CheckScanner(tenant.limiter) }
      this.#homes.set(tenant, home)
    }
    this.#last = home
    return home
  }

  accept(socket: Socket): void {
    this.#connections.add(new Connection(socket, this))
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection)
    this.#heldUp.delete(connection)
  }

  handOver(connection: Connection, bytes: Buffer, hasEnded: boolean): void {
    this.closed(connection)
    this.#parts.handOver(connection.socket, bytes, hasEnded)
  }

  get isHeldUp(): boolean {
    return this.waiting >= MOST_WAITING
  }

  /** This one waits until the store has caught up with the others. */
  holdUp(connection: Connection): true {
    this.#heldUp.add(connection)
    return true
  }

  caughtUp(checks: number): void {
    this.waiting -= checks
    if (this.#heldUp.size === 0 || this.waiting > MOST_WAITING / 2) return
    const connections = [...this.#heldUp]
    this.#heldUp.clear()
    setImmediate(() => {
      for (const connection of connections) connection.goOn()
    })
  }

  /** A defect, as an answer. */
  failed(error: unknown): Reply {
    this.#parts.failed(error)
    return errorReply(new ServiceError('internal', 'a defect in Sluice; its log says more'))
  }

  /** Ends what stands still. */
  sweep(requestMs: number, idleMs: number): void {
    this.now = performance.now()
    for (const connection of this.#connections)
      if (connection.isOverdue(this.now, requestMs, idleMs)) connection.socket.destroy()
  }

  /** Ends what is idle. */
  endIdle(): void {
    for (const connection of this.#connections) if (connection.isIdle) connection.socket.end()
  }
}
