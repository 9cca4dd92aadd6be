/**
 * A store and clocks in the hands of a test: nothing is answered before the test says how, and no time
 * passes but what it lets pass.
 */
import {
  GO_AT,
  NOT_NOW,
  REMAINING,
  RESET_AT,
  STATUS,
  VERDICT_WIDTH,
  YES,
} from '../../src/algorithms/verdict.js'
import type { CompiledRule } from '../../src/rules/compiled-rule.js'
import type { LeaseAnswer, LeaseAsk, LeasingStore } from '../../src/stores/leased/lease-port.js'
import type { LeaseTime } from '../../src/stores/leased/lease-time.js'
import {
  type Answer,
  FIRST_VERDICT,
  StoreFailure,
  type Transaction,
  type Verdicts,
} from '../../src/stores/store.js'
import { noteSurplus } from '../../src/stores/surplus.js'

const START = 1_700_000_000_000_000
/** A lease's period and a row's birth, as the store counts them: any will do. */
const PERIOD = 1
const BIRTH = START - 1

export class HandTime implements LeaseTime {
  ms = 0
  readonly #steps = new Set<() => void>()

  steady(): number {
    return this.ms
  }

  wall(): number {
    return START + 1000 * this.ms
  }

  storeTime(wall: number): number {
    return wall
  }

  every(_ms: number, step: () => void): () => void {
    this.#steps.add(step)
    return () => this.#steps.delete(step)
  }

  /** So much later, everything that is done now and then is done. */
  pass(ms: number): void {
    this.ms += ms
    for (const step of this.#steps) step()
  }

  get isBeating(): boolean {
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
}

export interface Grant extends Say {
  /** Leased out and not reported, by anyone. */
  readonly out?: number
  readonly lastsMs?: number
}

/** A decision that the store is asked for. */
export class AskedDecision {
  constructor(
    readonly transaction: Transaction,
    readonly since: number | undefined,
    readonly answer: (verdicts: Verdicts) => void,
    readonly time: HandTime,
  ) {}

  allow(say: Say = {}): void {
    this.answer(withSurplus([1, this.time.wall(), 0, ...this.#verdicts(YES, say)], say))
  }

  deny(say: Say = {}): void {
    const isShadow = this.transaction.rules.every(({ shadow }) => shadow)
    const verdicts = [isShadow ? 1 : 0, this.time.wall(), 0, ...this.#verdicts(NOT_NOW, say)]
    this.answer(withSurplus(verdicts, say))
  }

  #verdicts(status: number, say: Say): number[] {
    return this.transaction.rules.flatMap((rule) => verdictsOf(rule, status, say, this.time.wall()))
  }
}

/** A lease that the store is asked for, or a report. */
export class AskedLease {
  constructor(
    readonly ask: LeaseAsk,
    readonly answered: (answer: LeaseAnswer) => void,
    readonly failed: (failure: StoreFailure) => void,
    readonly time: HandTime,
  ) {}

  /** As `spent+back` of each report. */
  get reports(): string[] {
    return this.ask.reports.map(({ spent, back }) => `${spent}+${back}`)
  }

  grant(granted: number, say: Grant = {}): void {
    const { out = granted, lastsMs = 1000, left = 100 } = say
    const { rule, value } = this.ask
    const grantedAt = this.time.wall()
    const endsAt = grantedAt + 1000 * lastsMs
    const lease = { rule, value, grantedAt, endsAt, period: PERIOD, birth: BIRTH, run: 1 }
    const verdicts = [1, grantedAt, 0, ...verdictsOf(rule, YES, { left }, grantedAt)]
    this.answered({ granted, lease, out, verdicts: withSurplus(verdicts, say) })
  }

  fail({ mayHaveRun }: { readonly mayHaveRun: boolean }): void {
    this.failed(new StoreFailure('store_timeout', mayHaveRun))
  }
}

function withSurplus(verdicts: number[], { surplus = 0 }: Say): number[] {
  noteSurplus(verdicts, FIRST_VERDICT, surplus)
  return verdicts
}

export function verdictsOf(rule: CompiledRule, status: number, say: Say, now: number): number[] {
  const { left = status === YES ? 100 : 0, inMs = 500 } = say
  return rule.limits.flatMap(() => {
    const verdict = new Array<number>(VERDICT_WIDTH).fill(0)
    verdict[STATUS] = status
    verdict[REMAINING] = left
    verdict[RESET_AT] = now + 1_000_000
    verdict[GO_AT] = status === YES ? now : now + 1000 * inMs
    return verdict
  })
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

  consume(transaction: Transaction, since?: number): Answer<Verdicts> {
    return new Promise((resolve) => {
      this.decisions.push(new AskedDecision(transaction, since, resolve, this.time))
    })
  }

  lease(
    ask: LeaseAsk,
    answered: (answer: LeaseAnswer) => void,
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

  refund(returns: readonly unknown[]): number[] {
    return returns.map(() => 0)
  }

  grant(changes: readonly unknown[]): number[] {
    return changes.map(() => 0)
  }

  charge(changes: readonly unknown[]): number[] {
    return changes.map(() => 0)
  }

  reset(rows: readonly unknown[]): number {
    return rows.length
  }

  renew(): number {
    return 0
  }

  release(): boolean {
    return false
  }

  use(): void {}

  close(): void {
    this.isClosed = true
  }
}
