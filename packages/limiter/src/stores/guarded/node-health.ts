/**
 * How each node of a store is doing: its breaker, and its gradual return. Rows come back at random within 100 ms,
 * at most 16 calls are in flight at first, twice as many every 100 ms. While all nodes are healthy this costs nothing.
 */
import { spread, textHash } from '../../rules/text-hash.js'
import type { DegradedReason } from '../answer.js'
import { rowKey } from '../last-seen-rows.js'
import type { Call, EndedCall } from '../remote-store.js'
import type { Transaction } from '../transaction.js'
import { Breaker, type BreakerState } from './breaker.js'

const SPREAD_MS = 100
const FIRST_CALLS = 16
/** After this long nothing is held back. */
const RAMP_MS = 1000

/** The breaker of one node; `node` is its address, '' if there is only one. */
export interface NodeBreaker {
  readonly node: string
  readonly breaker: BreakerState
}

class NodeHealth {
  readonly breaker: Breaker
  callsInFlight = 0
  /** Beats that are not answered. */
  beatsOut = 0
  /** The request or change that was admitted as the probe, until a call is sent. */
  #probe: object | null = null

  constructor(now: () => number) {
    this.breaker = new Breaker(now)
  }

  /**
   * Whether something may be asked now: half-open it is the probe. While a heartbeat is unanswered a probe would time
   * out too, and what is written to a connection that is dead would keep the client from noticing.
   */
  admits(asker: object): boolean {
    if (this.breaker.state === 'closed') return true
    if (this.beatsOut > 0 || !this.breaker.admits()) return false
    this.#probe = asker
    return true
  }

  /** A call is sent: it is the probe, if one was admitted. */
  sent(): void {
    this.#probe = null
  }

  /** If this was admitted as the probe and no call was sent, another request may be it. */
  release(asker: object): void {
    if (this.#probe !== asker) return
    this.#probe = null
    this.breaker.undecided()
  }

  isUsual(now: number): boolean {
    return this.breaker.state === 'closed' && now - this.breaker.closedAt > RAMP_MS
  }

  delays({ rules, values }: Transaction, now: number): boolean {
    const ms = now - this.breaker.closedAt
    if (ms > RAMP_MS) return false
    if (this.callsInFlight >= FIRST_CALLS * 2 ** Math.floor(ms / SPREAD_MS)) return true
    if (ms > SPREAD_MS) return false
    return rules.some((rule, i) => delayOf(rowKey(rule, values[i]!)) > ms)
  }
}

export class NodesHealth {
  readonly #now: () => number
  /** How long decisions may take, in milliseconds. Missed deadlines of less than half of it say nothing of a node. */
  readonly #deadlineMs: number
  readonly #nodes = new Map<string, NodeHealth>()
  /** Those that are not as usual. */
  readonly #unusual = new Set<NodeHealth>()

  /** `now`: milliseconds that never go back. `deadlineMs`: how long decisions may take. */
  constructor(now: () => number, deadlineMs: number) {
    this.#now = now
    this.#deadlineMs = deadlineMs
  }

  #of(name: string): NodeHealth {
    let node = this.#nodes.get(name)
    if (node === undefined) {
      node = new NodeHealth(this.#now)
      this.#nodes.set(name, node)
    }
    return node
  }

  /** Every node may be asked as usual. */
  get areAllHealthy(): boolean {
    if (this.#unusual.size === 0) return true
    const now = this.#now()
    for (const node of this.#unusual) if (node.isUsual(now)) this.#unusual.delete(node)
    return this.#unusual.size === 0
  }

  /** The worst of all. */
  get state(): BreakerState {
    const states = new Set([...this.#unusual].map(({ breaker }) => breaker.state))
    if (states.has('open')) return 'open'
    return states.has('half_open') ? 'half_open' : 'closed'
  }

  /** Nodes whose breaker is not closed. */
  get away(): NodeBreaker[] {
    const all = [...this.#nodes].map(([node, { breaker }]) => ({ node, breaker: breaker.state }))
    return all.filter(({ breaker }) => breaker !== 'closed')
  }

  isClosed(name: string): boolean {
    return (this.#nodes.get(name)?.breaker.state ?? 'closed') === 'closed'
  }

  /** Why a transaction is not to be asked of these nodes now; null: it may be. */
  refuses(names: readonly string[], transaction: Transaction): DegradedReason | null {
    const nodes = names.map((name) => this.#of(name))
    // A dry run is no probe: it succeeds on a store that cannot write.
    if (transaction.dryRun && nodes.some(({ breaker }) => breaker.state !== 'closed'))
      return 'breaker_open'
    if (nodes.some(({ breaker }) => breaker.state === 'open')) return 'breaker_open'
    const now = this.#now()
    // First: a request that is delayed must not use up the probe.
    if (nodes.some((node) => node.delays(transaction, now))) return 'store_returning'
    return this.#admits(nodes, transaction) ? null : 'breaker_open'
  }

  /** If `asker` was admitted as a probe of these nodes and no call was sent, another may be the probe. */
  release(names: readonly string[], asker: object): void {
    for (const name of names) this.#nodes.get(name)?.release(asker)
  }

  /** Whether a change may be asked of a node now. */
  admits(name: string, asker: object): boolean {
    return this.#unusual.size === 0 || this.#of(name).admits(asker)
  }

  /** All or none: a probe that one of them would be is not used up for nothing. */
  #admits(nodes: readonly NodeHealth[], asker: object): boolean {
    for (const [i, node] of nodes.entries()) {
      if (node.admits(asker)) continue
      for (const other of nodes.slice(0, i)) other.release(asker)
      return false
    }
    return true
  }

  started({ node, isBeat }: Call): void {
    if (isBeat) this.#of(node).beatsOut++
    else if (this.#unusual.size > 0) {
      const health = this.#of(node)
      health.callsInFlight++
      health.sent()
    }
  }

  ended({ node: name, isBeat, outcome, ms }: EndedCall): void {
    // A node that never failed and was sent no heartbeat.
    if (outcome === 'answered' && !this.#nodes.has(name)) return
    if (isBeat) {
      const beaten = this.#nodes.get(name)
      // The node may have been forgotten since.
      if (beaten === undefined || beaten.beatsOut === 0) return
      beaten.beatsOut--
      // It is sent however the node is doing, and says as much as a probe, if it was answered as quickly as decisions must be.
      if (outcome === 'answered' && ms <= this.#deadlineMs) beaten.breaker.sawAnswer()
      return
    }
    const node = this.#of(name)
    const { breaker } = node
    if (node.callsInFlight > 0) node.callsInFlight--
    if (outcome === 'answered') breaker.succeeded()
    else if (outcome === 'failed' || (outcome === 'late' && ms >= this.#deadlineMs / 2))
      breaker.failed()
    else breaker.undecided()
    if (breaker.state !== 'closed') this.#unusual.add(node)
  }

  isBeatOut(name: string): boolean {
    return (this.#nodes.get(name)?.beatsOut ?? 0) > 0
  }

  /** A connection was made, or others are in charge: what was refused may be answered now. */
  reconnected(): void {
    for (const { breaker } of this.#unusual) breaker.probeSoon()
  }

  /** Forgets nodes that are in charge of nothing any more. */
  keep(names: readonly string[]): void {
    if (this.#unusual.size === 0 || names.length === 0) return
    for (const [name, node] of this.#nodes) {
      if (names.includes(name)) continue
      this.#nodes.delete(name)
      this.#unusual.delete(node)
    }
  }
}

/** When a row comes back: milliseconds from 0 to SPREAD_MS, by its name. */
function delayOf(key: string): number {
  return (spread(textHash(key)) >>> 0) % SPREAD_MS
}
