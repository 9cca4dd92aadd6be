/**
 * How many tokens were given back to a bucket, ever: a receipt counts what was given back after it.
 * Most rows never have any, so the sums are kept apart from the rows, by key and column, and outlive
 * a row for as long as a receipt from before could still be worth something.
 */
import { GRACE_US } from './columns.js'

interface Sum {
  tokens: number
  until: number
}

export class RefundSums {
  readonly #most: number
  readonly #sums = new Map<string, Sum>()
  #pruneAt = 1024
  /** Takes before this time can no longer be given back: too many sums had to be forgotten. */
  #voidBefore = 0

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

  isVoid(takenAt: number): boolean {
    return takenAt < this.#voidBefore
  }

  /** `until`: when the last receipt from before is worth nothing. `lives`: whether a key still has its row. */
  add(
    a: number,
    b: number,
    column: number,
    tokens: number,
    until: number,
    now: number,
    lives: (a: number, b: number) => boolean,
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
  }

  #prune(now: number, lives: (a: number, b: number) => boolean): void {
    for (const [key, { until }] of this.#sums) {
      const [a, b] = key.split(',').map(Number)
      if (until < now && !lives(a!, b!)) this.#sums.delete(key)
    }
    if (this.#sums.size > this.#most) {
      this.#sums.clear()
      this.#voidBefore = now + 1
    }
    this.#pruneAt = Math.max(1024, 2 * this.#sums.size)
  }

  /** Adds another layout's sums; `columnOf` says where its columns are now, -1 if they are gone. */
  takeOver(other: RefundSums, columnOf: (column: number) => number): void {
    this.#voidBefore = Math.max(this.#voidBefore, other.#voidBefore)
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

  entries(): [string, number, number][] {
    return [...this.#sums].map(([key, { tokens, until }]) => [key, tokens, until])
  }

  restore(entries: readonly [string, number, number][]): void {
    if (entries.length > 0) this.isEmpty = false
    for (const [key, tokens, until] of entries) this.#sums.set(key, { tokens, until })
  }
}
