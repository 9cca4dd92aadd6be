/**
 * Counts denials by second: of which rule and limit, whom, on what, and why. Bounded: beyond the first so
 * many kinds of an interval a new one is counted without its resource, beyond twice as many without its
 * subject; none goes uncounted.
 */
import { printLimit, type Reason } from '@sluice/limiter'
import type { CompiledLimit } from '@sluice/limiter/transport'
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
  #size = 0
  #byLimit = new Map<CompiledLimit | Denier, Denial[]>()
  #done: ViolationCount[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** `at` in microseconds; the resource as it was asked for. */
  note(
    denier: Denier,
    limit: CompiledLimit | null,
    reason: Reason,
    value: string,
    resource: string | undefined,
    at: number,
  ): void {
    const kind = this.#kindOf(
      this.#denialOf(denier, limit, reason),
      value,
      resource === undefined ? null : shortened(resource),
    )
    const second = Math.floor(at / SECOND_US)
    if (kind.second !== second) {
      if (kind.count > 0) this.#end(kind)
      kind.second = second
    }
    kind.count++
  }

  #denialOf(denier: Denier, limit: CompiledLimit | null, reason: Reason): Denial {
    const key = limit ?? denier
    let denials = this.#byLimit.get(key)
    if (denials === undefined) {
      denials = []
      this.#byLimit.set(key, denials)
    }
    for (const denial of denials) if (denial.reason === reason) return denial
    const denial: Denial = { denier, limit, reason, byValue: new Map() }
    denials.push(denial)
    return denial
  }

  #kindOf(denial: Denial, value: string, resource: string | null): Kind {
    const known = denial.byValue.get(value)?.get(resource)
    if (known !== undefined) return known
    if (this.#size < this.#most) return this.#kind(denial, value, resource)
    if (this.#size < 2 * this.#most) return this.#kind(denial, value, null)
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
    this.#size++
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
    for (const denials of this.#byLimit.values())
      for (const { byValue } of denials)
        for (const byResource of byValue.values())
          for (const kind of byResource.values()) if (kind.count > 0) this.#end(kind)
    const done = this.#done
    this.#done = []
    this.#byLimit = new Map()
    this.#size = 0
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
