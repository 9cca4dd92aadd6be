/**
 * The rules document: what a rules file, the API and `createLimiter` all take. Its words are the same
 * everywhere, so a file can be read and passed on as it is.
 */
import type { FailureMode, LimitsInput, NotInDefaultRule, RuleInput } from './rule-fields.js'

/** The namespace of documents that name none. */
export const DEFAULT_NAMESPACE = 'default'

export type BuiltInScope = 'user' | 'api_key' | 'ip' | 'org' | 'global'

type Switch = boolean | 'on' | 'off'

/** How resources that begin with `/` are brought into one spelling before they are compared. */
export interface NormalizeInput {
  /** For checks too; off unless given, or `fold_case` is on, or `trailing_slash` is given. */
  readonly checks?: Switch
  /** Whether `/a/` is `/a`; `drop` unless given. */
  readonly trailing_slash?: 'drop' | 'keep'
  /** Whether `/A` is `/a`; off unless given. */
  readonly fold_case?: Switch
}

/** When an entry ends, and why it is there. */
export interface Ending {
  readonly until?: string | Date
  readonly reason?: string
}

/** `scope:value`, or the two with an end and a reason. For `ip` the value may be a CIDR. */
export type ListEntry =
  | `${string}:${string}`
  | ({ readonly [scope: string]: string | Date } & Ending)

export interface OverrideInput extends Ending {
  readonly scope: string
  readonly value: string
  /** A rule's name: all its tiers; `name@tier`: that one. */
  readonly rule: string
  readonly limits: LimitsInput
}

/** What holds where nothing else is stated. */
export interface DefaultsInput {
  readonly failure_mode?: FailureMode
  /** IPv6 addresses are counted by this prefix; 64 unless given. */
  readonly ipv6_prefix?: number
}

export interface RulesDocument<Scope extends string = string> {
  readonly version?: 1
  readonly namespace?: string
  /** Of calendar windows that name none; UTC unless given. */
  readonly timezone?: string
  readonly defaults?: DefaultsInput
  readonly normalize?: NormalizeInput
  /** Scopes that requests may name though no rule does. */
  readonly scopes?: readonly Scope[]
  /** Applies where no rule of a scope other than `global` does. */
  readonly default_rule?: Omit<RuleInput<Scope>, NotInDefaultRule>
  readonly tiers?: Readonly<Record<string, readonly `${string}:${string}`[]>>
  readonly rules?: Readonly<Record<string, RuleInput<Scope>>>
  readonly overrides?: readonly OverrideInput[]
  /** What a request to a resource costs, where it does not say: a number of requests, or units by name. */
  readonly costs?: Readonly<Record<string, number | Readonly<Record<string, number>>>>
  readonly exemptions?: readonly ListEntry[]
  readonly blocks?: readonly ListEntry[]
}
