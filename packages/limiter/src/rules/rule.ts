/** A rule as it was checked and understood; the document's words, resolved. */
import type { Warning } from '../faults.js'
import type { Limit } from '../limits/limit.js'
import type { Cidr } from './ip-address.js'
import type { Normalize } from './normalize.js'
import type { Pattern } from './pattern.js'
import type { RuleFieldValues } from './rule-fields.js'

/** The fields of the table (`rule-fields.ts`), and what follows from them. */
export interface Rule extends RuleFieldValues {
  /** `search`, or `search@pro` for a tier's variant. */
  readonly name: string
  /** The name without the tier: variants of one family share their counters. */
  readonly family: string
  readonly pattern: Pattern
  /** What a normalised resource is compared with; null where that is the pattern itself. */
  readonly normalPattern: Pattern | null
  /** Its place in the document; breaks ties between answers. */
  readonly order: number
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
  readonly warnings: readonly Warning[]
}
