/**
 * Counters in Redis, shared by any number of processes. What is asked in one turn of the event loop goes in one
 * call of a script, for each slot in a cluster, and is decided by the server's clock. What Redis does not answer
 * in time fails with a StoreFailure.
 */
import { randomUUID } from 'node:crypto'
import type { Family } from '../../rules/compiled-rule.js'
import { DEFAULT_NAMESPACE } from '../../rules/document.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Answer } from '../answer.js'
import { deadlineFrom, type Timers } from '../deadlines.js'
import type { LastSeenRows } from '../last-seen-rows.js'
import type { LeaseAsk, LeaseReply } from '../leasing.js'
import { type Changed, givingBack, type Operation } from '../operation.js'
import type { Beat, DecisionCallbacks, HearCalls, RemoteStore } from '../remote-store.js'
import { notConfirmedBy, type StoreFailure } from '../store.js'
import { type Moment, type Transaction, withParts } from '../transaction.js'
import {
  type Change,
  ChangeOperation,
  changeOf,
  grouped,
  type ScriptAnswer,
} from './change-operation.js'
import { ClusterDecider } from './cluster-decider.js'
import { type AskRowByRow, type DecideNeeds, DecideOperation } from './decide-operation.js'
import { Addresses, type Keys } from './keys.js'
import { LeaseOperation } from './lease-operation.js'
import { OperationQueue } from './operation-queue.js'
import { Records } from './records.js'
import type { RedisPort } from './redis-client.js'
import { ScriptCalls } from './script-calls.js'
import type { ScriptOperation } from './script-operation.js'
import { BEAT, CREATE, UNCLAIM } from './script-protocol.js'
import type { StoreClock } from './store-clock.js'

export interface RedisStoreParts {
  readonly port: RedisPort
  readonly keys: Keys
  readonly clock: StoreClock
  readonly timers: Timers
  readonly lastSeen: LastSeenRows
}

export class RedisStore implements RemoteStore {
  readonly isSync = false
  readonly #parts: RedisStoreParts
  readonly #id = randomUUID()
  /** In force, by namespace. */
  readonly #rules = new Map<string, RuleSet>()
  readonly #addresses: Addresses
  readonly #records: Records
  readonly #decideNeeds: DecideNeeds
  readonly #calls: ScriptCalls
  readonly #queue: OperationQueue
  readonly #cluster: ClusterDecider | null

  constructor(parts: RedisStoreParts) {
    const { port, timers, clock, keys } = parts
    this.#parts = parts
    this.#addresses = new Addresses(keys, port.isCluster)
    this.#records = new Records(this.#rules)
    const { lastSeen } = parts
    this.#decideNeeds = { addresses: this.#addresses, records: this.#records, lastSeen }
    this.#calls = new ScriptCalls({ port, timers, clock })
    this.#queue = new OperationQueue(this.#calls, timers, (operation) => this.#create(operation))
    this.#cluster = port.isCluster ? this.#clusterDecider() : null
  }

  /** Calls of Redis since the start. */
  get calls(): number {
    return this.#calls.count
  }

  use(rules: RuleSet): void {
    this.#rules.set(rules.namespace, rules)
    this.#addresses.use(rules)
  }

  close(): void {}

  decide(transaction: Transaction): Promise<Answer> {
    return new Promise((answered, failed) => this.ask(transaction, { answered, failed }))
  }

  ask(transaction: Transaction, callbacks: DecisionCallbacks): void {
    if (this.#cluster !== null) this.#askCluster(this.#cluster, transaction, callbacks)
    else this.#queue.push(new DecideOperation(transaction, 0, this.#decideNeeds, callbacks))
  }

  #askCluster(
    cluster: ClusterDecider,
    transaction: Transaction,
    callbacks: DecisionCallbacks,
  ): void {
    cluster.decide(transaction).then(
      (answer) => callbacks.answered(answer),
      (error: unknown) => callbacks.failed(error),
    )
  }

  /** In a cluster, of one slot. */
  #askSlot(
    transaction: Transaction,
    slot: number,
    rowByRow: AskRowByRow | null = null,
  ): Promise<Answer> {
    return new Promise((answered, failed) => {
      const callbacks = { answered, failed }
      this.#queue.push(
        new DecideOperation(transaction, slot, this.#decideNeeds, callbacks, rowByRow),
      )
    })
  }

  #clusterDecider(): ClusterDecider {
    const { lastSeen, timers } = this.#parts
    const addresses = this.#addresses
    const rowByRow: AskRowByRow = (whole, callbacks) =>
      this.#askCluster(this.#cluster!, whole, callbacks)
    // The whole request has failed because a part was late: what the part took is given back.
    const late = (answer: Answer) => this.#giveBack(answer)
    return new ClusterDecider({
      addresses,
      deadlineMs: timers.deadlineMs,
      records: this.#records,
      decideInSlot: (transaction, slot) => this.#askSlot(transaction, slot, rowByRow),
      askPart: (transaction) => {
        const slot = addresses.slotOfRow(transaction.rules[0]!.family, transaction.values[0]!)
        return this.#askSlot(withParts(transaction, { late }), slot)
      },
      giveBack: (answer) => this.#giveBack(answer),
      record: (change, { now, deadline }) => {
        // A claim is given up when the request has failed, maybe at its deadline.
        const moment = change.code === UNCLAIM ? this.#soon(now) : { now, deadline }
        return this.#change({ ...change, layout: null, items: [] }, moment)
      },
      isMoving: (slot) => this.#queue.isMoving(slot),
      leftOf: ({ rules, values }, rule) => lastSeen.leftOf(rules[rule]!, values[rule]!),
    })
  }

  #giveBack(answer: Answer): void {
    if (!answer.allowed || answer.transaction.dryRun) return
    void this.change(givingBack(answer), this.#soon(answer.transaction.now))
    // Sent now, not at the end of the turn: until it arrives others may be denied what comes back.
    this.#queue.flush()
  }

  /** The moment of what nobody waits for. */
  #soon(now: number): Moment {
    return { now, deadline: deadlineFrom(this.#parts.timers) }
  }

  async change(operations: readonly Operation[], moment: Moment): Promise<Changed[]> {
    const groups = grouped(operations)
    const said = await Promise.all(
      groups.map(async (group): Promise<Changed[]> => {
        try {
          const { numbers } = await this.#change(changeOf(group, this.#addresses), moment)
          return group.map((_, i) => numbers[i]!)
        } catch (error) {
          return group.map(() => notConfirmedBy(error))
        }
      }),
    )
    return said.flat()
  }

  #change(change: Change, moment: Moment): Promise<ScriptAnswer> {
    return new Promise((resolve, reject) =>
      this.#queue.push(new ChangeOperation(change, moment, resolve, reject)),
    )
  }

  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const { lastSeen } = this.#parts
    this.#queue.push(new LeaseOperation(ask, this.#addresses, lastSeen, answered, failed))
  }

  /** The row, and the keys of its logs and holds, each by a call of its own. */
  #create({ keys, layouts, slot, now, deadline }: ScriptOperation): Promise<unknown> {
    const [[row], [layout]] = [keys, layouts]
    if (row === undefined || layout === undefined) return Promise.resolve()
    const all = [
      { key: row, kind: '' },
      ...layout.sideKeys.map((sideKey) => ({ key: `${row}:${sideKey}`, kind: sideKey[0]! })),
    ]
    return Promise.all(
      all.map(({ key, kind }) => {
        const texts = [kind, layout.blank]
        const change = { code: CREATE, slot, key, layout: null, texts, items: [] }
        return this.#change(change, { now, deadline })
      }),
    )
  }

  nodeOf(family: Family, value: string): string {
    return this.#parts.port.nodeOf(this.#addresses.slotOfRow(family, value))
  }

  nodesOf({ rules, values, idempotency, dryRun }: Transaction): readonly string[] {
    const { port } = this.#parts
    if (!port.isCluster) return ONE_NODE
    const nodes = new Set(rules.map(({ family }, i) => this.nodeOf(family, values[i]!)))
    if (idempotency !== null && !dryRun)
      nodes.add(port.nodeOf(this.#addresses.slotOfRecord(idempotency)))
    return [...nodes]
  }

  get nodes(): readonly string[] {
    const { port } = this.#parts
    return port.isCluster ? port.nodes() : ONE_NODE
  }

  beat(node: string | null): Beat {
    const { keys, port } = this.#parts
    // The same for every instance, in whatever order they came to know their namespaces. One without rules may be gone.
    const known = [...this.#rules.values()].filter(({ families }) => families.size > 0)
    const [namespace = DEFAULT_NAMESPACE] = known.map((rules) => rules.namespace).sort()
    let tag = namespace
    // A key of that node's own: some number's slot is there.
    if (node !== null && node !== '')
      for (let i = 0; i < MOST_TAGS && port.nodeOf(this.#addresses.slotOfTag(tag)) !== node; i++)
        tag = `${namespace}|${i}`
    const slot = this.#addresses.slotOfTag(tag)
    const key = keys.instances(tag)
    const change = { code: BEAT, slot, key, layout: null, texts: [this.#id], items: [] }
    const deadline = this.#parts.timers.now() + LONGEST_BEAT_MS
    // In a call of its own, which says how the node is doing.
    this.#queue.flush()
    const answered = this.#change(change, { now: 1000 * Date.now(), deadline })
    this.#queue.flush()
    return { node: port.nodeOf(slot), count: answered.then(({ numbers }) => numbers[0]!) }
  }

  findOwners(): void {
    this.#parts.port.findOwners()
  }

  onCall(hear: HearCalls): void {
    this.#calls.hear = hear
  }

  onReconnect(hear: () => void): () => void {
    return this.#parts.port.onReconnect(hear)
  }
}

const ONE_NODE: readonly string[] = ['']
const LONGEST_BEAT_MS = 10_000
/** Tags that are tried for finding a key of a node. */
const MOST_TAGS = 10_000
