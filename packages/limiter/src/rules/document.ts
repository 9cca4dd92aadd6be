/**
 * The rules document: what a rules file, the API and `createLimiter` all take. Its words are the same
 * everywhere, so a file can be read and passed on as it is.
 */
import type { LimitInput } from '../limits/long-form.js'

export type BuiltInScope = 'user' | 'api_key' | 'ip' | 'org' | 'global'
export type FailureMode = 'open' | 'closed' | 'local'

type OneOrMore<T> = T | readonly T[]
export type LimitsInput = OneOrMore<LimitInput>

export interface RuleInput<Scope extends string = string> {
  readonly scope: Scope
  /** One value of the scope; for `ip` an address or a CIDR. */
  readonly value?: string
  readonly tier?: string
  /** `/v1/search`, `/users/:id`, `/v1/*`, a name, or `*`; with a method before it if there is one. */
  readonly resource?: string
  readonly methods?: OneOrMore<string>
  readonly limits: LimitsInput
  /** Other limits for the subjects of a tier: a rule `name@tier` with the same counters. */
  readonly tiers?: Readonly<Record<string, LimitsInput>>
  /** Applies besides the most specific rule, instead of contesting with it. */
  readonly additive?: boolean
  /** What the limits count; `requests` unless given. */
  readonly unit?: string
  readonly enabled?: boolean
  /** Counted and reported, never enforced. */
  readonly shadow?: boolean
  readonly failure_mode?: FailureMode
  readonly description?: string
  /** Percent of its subjects, chosen by hash, for which it is enforced; for the others it is in shadow. */
  readonly rollout?: number
  /** Not in force yet. */
  readonly reach?: 'regional' | 'global'
  /** How many counters share a subject's load over Redis, each with its part of the limits; 1 unless given. */
  readonly shards?: number
  /** Whether instances take ahead of time and decide from that; as the instance does unless given. */
  readonly lease?: LeaseInput
}

export interface LeaseSizes {
  /** How much time's worth of the local rate is leased: `10ms` to `400ms`. */
  readonly ahead?: `${number}ms`
  /** The largest lease. */
  readonly most?: number
}
export type LeaseInput = boolean | 'on' | 'off' | LeaseSizes

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

/** `scope:value`, or the two with an end and a reason. For `ip` the value may be a CIDR. */
export type ListEntry =
  | `${string}:${string}`
  | {
      readonly [scope: string]: string | Date
      readonly until?: string | Date
      readonly reason?: string
    }

export interface OverrideInput {
  readonly scope: string
  readonly value: string
  /** A rule's name: all its tiers; `name@tier`: that one. */
  readonly rule: string
  readonly limits: LimitsInput
  readonly until?: string | Date
  readonly reason?: string
}

export interface RulesDocument<Scope extends string = string> {
  readonly version?: 1
  readonly namespace?: string
  /** Of calendar windows that name none; UTC unless given. */
  readonly timezone?: string
  readonly defaults?: { readonly failure_mode?: FailureMode; readonly ipv6_prefix?: number }
  readonly normalize?: NormalizeInput
  /** Scopes that requests may name though no rule does. */
  readonly scopes?: readonly Scope[]
  /** Applies where no rule of a scope other than `global` does. */
  readonly default_rule?: Omit<
    RuleInput<Scope>,
    'additive' | 'value' | 'tier' | 'tiers' | 'resource' | 'methods'
  >
  readonly tiers?: Readonly<Record<string, readonly `${string}:${string}`[]>>
  readonly rules?: Readonly<Record<string, RuleInput<Scope>>>
  readonly overrides?: readonly OverrideInput[]
  /** What a request to a resource costs, where it does not say: a number of requests, or units by name. */
  readonly costs?: Readonly<Record<string, number | Readonly<Record<string, number>>>>
  readonly exemptions?: readonly ListEntry[]
  readonly blocks?: readonly ListEntry[]
}
