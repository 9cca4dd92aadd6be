/**
 * Counts denials by second: of which rule and limit, whom, on what, and why. Bounded: beyond the first so
 * many kinds of an interval a new one is counted without its resource, beyond twice as many without its
 * subject; none goes uncounted.
 */
import { printLimit, type Reason } from '@sluice/limiter'
import {
  ByRule,
  type CompiledLimit,
  type CompiledRule,
  type DecisionRecord,
} from '@sluice/limiter/transport'
import type { ViolationCount } from './batch.js'

const LONGEST_RESOURCE = 256
const SECOND_US = 1_000_000

/** Whose limit denied; the limit is null of a block. */
export interface Denier {
  readonly namespace: string
  readonly rule: string | null
  readonly scope: string
}

/** The count of one kind of denial in the second it was seen last. */
interface Kind {
  readonly denial: Denial
  readonly value: string | null
  readonly resource: string | null
  second: number
  count: number
}

/** One limit that denies for one reason, and whom. */
interface Denial {
  readonly denier: Denier
  readonly limit: CompiledLimit | null
  readonly reason: Reason
  readonly byValue: Map<string | null, Map<string | null, Kind>>
}

export class ViolationTally {
  readonly #most: number
  readonly #byRule = new ByRule<Denial[]>()
  /** Denials by no rule. */
  #byBlock = new Map<Denier, Denial[]>()
  #kinds: Kind[] = []
  #done: ViolationCount[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** The rule is undefined if a block denied; the resource as it was asked for. */
  note(
    denier: Denier,
    rule: CompiledRule | undefined,
    decision: DecisionRecord,
    value: string,
    resource: string | undefined,
  ): void {
    const kind = this.#kindOf(
      this.#denialOf(denier, rule, decision),
      value,
      resource === undefined ? null : shortened(resource),
    )
    const second = Math.floor(decision.decidedAt / SECOND_US)
    if (kind.second !== second) {
      if (kind.count > 0) this.#end(kind)
      kind.second = second
    }
    kind.count++
  }

  #denialOf(denier: Denier, rule: CompiledRule | undefined, decision: DecisionRecord): Denial {
    const { topLimit: limit } = decision
    const reason = decision.reason ?? 'limited'
    const denials = this.#denialsBy(denier, rule)
    for (const denial of denials)
      if (denial.limit === limit && denial.reason === reason) return denial
    const denial: Denial = { denier, limit, reason, byValue: new Map() }
    denials.push(denial)
    return denial
  }

  #denialsBy(denier: Denier, rule: CompiledRule | undefined): Denial[] {
    if (rule !== undefined) return this.#byRule.get(rule) ?? this.#byRule.set(rule, [])
    const denials = this.#byBlock.get(denier) ?? []
    this.#byBlock.set(denier, denials)
    return denials
  }

  #kindOf(denial: Denial, value: string, resource: string | null): Kind {
    const known = denial.byValue.get(value)?.get(resource)
    if (known !== undefined) return known
    if (this.#kinds.length < this.#most) return this.#kind(denial, value, resource)
    if (this.#kinds.length < 2 * this.#most) return this.#kind(denial, value, null)
    const unnamed = denial.byValue.get(value)?.get(null)
    return unnamed ?? this.#kind(denial, null, null)
  }

  #kind(denial: Denial, value: string | null, resource: string | null): Kind {
    let byResource = denial.byValue.get(value)
    if (byResource === undefined) {
      byResource = new Map()
      denial.byValue.set(value, byResource)
    }
    const known = byResource.get(resource)
    if (known !== undefined) return known
    const made: Kind = { denial, value, resource, second: 0, count: 0 }
    byResource.set(resource, made)
    this.#kinds.push(made)
    return made
  }

  /** The second of a kind is over. */
  #end(kind: Kind): void {
    const { denial, value, resource, second, count } = kind
    const { denier, limit, reason } = denial
    this.#done.push({
      at: second * 1000,
      namespace: denier.namespace,
      rule: denier.rule,
      scope: denier.scope,
      value,
      resource,
      limit: limit === null ? null : printLimit(limit.limit),
      reason,
      count,
    })
    kind.count = 0
  }

  /** What was counted; begins anew. */
  take(): ViolationCount[] {
    for (const kind of this.#kinds) if (kind.count > 0) this.#end(kind)
    const done = this.#done
    this.#done = []
    this.#kinds = []
    this.#byRule.clear()
    this.#byBlock = new Map()
    return done
  }
}

/** Without its query, which rules do not look at either. */
function shortened(resource: string): string | null {
  const query = resource.indexOf('?')
  const end = query < 0 ? resource.length : query
  // A cut may go through a character; half of one is nothing that could be stored.
  const kept = resource.slice(0, Math.min(end, LONGEST_RESOURCE)).toWellFormed()
  return kept === '' ? null : kept
}
