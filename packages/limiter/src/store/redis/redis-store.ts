/**
 * Counters in Redis, shared by any number of processes. Whatever is asked in one turn of the event loop
 * goes in one call of a script, per slot in a cluster, and is decided by the server's clock. What Redis
 * does not answer is answered by the safeguard.
 */
import { randomUUID } from 'node:crypto'
import { GIVEN_BACK, MARK, MARK_REST } from '../../algorithms/verdict.js'
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import { TwoGenerations } from '../../rules/two-generations.js'
import {
  ALLOWED,
  type Answer,
  DECIDED_AT,
  DEGRADED,
  type DegradedReason,
  type HoldPlace,
  IdempotencyConflict,
  IdempotencyInProgress,
  type LimitChange,
  type Return,
  type Store,
  StoreFailure,
  type Transaction,
  type Verdicts,
} from '../store.js'
import {
  BEAT,
  CHARGE,
  CLAIM,
  CONFIRM,
  changeArguments,
  GRANT,
  type Item,
  type Operation,
  RAISE,
  REFUND,
  RELEASE,
  RENEW,
  RESET,
  UNCLAIM,
} from './change-call.js'
import { type Asked, consumeArguments, verdictsOf } from './consume-call.js'
import {
  describeTransaction,
  fingerprintOf,
  type Recalled,
  recallRecord,
  recordBody,
} from './idempotency-record.js'
import { Keys, slotOf } from './keys.js'
import type { RedisPort, Reply } from './redis-client.js'
import { RuleLayout } from './rule-layout.js'
import type { Safeguard } from './safeguard.js'
import { isTryAgain, Script, ScriptCalls } from './script-calls.js'
import { CHANGE, CONSUME } from './scripts.js'
import { consumeParts, type Part, type Slots, type Takes, takesOf } from './several-slots.js'
import { StoreClock } from './store-clock.js'

/** Transactions of one call: a script of more would keep Redis for too long. */
const MOST_IN_A_CALL = 64
/** How long an answer can be replayed, in milliseconds. */
const RECORD_MS = 300_000
/** How long the rows of a slot in migration are asked for one by one. */
const SPLIT_MS = 1000

const consumeScript = new Script(CONSUME)
const changeScript = new Script(CHANGE)

export interface RedisStoreParts {
  readonly port: RedisPort
  readonly safeguard: Safeguard
  readonly keys: Keys
  readonly deadlineMs: number
  /** Microseconds; tests decide by it instead of the server's clock. */
  readonly time: (() => number) | null
}

/** A transaction on its way. */
interface Pending extends Asked {
  readonly slot: number
  readonly resolve: (verdicts: Verdicts) => void
  readonly reject: (error: unknown) => void
  /** Part of a transaction in several slots: whoever asked deals with failures. */
  readonly isPart: boolean
  readonly startedAt: number
  /** How often other calendar bounds were needed. */
  asks: number
}

export class RedisStore implements Store, Slots {
  readonly isSync = false
  readonly clock = new StoreClock()
  readonly #id = randomUUID()
  readonly #port: RedisPort
  readonly #calls: ScriptCalls
  readonly #safeguard: Safeguard
  readonly #keys: Keys
  readonly #deadlineMs: number
  readonly #time: (() => number) | null
  readonly #layouts = new WeakMap<CompiledRule, RuleLayout>()
  readonly #batches = new Map<number, Pending[]>()
  /** Takes of this instance by their record's key: their receipts are the ones that count. */
  readonly #own = new TwoGenerations<string, Recalled>(10_000)
  /** Slots in migration, until when their rows are asked for one by one. */
  readonly #splitUntil = new Map<number, number>()
  #rules!: RuleSet
  #isScheduled = false
  /** This instance's time when it last asked. */
  #lastAsked = 0

  constructor(parts: RedisStoreParts) {
    this.#port = parts.port
    this.#safeguard = parts.safeguard
    this.#keys = parts.keys
    this.#deadlineMs = parts.deadlineMs
    this.#time = parts.time
    this.#calls = new ScriptCalls(parts.port, parts.safeguard)
  }

  use(rules: RuleSet): void {
    this.#rules = rules
    this.#safeguard.local.use(rules)
  }

  close(): Answer<void> {
    return this.#safeguard.local.close()
  }

  consume(transaction: Transaction): Answer<Verdicts> {
    const refusal = this.#safeguard.refuses(transaction)
    if (refusal !== null) return this.#safeguard.decide(transaction, refusal)
    const owed = this.#safeguard.owed(transaction)
    if (owed.length > 0) void this.#changeAll(RAISE, owed).catch(() => {})
    if (this.#port.isCluster) return this.#consumeInCluster(transaction)
    return new Promise((resolve, reject) => {
      this.#enqueue(transaction, 0, false, resolve, reject)
    })
  }

  #enqueue(
    transaction: Transaction,
    slot: number,
    isPart: boolean,
    resolve: (verdicts: Verdicts) => void,
    reject: (error: unknown) => void,
  ): void {
    const { rules, values, idempotency, dryRun } = transaction
    const layouts: RuleLayout[] = []
    const keys: string[] = []
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      layouts.push(this.#layoutOf(rule))
      keys.push(this.#rowKey(rule.family, values[i]!))
    }
    const once =
      idempotency === null || dryRun
        ? null
        : ([
            this.#recordKey(transaction),
            fingerprintOf(idempotency),
            describeTransaction(transaction),
          ] as const)
    const startedAt = performance.now()
    this.#push({
      transaction,
      layouts,
      keys,
      once,
      slot,
      resolve,
      reject,
      isPart,
      startedAt,
      asks: 0,
    })
  }

  #push(pending: Pending): void {
    const { slot } = pending
    if (this.#isSplit(slot)) return this.#send([pending])
    const batch = this.#batches.get(slot)
    if (batch === undefined) this.#batches.set(slot, [pending])
    else batch.push(pending)
    if (batch?.length === MOST_IN_A_CALL) {
      this.#batches.delete(slot)
      this.#send(batch)
    } else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#flush())
    }
  }

  #flush(): void {
    this.#isScheduled = false
    const batches = [...this.#batches.values()]
    this.#batches.clear()
    for (const batch of batches) this.#send(batch)
  }

  #send(batch: readonly Pending[]): void {
    const asked = this.#time === null ? batch[0]!.transaction.now : this.#time()
    this.#lastAsked = asked
    const { keys, args } = consumeArguments(batch, this.#time === null ? 0 : asked, this.#packed)
    const sentAt = performance.now()
    const read = (reply: Reply) => {
      this.clock.measure(asked, performance.now() - sentAt, reply[0] as number)
      this.#read(batch, reply)
    }
    const failed = (failure: StoreFailure) => this.#failed(batch, failure)
    this.#calls.run({ script: consumeScript, keys, args, isTold: true }).then(read, failed)
  }

  #read(batch: readonly Pending[], reply: Reply): void {
    const letters = reply[1] as Buffer
    let first = 2
    for (const [i, pending] of batch.entries()) {
      try {
        this.#readOne(pending, String.fromCharCode(letters[i]!), reply, first)
      } catch (error) {
        this.#failed([pending], new StoreFailure('store_refused', true, error))
      }
      first += pending.layouts.length
    }
  }

  #readOne(pending: Pending, letter: string, reply: Reply, first: number): void {
    const { transaction, once, resolve, reject } = pending
    if (letter === '1' || letter === '0') {
      const now = reply[0] as number
      const verdicts = verdictsOf(pending, letter === '1', now, reply, first, this.#saw)
      if (once !== null && letter === '1') this.#own.set(once[0], { transaction, verdicts })
      resolve(verdicts)
    } else if (letter === 'r') this.#replay(pending, reply[first] as Buffer)
    else if (letter === 'c') reject(new IdempotencyConflict())
    else if (letter === 'p') reject(new IdempotencyInProgress())
    else if (pending.asks++ < 3) this.#push(pending)
    else this.#failed([pending], new StoreFailure('store_refused', false))
  }

  readonly #saw: Safeguard['saw'] = (rule, value, taken, cost, verdicts, at) =>
    this.#safeguard.saw(rule, value, taken, cost, verdicts, at)

  #replay(pending: Pending, record: Buffer): void {
    const { transaction, verdicts } = this.#recalled(pending.once![0], record)
    ;(pending.transaction as { replayOf: Transaction | null }).replayOf = transaction
    pending.resolve(verdicts)
  }

  #recalled(key: string, record: Buffer): Recalled {
    const recalled = recallRecord(record, this.#rules)
    const own = this.#own.get(key)
    return own?.verdicts[DECIDED_AT] === recalled.verdicts[DECIDED_AT] ? own! : recalled
  }

  #failed(batch: readonly Pending[], failure: StoreFailure): void {
    if (isTryAgain(failure)) this.#splitUntil.set(batch[0]!.slot, performance.now() + SPLIT_MS)
    for (const pending of batch) {
      const { transaction, isPart, resolve, reject } = pending
      const hasTime = performance.now() - pending.startedAt < this.#deadlineMs / 2
      if (isTryAgain(failure) && hasTime && batch.length > 1) this.#send([pending])
      else if (isTryAgain(failure) && hasTime && !isPart && pending.keys.length > 1)
        this.#consumeInCluster(transaction).then(resolve, reject)
      else if (isPart) reject(failure)
      else this.#degrade(transaction, failure.reason, resolve, reject)
    }
  }

  #degrade(
    transaction: Transaction,
    reason: DegradedReason,
    resolve: (verdicts: Verdicts) => void,
    reject: (error: unknown) => void,
  ): void {
    try {
      resolve(this.#safeguard.decide(transaction, reason))
    } catch (conflict) {
      reject(conflict)
    }
  }

  // A cluster: one call where all rows are in one slot, else one for each slot and, in a slot that is on
  // the move, for each row.

  #consumeInCluster(transaction: Transaction): Promise<Verdicts> {
    const parts = this.#partsOf(transaction)
    const { idempotency, dryRun } = transaction
    const once = idempotency !== null && !dryRun
    const isOne =
      parts.length === 1 && (!once || parts[0]!.slot === slotOf(this.#recordTag(transaction)))
    if (isOne)
      return new Promise((resolve, reject) => {
        this.#enqueue(transaction, parts[0]!.slot, false, resolve, reject)
      })
    const answer = once
      ? this.#consumeOnce(transaction, parts)
      : this.#consumeParts(transaction, parts)
    return this.#inTime(transaction, answer, !once)
  }

  /** Several calls have one deadline together. What is taken after it is given back, if it can be. */
  #inTime(
    transaction: Transaction,
    answer: Promise<Verdicts>,
    canGiveBack: boolean,
  ): Promise<Verdicts> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const degrade = (reason: DegradedReason) =>
        this.#degrade(transaction, reason, resolve, reject)
      const deadline = this.#safeguard.deadline(() => {
        isOver = true
        degrade('store_timeout')
      })
      const answered = (verdicts: Verdicts) => {
        deadline.isMet = true
        if (!isOver) resolve(verdicts)
        else if (canGiveBack && verdicts[ALLOWED] === 1 && !transaction.dryRun)
          this.giveBack(takesOf(transaction, verdicts))
      }
      const failed = (failure: unknown) => {
        deadline.isMet = true
        if (isOver) return
        if (failure instanceof StoreFailure) degrade(failure.reason)
        else reject(failure)
      }
      answer.then(answered, failed)
    })
  }

  #isSplit(slot: number): boolean {
    return this.#splitUntil.size > 0 && (this.#splitUntil.get(slot) ?? 0) > performance.now()
  }

  #partsOf({ rules, values }: Transaction): Part[] {
    const parts: { slot: number; rules: number[] }[] = []
    for (const [i, { family }] of rules.entries()) {
      const slot = slotOf(this.#tag(family, values[i]!))
      const known = this.#isSplit(slot) ? undefined : parts.find((part) => part.slot === slot)
      if (known === undefined) parts.push({ slot, rules: [i] })
      else known.rules.push(i)
    }
    if (this.#splitUntil.size > 1000) this.#splitUntil.clear()
    return parts.sort((a, b) => a.slot - b.slot)
  }

  #consumeParts(transaction: Transaction, parts: readonly Part[]): Promise<number[]> {
    const { rules, values } = transaction
    const isTight = rules.some((rule, i) => this.#safeguard.leftOf(rule, values[i]!) <= 0.1)
    return consumeParts(this, transaction, parts, isTight)
  }

  ask(part: Transaction): Promise<Verdicts> {
    const slot = slotOf(this.#tag(part.rules[0]!.family, part.values[0]!))
    return new Promise((resolve, reject) => this.#enqueue(part, slot, true, resolve, reject))
  }

  giveBack({ returns, holds }: Takes): void {
    void this.#changeAll(REFUND, returns, refundItem).catch(() => {})
    for (const hold of holds) void this.#holdAll(RELEASE, hold).catch(() => {})
  }

  /** Claims the key in its home slot, takes, and answers only once that is confirmed there. */
  async #consumeOnce(transaction: Transaction, parts: readonly Part[]): Promise<Verdicts> {
    const owner = randomUUID()
    const key = this.#recordKey(transaction)
    const slot = slotOf(this.#recordTag(transaction))
    const fingerprint = fingerprintOf(transaction.idempotency!)
    const record = async (code: number, lifeMs: number, body: Buffer | string) => {
      const texts = [owner, String(lifeMs), fingerprint, body]
      const [answer] = await this.#change([{ code, slot, key, layout: null, texts, items: [] }])
      return answer![0] as Buffer
    }
    const conclude = (answer: Buffer): Verdicts | null => {
      const letter = String.fromCharCode(answer[0]!)
      if (letter === 'c') throw new IdempotencyConflict()
      if (letter === 'p') throw new IdempotencyInProgress()
      if (letter !== 'r') return null
      const { transaction: replayed, verdicts } = this.#recalled(key, answer.subarray(1))
      ;(transaction as { replayOf: Transaction | null }).replayOf = replayed
      return verdicts
    }
    const known = conclude(await record(CLAIM, 2 * this.#deadlineMs, ''))
    if (known !== null) return known
    let verdicts: number[]
    try {
      verdicts = await this.#consumeParts(transaction, parts)
    } catch (failure) {
      void record(UNCLAIM, 0, '').catch(() => {})
      throw failure
    }
    if (verdicts[ALLOWED] !== 1) {
      void record(UNCLAIM, 0, '').catch(() => {})
      return verdicts
    }
    const limits = transaction.rules.map((rule) => rule.limits.length)
    const body = recordBody(describeTransaction(transaction), verdicts, limits)
    const giveAllBack = () => this.giveBack(takesOf(transaction, verdicts))
    try {
      const other = conclude(await record(CONFIRM, RECORD_MS, body))
      if (other === null) {
        this.#own.set(key, { transaction, verdicts })
        return verdicts
      }
      giveAllBack()
      return other
    } catch (failure) {
      giveAllBack()
      throw failure
    }
  }

  // Everything but deciding.

  async refund(returns: readonly Return[], now: number): Promise<number[]> {
    const isLocal = ({ verdicts }: Return) => verdicts[DEGRADED] !== 0
    const local = await this.#safeguard.local.refund(returns.filter(isLocal), now)
    const shared = await this.#attempt(
      returns.filter((item) => !isLocal(item)),
      REFUND,
      refundItem,
    )
    return returns.map((item) => (isLocal(item) ? local : shared).shift()!)
  }

  grant(changes: readonly LimitChange[]): Promise<number[]> {
    return this.#attempt(changes, GRANT)
  }

  charge(changes: readonly LimitChange[]): Promise<number[]> {
    return this.#attempt(changes, CHARGE)
  }

  /** Zeros where Redis did not answer. */
  async #attempt<C extends LimitChange>(
    changes: readonly C[],
    code: number,
    item?: (change: C) => Item,
  ): Promise<number[]> {
    return this.#changeAll(code, changes, item).catch(() => changes.map(() => 0))
  }

  async reset(
    rows: readonly { readonly family: Family; readonly value: string }[],
    now: number,
  ): Promise<number | null> {
    const operations = rows.map(({ family, value }) => ({
      code: RESET,
      slot: this.#slot(family, value),
      key: this.#rowKey(family, value),
      layout: RuleLayout.ofFamily(family),
      texts: [],
      items: [],
    }))
    await this.#safeguard.local.reset(rows, now)
    try {
      const used = await this.#change(operations)
      return used.filter(([each]) => each === 1).length
    } catch {
      return null
    }
  }

  async renew(hold: HoldPlace, now: number): Promise<number | null> {
    const local = await this.#safeguard.local.renew(hold, now)
    if (hold.isDegraded === true || (local !== null && local > 0)) return local
    try {
      const expiries = await this.#holdAll(RENEW, hold)
      return expiries.length === 0 ? 0 : Math.min(...expiries)
    } catch {
      return null
    }
  }

  async release(hold: HoldPlace, now: number): Promise<boolean> {
    const local = await this.#safeguard.local.release(hold, now)
    if (local || hold.isDegraded === true) return local
    try {
      return (await this.#holdAll(RELEASE, hold)).some((released) => released > 0)
    } catch {
      return false
    }
  }

  /** Says that this instance is there, and finds out how many are. */
  async beat(): Promise<void> {
    const key = this.#keys.instances
    const slot = this.#port.isCluster ? slotOf(key) : 0
    try {
      const [count] = await this.#change([
        { code: BEAT, slot, key, layout: null, texts: [this.#id], items: [] },
      ])
      this.#safeguard.counted(count![0] as number)
    } catch {
      // The next one may get through.
    }
  }

  async #holdAll(code: number, { id, rows }: HoldPlace): Promise<number[]> {
    const answers = await this.#change(
      rows.map(({ rule, value }) => ({
        code,
        slot: this.#slot(rule.family, value),
        key: this.#rowKey(rule.family, value),
        layout: this.#layoutOf(rule),
        texts: [id],
        items: [],
      })),
    )
    return answers.map(([answer]) => answer as number)
  }

  /** Changes of one row go together. */
  async #changeAll<C extends LimitChange>(
    code: number,
    changes: readonly C[],
    item: (change: C) => Item = plainItem,
  ): Promise<number[]> {
    const rows = new Map<string, number[]>()
    for (const [i, { rule, value }] of changes.entries()) {
      const key = `${rule.name} ${this.#rowKey(rule.family, value)}`
      rows.set(key, [...(rows.get(key) ?? []), i])
    }
    const places = [...rows.values()]
    const operations = places.map((own) => {
      const { rule, value } = changes[own[0]!]!
      return {
        code,
        slot: this.#slot(rule.family, value),
        key: this.#rowKey(rule.family, value),
        layout: this.#layoutOf(rule),
        texts: [],
        items: own.map((i) => item(changes[i]!)),
      }
    })
    const answers = await this.#change(operations)
    const amounts = changes.map(() => 0)
    for (const [n, own] of places.entries())
      for (const [m, i] of own.entries()) amounts[i] = answers[n]![m] as number
    return amounts
  }

  /** One call for each slot. Answers each operation's answers: one for each item, one where it has none. */
  async #change(operations: readonly Operation[]): Promise<(number | Buffer)[][]> {
    const answers: (number | Buffer)[][] = operations.map(() => [])
    const slots = new Set(operations.map(({ slot }) => slot))
    await Promise.all(
      [...slots].map(async (slot) => {
        const places = [...operations.keys()].filter((i) => operations[i]!.slot === slot)
        for (let from = 0; from < places.length; from += MOST_IN_A_CALL) {
          const chunk = places.slice(from, from + MOST_IN_A_CALL)
          const reply = await this.#runChange(chunk.map((i) => operations[i]!))
          let at = 1
          for (const i of chunk) {
            const end = at + Math.max(1, operations[i]!.items.length)
            answers[i] = reply.slice(at, end)
            at = end
          }
        }
      }),
    )
    return answers
  }

  async #runChange(operations: readonly Operation[]): Promise<Reply> {
    // What is owed goes before a decision that was let through, a probe perhaps.
    const { code } = operations[0]!
    const isOwed = code === RAISE
    if (this.#safeguard.state !== 'closed' && !isOwed) throw new StoreFailure('breaker_open', false)
    const now = this.#time === null ? 0 : this.#time()
    const { keys, args } = changeArguments(operations, now, this.#packed)
    const isTold = !isOwed && code !== BEAT
    return this.#calls.run({ script: changeScript, keys, args, isTold })
  }

  readonly #packed = (layout: RuleLayout): Buffer => {
    if (this.#time !== null) return layout.packed(this.#time(), 0)
    return layout.packed(this.clock.at(this.#lastAsked), this.clock.offset)
  }

  #layoutOf(rule: CompiledRule): RuleLayout {
    let layout = this.#layouts.get(rule)
    if (layout === undefined) {
      layout = RuleLayout.of(rule)
      this.#layouts.set(rule, layout)
    }
    return layout
  }

  #tag(family: Family, value: string): string {
    return this.#keys.tag(family.namespace, family.scope, value)
  }

  #slot(family: Family, value: string): number {
    return this.#port.isCluster ? slotOf(this.#tag(family, value)) : 0
  }

  #rowKey(family: Family, value: string): string {
    return this.#keys.row(this.#tag(family, value), family.name)
  }

  #recordTag({ idempotency }: Transaction): string {
    const { scope, value } = idempotency!
    return this.#keys.tag(this.#rules.namespace, scope, value)
  }

  #recordKey(transaction: Transaction): string {
    return this.#keys.record(this.#recordTag(transaction), transaction.idempotency!.id)
  }
}

function plainItem({ rule, limit, amount }: LimitChange): Item {
  return [rule.limits.indexOf(limit) + 1, amount, 0, 0, 0, 0, 0]
}

function refundItem({ rule, limit, amount, takenUnder, verdicts, at }: Return): Item {
  const [mark, rest] = [verdicts[at + MARK]!, verdicts[at + MARK_REST]!]
  const place = rule.limits.indexOf(limit) + 1
  return [place, amount, mark, rest, takenUnder, verdicts[at + GIVEN_BACK]!, verdicts[DECIDED_AT]!]
}
