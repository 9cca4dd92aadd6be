/** A store on other machines, which may be slow, away or coming back. */
import type { Family } from '../rules/compiled-rule.js'
import type { Answer } from './answer.js'
import type { LeasingStore } from './leasing.js'
import type { Transaction } from './transaction.js'

export interface RemoteStore extends LeasingStore {
  /** As `decide`, but answers by callback: the guard makes a promise for each decision anyway. */
  ask(transaction: Transaction, callbacks: DecisionCallbacks): void
  /** The machine that has a row, by its name; '' if there is only one, or nobody knows. */
  nodeOf(family: Family, value: string): string
  /** All that a transaction needs. */
  nodesOf(transaction: Transaction): readonly string[]
  /** All that are in charge of something now. */
  readonly nodes: readonly string[]
  /**
   * Says that this instance is there: to this node, or if it is null to the one that counts instances. It waits much
   * longer than decisions do: more beats into a dead connection would keep the client from noticing that it is dead.
   */
  beat(node: string | null): Beat
  /** Finds out anew who is in charge of what. */
  findOwners(): void
  /** Sets the listener that hears of every call. */
  onCall(hear: HearCalls): void
  /** Calls `hear` when something says that the store may be back. Returns what ends it. */
  onReconnect(hear: () => void): () => void
}

/** One of the two is called, once. */
export interface DecisionCallbacks {
  answered(answer: Answer): void
  /** With a StoreFailure, or an idempotency error. */
  failed(error: unknown): void
}

/** Late: its deadline passed, which may have been near when it was sent. Undecided: it says nothing about its node. */
export type CallOutcome = 'answered' | 'failed' | 'late' | 'undecided'

export interface Call {
  readonly node: string
  /** It says that this instance is there, and nothing else. */
  readonly isBeat: boolean
}

export interface EndedCall extends Call {
  readonly outcome: CallOutcome
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** Told of each call, once when it is sent and once when it has ended. */
export interface HearCalls {
  started(call: Call): void
  ended(call: EndedCall): void
}

export interface Beat {
  readonly node: string
  /** How many instances there are; rejects if there is no answer. */
  readonly count: Promise<number>
}
