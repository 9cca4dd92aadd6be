/**
 * Answers while the store below does not: decisions by each rule's failure mode, changes by saying that they were
 * not done. A decision of which one row is on a node that is not to be asked is answered here as a whole, so that
 * nothing is taken elsewhere for it.
 */
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import type { Answer, DegradedReason } from '../answer.js'
import type { LeaseAsk, LeaseReply, LeasingStore } from '../leasing.js'
import type { Changed, NotConfirmed, Operation } from '../operation.js'
import type { DecisionCallbacks, RemoteStore } from '../remote-store.js'
import { type Awaitable, StoreFailure } from '../store.js'
import { type Moment, newTransaction, type Transaction } from '../transaction.js'
import type { BreakerState } from './breaker.js'
import { Heartbeat, type Instances } from './heartbeat.js'
import type { LocalFallback } from './local-fallback.js'
import { type NodeBreaker, NodesHealth } from './node-health.js'

export interface GuardedStoreParts {
  readonly inner: RemoteStore
  /** Answers while the store is away. */
  readonly local: LocalFallback
  /** How many share the limits: heartbeats count them. */
  readonly instances: Instances
  /** How long a decision may take, in milliseconds. */
  readonly deadlineMs: number
  /** Milliseconds that never go back, for the breakers and the return. */
  readonly now: () => number
}

export class GuardedStore implements LeasingStore {
  readonly isSync = false
  readonly #inner: RemoteStore
  readonly #nodes: NodesHealth
  readonly #instances: Instances
  readonly #heartbeat: Heartbeat
  readonly #local: LocalFallback
  readonly #stopHearing: () => void

  constructor({ inner, local, instances, deadlineMs, now }: GuardedStoreParts) {
    this.#inner = inner
    this.#local = local
    this.#instances = instances
    this.#nodes = new NodesHealth(now, deadlineMs)
    this.#heartbeat = new Heartbeat(inner, this.#nodes, instances)
    inner.onCall({
      started: (call) => this.#nodes.started(call),
      ended: (call) => this.#nodes.ended(call),
    })
    this.#stopHearing = inner.onReconnect(() => {
      this.#nodes.keep(inner.nodes)
      this.#nodes.reconnected()
    })
  }

  get state(): BreakerState {
    return this.#nodes.state
  }

  /** Nodes whose breaker is not closed. */
  get nodesAway(): NodeBreaker[] {
    return this.#nodes.away
  }

  get instances(): number {
    return this.#instances.count
  }

  beat(): Promise<void> {
    return this.#heartbeat.beat()
  }

  decide(transaction: Transaction): Awaitable<Answer> {
    if (!this.#nodes.areAllHealthy) return this.#decideWithCare(transaction)
    return this.#ask(transaction)
  }

  /** Some node is not as usual. */
  #decideWithCare(transaction: Transaction): Awaitable<Answer> {
    const names = this.#inner.nodesOf(transaction)
    const refusal = this.#nodes.refuses(names, transaction)
    if (refusal !== null) return this.#local.decide(transaction, refusal)
    // A request may be answered before all of these nodes were asked; then another request may be the probe.
    return this.#ask(transaction).finally(() => this.#nodes.release(names, transaction))
  }

  #ask(transaction: Transaction): Promise<Answer> {
    this.#reportLocalUse(transaction)
    return new Promise((resolve, reject) =>
      this.#inner.ask(transaction, new AskedDecision(transaction, this.#local, resolve, reject)),
    )
  }

  /** Before the store decides about these rows. */
  #reportLocalUse(transaction: Transaction): void {
    this.#local.report(transaction, (raises) => this.#inner.change(raises, transaction))
  }

  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const { rule, value, now, deadline } = ask
    const transaction = newTransaction([rule], [value], 0, now, { deadline })
    const refusal = this.#refusesLease(transaction)
    if (refusal !== null) return failed(new StoreFailure(refusal, 'not_done'))
    this.#reportLocalUse(transaction)
    this.#inner.lease(
      ask,
      (reply) => {
        this.#local.forget(reply.answer)
        answered(reply)
      },
      failed,
    )
  }

  /** A lease is no probe. */
  #refusesLease(transaction: Transaction): DegradedReason | null {
    if (this.#nodes.areAllHealthy) return null
    const names = this.#inner.nodesOf(transaction)
    if (names.some((name) => !this.#nodes.isClosed(name))) return 'breaker_open'
    return this.#nodes.refuses(names, transaction)
  }

  /**
   * What was done without the store is changed in local memory, the rest in the store. If the node of one row must not be
   * asked, nothing is changed elsewhere: what is partly done cannot be repeated. Holds are renewed and released row by row.
   */
  async change(operations: readonly Operation[], moment: Moment): Promise<Changed[]> {
    const changed: Changed[] = []
    const there: number[] = []
    for (const [i, operation] of operations.entries()) {
      const here = this.#changeHere(operation, moment)
      if (here !== null) changed[i] = here
      else there.push(i)
    }
    const admitted = new Map<string, boolean>()
    const isAdmitted = there.map((i) => this.#admits(operations[i]!, admitted))
    const isRefused = there.some((i, n) => !isAdmitted[n] && !isOfHold(operations[i]!))
    const asked = there.filter((i, n) => isAdmitted[n] && (!isRefused || isOfHold(operations[i]!)))
    for (const i of there) if (!asked.includes(i)) changed[i] = 'not_done'
    const done = await this.#inner.change(
      asked.map((i) => operations[i]!),
      moment,
    )
    if (admitted.size > 0) this.#nodes.release([...admitted.keys()], admitted)
    for (const [n, i] of asked.entries()) changed[i] = done[n]!
    return this.#withLocal(operations, changed, moment)
  }

  /** What local memory says; null if the store must be asked. */
  #changeHere(operation: Operation, moment: Moment): Changed | null {
    const { kind } = operation
    if (kind === 'refund' && operation.take.isLocal) return this.#local.changeOne(operation, moment)
    if (kind !== 'renew') return null
    const expiry = this.#local.changeOne(operation, moment)
    return operation.isLocal || expiry !== 0 ? expiry : null
  }

  /** One probe of a node is for all operations there. */
  #admits(operation: Operation, admitted: Map<string, boolean>): boolean {
    if (this.#nodes.areAllHealthy) return true
    const family = operation.kind === 'reset' ? operation.family : operation.rule.family
    const node = this.#inner.nodeOf(family, operation.value)
    const known = admitted.get(node) ?? this.#nodes.admits(node, admitted)
    admitted.set(node, known)
    return known
  }

  /** Resets and releases are for the store and for what was counted here. */
  #withLocal(operations: readonly Operation[], changed: Changed[], moment: Moment): Changed[] {
    return changed.map((there, i) => {
      const operation = operations[i]!
      if (operation.kind === 'release')
        // Redis may have taken a hold that it did not answer for in time.
        return combined(there, this.#local.changeOne(operation, moment))
      if (operation.kind === 'reset' && there !== 'not_done')
        this.#local.changeOne(operation, moment)
      return there
    })
  }

  *use(rules: RuleSet): Slices<void> {
    const rest = this.#inner.use(rules)
    if (rest !== undefined) yield* rest
    yield* this.#local.use(rules)
    this.#heartbeat.start()
  }

  async close(): Promise<void> {
    this.#heartbeat.stop()
    this.#stopHearing()
    await this.#inner.close()
  }
}

/** A decision that the store below was asked for; if it fails, the fallback answers. */
class AskedDecision implements DecisionCallbacks {
  constructor(
    private readonly transaction: Transaction,
    private readonly local: LocalFallback,
    private readonly resolve: (answer: Answer) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  answered(answer: Answer): void {
    try {
      if (!answer.isReplay) this.local.forget(answer)
      this.resolve(answer)
    } catch (fault) {
      this.reject(fault)
    }
  }

  failed(error: unknown): void {
    if (!(error instanceof StoreFailure)) return this.reject(error)
    try {
      this.resolve(this.local.decide(this.transaction, error.reason))
    } catch (fault) {
      this.reject(fault)
    }
  }
}

function isOfHold({ kind }: Operation): boolean {
  return kind === 'renew' || kind === 'release'
}

/** What a release came to, in both places. */
function combined(there: Changed, here: number): number | NotConfirmed {
  if (typeof there === 'number') return there + here
  return here > 0 && there === 'not_done' ? here : there
}
