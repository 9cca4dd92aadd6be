/**
 * A store and clocks in the hands of a test: nothing is answered before the test says how, and no time
 * passes but what it lets pass.
 */
import { NOT_NOW, YES } from '../../src/algorithms/status.js'
import type { CompiledRule } from '../../src/rules/compiled-rule.js'
import { Answer } from '../../src/stores/answer.js'
import type { Deadline } from '../../src/stores/deadlines.js'
import type { LeaseTime } from '../../src/stores/leased/lease-time.js'
import type { LeaseAsk, LeaseReply, LeasingStore } from '../../src/stores/leasing.js'
import type { Changed, NotConfirmed, Operation } from '../../src/stores/operation.js'
import { type Awaitable, StoreFailure } from '../../src/stores/store.js'
import { newTransaction, type Transaction } from '../../src/stores/transaction.js'

const START = 1_700_000_000_000_000
/** A lease's period and a row's birth, as the store counts them: any will do. */
const PERIOD = 1
const BIRTH = START - 1
export class HandTime implements LeaseTime {
  ms = 0
  readonly deadlineMs = 100
  readonly #steps = new Set<() => void>()
  #deadlines: { readonly at: number; readonly missed: () => void }[] = []

  steady(): number {
    return this.ms
  }

  wall(): number {
    return START + 1000 * this.ms
  }

  storeTime(wall: number): number {
    return wall
  }

  deadline(at: number, missed: () => void): Deadline {
    const deadline = { at, missed }
    this.#deadlines.push(deadline)
    const meet = () => {
      this.#deadlines = this.#deadlines.filter((other) => other !== deadline)
    }
    return { meet }
  }

  every(_ms: number, step: () => void): () => void {
    this.#steps.add(step)
    return () => this.#steps.delete(step)
  }

  /** So much later, deadlines are missed, and everything that is done now and then is done. */
  pass(ms: number): void {
    this.ms += ms
    const over = this.#deadlines.filter(({ at }) => at <= this.ms)
    this.#deadlines = this.#deadlines.filter(({ at }) => at > this.ms)
    for (const { missed } of over) missed()
    for (const step of this.#steps) step()
  }

  get isTicking(): boolean {
    return this.#steps.size > 0
  }
}

/** What every limit of the rules says. */
export interface Say {
  readonly left?: number
  /** Of a no: when it may go. */
  readonly inMs?: number
  /** How much more is used than the limit less what is left. */
  readonly surplus?: number
  /** Of a take: where it was counted. */
  readonly mark?: number
}

export interface Grant extends Say {
  /** Leased out and not reported, by anyone. */
  readonly out?: number
  readonly lastsMs?: number
  /** When the row was created. */
  readonly birth?: number
}

/** A decision that the store is asked for. */
export class AskedDecision {
  constructor(
    readonly transaction: Transaction,
    readonly answer: (answer: Answer) => void,
    readonly time: HandTime,
  ) {}

  allow(say: Say = {}): void {
    this.answer(answerOf(this.transaction, YES, say, this.time.wall()))
  }

  deny(say: Say = {}): void {
    this.answer(answerOf(this.transaction, NOT_NOW, say, this.time.wall()))
  }
}

/** A lease that the store is asked for, or a report. */
export class AskedLease {
  constructor(
    readonly ask: LeaseAsk,
    readonly answered: (reply: LeaseReply) => void,
    readonly failed: (failure: StoreFailure) => void,
    readonly time: HandTime,
  ) {}

  /** As `spent+back` of each report. */
  get reports(): string[] {
    return this.ask.reports.map(({ spent, back }) => `${spent}+${back}`)
  }

  grant(granted: number, say: Grant = {}): void {
    const { out = granted, lastsMs = 1000, left = 100, birth = BIRTH } = say
    const { rule, value } = this.ask
    const grantedAt = this.time.wall()
    const endsAt = grantedAt + 1000 * lastsMs
    const lease = { rule, value, grantedAt, endsAt, period: PERIOD, birth, run: 1 }
    const answer = answerAlone(rule, value, { ...say, left }, grantedAt)
    this.answered({ granted, lease, out, answer })
  }

  fail(undone: NotConfirmed): void {
    this.failed(new StoreFailure('store_timeout', undone))
  }
}

/** Every limit says the same; what is used beyond the limit is said of the first. */
export function answerOf(transaction: Transaction, status: number, say: Say, now: number): Answer {
  const { left = status === YES ? 100 : 0, inMs = 500, surplus = 0, mark = 0 } = say
  const isShadow = transaction.rules.every(({ shadow }) => shadow)
  const answer = Answer.open(transaction, now, status === YES || isShadow)
  for (const { index } of answer.each()) {
    answer.setStatus(index, status)
    answer.setDifference(index, left)
    answer.setResetAt(index, now + 1_000_000)
    answer.setGoAt(index, status === YES ? now : now + 1000 * inMs)
    answer.setMark(index, mark, 0)
  }
  answer.setSurplus(0, surplus)
  return answer
}

/** What a lease is answered with. */
export function answerAlone(rule: CompiledRule, value: string, say: Say, now: number): Answer {
  return answerOf(newTransaction([rule], [value], 1, now), YES, say, now)
}

export class HandStore implements LeasingStore {
  readonly isSync = false
  readonly time: HandTime
  /** Everything that was ever asked. */
  readonly decisions: AskedDecision[] = []
  readonly leases: AskedLease[] = []
  isClosed = false

  constructor(time: HandTime) {
    this.time = time
  }

  decide(transaction: Transaction): Awaitable<Answer> {
    return new Promise((resolve) => {
      this.decisions.push(new AskedDecision(transaction, resolve, this.time))
    })
  }

  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    this.leases.push(new AskedLease(ask, answered, failed, this.time))
  }

  /** The latest. */
  get decision(): AskedDecision {
    return this.decisions.at(-1)!
  }

  get lastLease(): AskedLease {
    return this.leases.at(-1)!
  }

  change(operations: readonly Operation[]): Changed[] {
    return operations.map(({ kind }) => (kind === 'reset' ? 1 : 0))
  }

  use(): void {}

  close(): void {
    this.isClosed = true
  }
}
