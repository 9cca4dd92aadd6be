/**
 * What somebody keeps of each rule: an array by the rules' numbers. An entry belongs to one rule object. The
 * rule that replaces it, or another rule that has its number later, finds nothing, and its entry takes the place.
 *
 * An entry does not keep its rule from being collected, unless its value does, by the rule or by its family, which
 * holds its overrides. Then the entries of rules that are gone must be deleted, or their numbers are never free
 * again.
 */
import type { CompiledLimit, CompiledRule } from './compiled-rule.js'

interface Entry<T> {
  /** Tells rules apart: each has a list of its own. The rule itself would hold its number. */
  readonly limits: readonly CompiledLimit[]
  readonly value: T
}

export class ByRule<T> {
  readonly #entries: (Entry<T> | undefined)[] = []

  get(rule: CompiledRule): T | undefined {
    const entry = this.#entries[rule.number]
    return entry !== undefined && entry.limits === rule.limits ? entry.value : undefined
  }

  /** Returns the value. */
  set(rule: CompiledRule, value: T): T {
    const { number, limits } = rule
    // A place far beyond the end would make the array a slow one.
    while (this.#entries.length <= number) this.#entries.push(undefined)
    this.#entries[number] = { limits, value }
    return value
  }

  /** Deletes the entries whose values are such; returns the values. */
  deleteWhere(isSuch: (value: T) => boolean): T[] {
    const deleted: T[] = []
    for (const [number, entry] of this.#entries.entries()) {
      if (entry === undefined || !isSuch(entry.value)) continue
      this.#entries[number] = undefined
      deleted.push(entry.value)
    }
    return deleted
  }

  clear(): void {
    this.#entries.fill(undefined)
  }

  /** How many places there are: as many as rules had numbers at the same time. */
  get size(): number {
    return this.#entries.length
  }
}
