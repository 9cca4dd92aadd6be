/** A rule as it was checked and understood; the document's words, resolved. */
import type { Limit } from '../limits/limit.js'
import type { FailureMode } from './document.js'
import type { Cidr } from './ip-address.js'
import type { Normalize } from './normalize.js'
import type { Pattern } from './pattern.js'

export interface Rule {
  /** `search`, or `search@pro` for a tier's variant. */
  readonly name: string
  /** The name without the tier: variants of one family share their counters. */
  readonly family: string
  readonly scope: string
  readonly value: string | Cidr | null
  readonly tier: string | null
  /** As written, without methods. */
  readonly resource: string
  readonly pattern: Pattern
  /** What a normalised resource is compared with; null where that is the pattern itself. */
  readonly normalPattern: Pattern | null
  /** Upper case, sorted; null for all. */
  readonly methods: readonly string[] | null
  readonly limits: readonly Limit[]
  readonly additive: boolean
  readonly unit: string
  readonly enabled: boolean
  readonly shadow: boolean
  /** Percent of its subjects for which it is enforced. */
  readonly rollout: number
  readonly failureMode: FailureMode
  /** How many counters a row is split into; 1: none. The same for a whole family. */
  readonly shards: number
  /** Null: as the instance does. */
  readonly lease: LeaseTerms | null
  readonly description: string | null
  /** Its place in the document; breaks ties between answers. */
  readonly order: number
}

export interface LeaseTerms {
  readonly isOn: boolean
  /** How much time's worth of the local rate is leased, in microseconds; null: as is usual. */
  readonly ahead: number | null
  /** The largest lease; null: no other bound than the protocol's. */
  readonly most: number | null
}

export interface Entry {
  readonly scope: string
  readonly value: string | Cidr
  /** Microseconds since the epoch; Infinity without an end. */
  readonly until: number
  readonly reason: string | null
}

export interface Override extends Entry {
  readonly value: string
  readonly rule: string
  readonly limits: readonly Limit[]
}

export interface Cost {
  /** Methods and resource as written: its name in the document's table. */
  readonly key: string
  readonly resource: string
  readonly pattern: Pattern
  /** As of a rule. */
  readonly normalPattern: Pattern | null
  readonly methods: readonly string[] | null
  readonly unit: string
  readonly cost: number
}

/** A checked document. */
export interface RuleBook {
  readonly namespace: string
  readonly ipv6Prefix: number
  readonly normalize: Normalize
  readonly scopes: readonly string[]
  readonly rules: readonly Rule[]
  readonly defaultRule: Rule | null
  /** scope → value → tier */
  readonly tiers: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly overrides: readonly Override[]
  readonly costs: readonly Cost[]
  readonly exemptions: readonly Entry[]
  readonly blocks: readonly Entry[]
  /** What was accepted but does nothing yet, or less than it seems. */
  readonly warnings: readonly string[]
}
