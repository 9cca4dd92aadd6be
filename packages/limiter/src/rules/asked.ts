/** What rules want to know of a request, already checked. */
import type { CompiledRule } from './compiled-rule.js'
import type { IpAddress } from './ip-address.js'
import type { Plan } from './plan.js'

/** The value of a scope as it is counted; empty where the request names none, as of `global`. */
export function countedValue(asked: Asked, scope: string): string {
  for (let i = 0; i < asked.count; i++) if (asked.scopes[i] === scope) return asked.counted[i]!
  return ''
}

export interface Asked {
  /** How many scopes the request names; the arrays below may be longer. `global` is not among them. */
  readonly count: number
  readonly scopes: readonly string[]
  /** Each scope's value as rules compare it: of `ip` the canonical full address. */
  readonly values: readonly string[]
  /** Each scope's value as it is counted: of IPv6 the network. */
  readonly counted: readonly string[]
  /** The `ip` scope's address, if CIDRs must be compared. */
  readonly address: IpAddress | null
  /** Its resource was normalised, and is compared with normalised patterns. */
  readonly isNormalized: boolean
  /** What can apply to its resource and method. */
  readonly plan: Plan
  /** The bits of its scopes in the plan, and whether nothing else about it matters to which rules apply. */
  readonly bits: number
  readonly isPlain: boolean
  /** The rules for a single value among its values, where there are such. */
  readonly named: readonly CompiledRule[] | null
  /** The one scope whose rules here differ by tier; empty if none does. */
  readonly tieredScope: string
  /** Carried by the request; else null. */
  readonly tier: string | null
  /** Units the request gives a cost for, `requests` aside; null if none. */
  readonly costs: Readonly<Record<string, number>> | null
}
