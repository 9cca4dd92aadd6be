/**
 * Small integers for rules and families, so that what is kept of each of them is an array, not a map. A number
 * is drawn when it is first needed: rules that no request uses have none and cost nothing.
 *
 * A rule and the rule that replaces it hold the same `DenseNumber`, so the number survives a change of rules.
 * When nothing holds the `DenseNumber` any more, the garbage collector gives the number back, and another rule
 * may get it.
 */
import type { CompiledLimit, CompiledRule } from './compiled-rule.js'

class NumberPool {
  readonly #free: number[] = []
  #next = 0
  readonly #unheld = new FinalizationRegistry<number>((value) => this.#free.push(value))

  /** Dense: there are as many numbers as there were holders at the same time. */
  draw(): DenseNumber {
    const number = new DenseNumber(this.#free.pop() ?? this.#next++)
    this.#unheld.register(number, number.value)
    return number
  }
}

export class DenseNumber {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export const ruleNumbers = new NumberPool()
export const familyNumbers = new NumberPool()

interface Entry<T> {
  /** Tells rules apart: each has a list of its own. The rule itself would hold its number. */
  readonly limits: readonly CompiledLimit[]
  readonly value: T
}

/**
 * One value for each rule: an array by the rules' numbers. An entry belongs to one rule object. The rule that
 * replaces it, or another rule that has its number later, finds nothing, and its entry takes the place.
 *
 * An entry does not keep its rule from being collected, unless its value does, by the rule or by its family, which
 * holds its overrides. Then the entries of rules that are gone must be deleted, or their numbers are never free
 * again.
 */
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
