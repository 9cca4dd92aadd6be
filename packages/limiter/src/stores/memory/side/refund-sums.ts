/**
 * How many tokens were given back to a bucket, ever: a receipt counts what was given back after it.
 * Most rows never have any, so the sums are kept apart from the rows, by key and column's serial, and outlive
 * a row for as long as a receipt from before could still be worth something.
 */

import { GRACE_US } from '../../../algorithms/clock-steps.js'
import type { SumEntry } from '../export/piece.js'

/** Fewer changes than this are kept apart, however few sums there are. */
const LEAST_CHANGES = 10_000

interface Sum {
  tokens: number
  until: number
}

/** A row by the two lanes of its fingerprint, and a column. */
type SumKey = readonly [a: number, b: number, column: number]

export class RefundSums {
  readonly #most: number
  readonly #sums = new Map<string, Sum>()
  #pruneAt = 1024
  /** Takes before this time can no longer be given back: too many sums had to be forgotten. */
  #voidBefore = 0
  /** Keys of what was changed or forgotten since the last export; null where that may be everything. */
  #changed: Set<string> | null = null

  constructor(most: number) {
    this.#most = most
  }

  /** Nothing was ever given back here: a field, because every take asks. */
  isEmpty = true

  get size(): number {
    return this.#sums.size
  }

  of(a: number, b: number, column: number): number {
    return this.isEmpty ? 0 : (this.#sums.get(`${a},${b},${column}`)?.tokens ?? 0)
  }

  get voidBefore(): number {
    return this.#voidBefore
  }

  isVoid(takenAt: number): boolean {
    return takenAt < this.#voidBefore
  }

  /** `until`: when the last receipt from before is worth nothing. `lives`: whether a key still has its row, with that column. */
  add(
    [a, b, column]: SumKey,
    tokens: number,
    until: number,
    now: number,
    lives: (...key: SumKey) => boolean,
  ): void {
    this.isEmpty = false
    const key = `${a},${b},${column}`
    const sum = this.#sums.get(key)
    if (sum === undefined) {
      this.#sums.set(key, { tokens, until: until + GRACE_US })
      if (this.#sums.size >= this.#pruneAt) this.#prune(now, lives)
    } else {
      sum.tokens += tokens
      sum.until = Math.max(sum.until, until + GRACE_US)
    }
    this.#note(key)
  }

  #note(key: string): void {
    if (this.#changed === null) return
    this.#changed.add(key)
    if (this.#changed.size > Math.max(LEAST_CHANGES, this.#sums.size)) this.#changed = null
  }

  #prune(now: number, lives: (...key: SumKey) => boolean): void {
    for (const [key, { until }] of this.#sums) {
      const [a, b, column] = key.split(',').map(Number)
      if (until >= now || lives(a!, b!, column!)) continue
      this.#sums.delete(key)
      this.#note(key)
    }
    if (this.#sums.size > this.#most) {
      this.#changed = null
      this.#sums.clear()
      this.#voidBefore = now + 1
    }
    this.#pruneAt = Math.max(1024, 2 * this.#sums.size)
  }

  /** Adds the sums of another table; `columnOf` says what its columns are here, -1 if they are gone. */
  takeOver(other: RefundSums, columnOf: (column: number) => number): void {
    this.#voidBefore = Math.max(this.#voidBefore, other.#voidBefore)
    this.#changed = null
    if (!other.isEmpty) this.isEmpty = false
    for (const [key, { tokens, until }] of other.#sums) {
      const [a, b, column] = key.split(',').map(Number)
      const index = columnOf(column!)
      if (index < 0) continue
      const moved = `${a},${b},${index}`
      const sum = this.#sums.get(moved)
      this.#sums.set(moved, {
        tokens: tokens + (sum?.tokens ?? 0),
        until: Math.max(until, sum?.until ?? 0),
      })
    }
  }

  /** The next export has all of them. */
  track(): void {
    this.#changed = null
  }

  /** What was changed since the last time this was asked; null if nothing. */
  takeChanges(): { readonly areAll: boolean; readonly entries: Iterable<SumEntry> } | null {
    const changed = this.#changed
    this.#changed = new Set()
    if (changed === null)
      return this.isEmpty ? null : { areAll: true, entries: this.#entries(this.#sums.keys()) }
    return changed.size === 0 ? null : { areAll: false, entries: this.#entries(changed) }
  }

  *#entries(keys: Iterable<string>): IterableIterator<SumEntry> {
    for (const key of keys) {
      const sum = this.#sums.get(key)
      yield [key, sum?.tokens ?? 0, sum?.until ?? 0]
    }
  }

  restore(entries: readonly SumEntry[], voidBefore: number, areFirst: boolean): void {
    this.isEmpty = false
    this.#voidBefore = voidBefore
    if (areFirst) this.#sums.clear()
    for (const [key, tokens, until] of entries) {
      if (tokens === 0) this.#sums.delete(key)
      else this.#sums.set(key, { tokens, until })
    }
  }
}
