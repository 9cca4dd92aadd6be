/** A decision: whether a request may pass, and everything that explains it. */
import type { HoldTicket } from './hold-ticket.js'
import type { HeaderFamily } from './http/headers.js'
import type { Algorithm } from './limits/limit.js'
import type { Receipt } from './receipt.js'
import type { DegradedReason } from './stores/answer.js'

export const STATES = ['normal', 'warning', 'throttled'] as const
export type State = (typeof STATES)[number]
export const REASONS = ['limited', 'blocked', 'too_expensive', 'store_down'] as const
export type Reason = (typeof REASONS)[number]

/** What one limit of one rule says. */
export interface LimitDecision {
  readonly rule: string
  readonly scope: string
  readonly algorithm: Algorithm
  readonly amount: number
  /** What a full counter holds. */
  readonly limit: number
  readonly windowSeconds: number
  readonly allowed: boolean
  /**
   * What is counted after this decision, in the rule's unit. It exceeds the limit in debt, or where the limit
   * was lowered, else it is the limit less `remaining`. Null where `remaining` is.
   */
  readonly used: number | null
  /** Null where the store could not be asked, and the rule is open or closed. */
  readonly remaining: number | null
  readonly resetAtMs: number
  /** Of a no: when to come back; null: never. */
  readonly retryAfterMs: number | null
  readonly unit: string
  readonly shadow: boolean
}

/** What a yes and a no have in common. */
export interface Answered {
  /** Numbers of the limit that blocks, or else is most restrictive; null where no limit applies. */
  readonly limit: number | null
  readonly used: number | null
  readonly remaining: number | null
  readonly resetAtMs: number | null
  readonly rule: string | null
  readonly scope: string | null
  readonly state: State
  /** How long a leaky bucket wants the request held. */
  readonly delayMs: number
  readonly limits: readonly LimitDecision[]
  /** An exemption let it through all rules. */
  readonly exempt: boolean
  /** An earlier answer again, for the same idempotency key. */
  readonly replayed: boolean
  /** Decided without the store, each rule by its failure mode. */
  readonly degraded: boolean
  readonly degradedReason: DegradedReason | null
  /** For giving back what was taken; null if nothing was. */
  readonly receipt: Receipt | null
  /** The hold that a concurrency limit gave; null if none did. */
  readonly hold: HoldTicket | null
  toHeaders(families?: readonly HeaderFamily[]): Record<string, string>
  toString(): string
}

export interface Allowed extends Answered {
  readonly allowed: true
}

export interface Denied extends Answered {
  readonly allowed: false
  readonly reason: Reason
  /** When to come back; null: never. */
  readonly retryAfterMs: number | null
  toResponse(families?: readonly HeaderFamily[]): Response
}

export type Decision = Allowed | Denied

/** What a decision says: its fields, not its methods. */
export type DecisionField = {
  [F in keyof Denied]: Denied[F] extends (...args: never[]) => unknown ? never : F
}[keyof Denied]
