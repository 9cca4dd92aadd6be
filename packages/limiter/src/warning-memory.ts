/** Who was warned: from 80 % used until below 70 %, so that a subject at the edge does not flicker. Bounded. */
import type { Family } from './rules/compiled-rule.js'

const MOST = 50_000

type Generation = Map<string, Set<string>>

export class WarningMemory {
  #young: Generation = new Map()
  #old: Generation = new Map()
  #count = 0
  #isEmpty = true

  /** Whether to warn, with this part of the limit left. A dry run changes nothing here either. */
  warns(family: Family, value: string, left: number, dryRun: boolean): boolean {
    if (left > 0.3) {
      if (!this.#isEmpty && !dryRun) this.#forget(family.key, value)
      return false
    }
    if (left <= 0.2) {
      if (!dryRun) this.#remember(family.key, value)
      return true
    }
    return !this.#isEmpty && this.#has(family.key, value)
  }

  #has(key: string, value: string): boolean {
    return this.#young.get(key)?.has(value) === true || this.#old.get(key)?.has(value) === true
  }

  #forget(key: string, value: string): void {
    if (this.#young.get(key)?.delete(value) === true) this.#count--
    this.#old.get(key)?.delete(value)
  }

  #remember(key: string, value: string): void {
    if (this.#young.get(key)?.has(value) === true) return
    if (this.#count >= MOST) {
      this.#old = this.#young
      this.#young = new Map()
      this.#count = 0
    }
    this.#isEmpty = false
    this.#count++
    const values = this.#young.get(key)
    if (values === undefined) this.#young.set(key, new Set([value]))
    else values.add(value)
  }
}
