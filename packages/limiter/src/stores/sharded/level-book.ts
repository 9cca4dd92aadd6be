/** What is remembered of the shards of the rows that were asked for last; bounded, however many rows there are. */
import { RowLevels } from './row-levels.js'
import type { ShardedRule } from './sharded-rule.js'

/** Numbers of all rows together: 8 MB. */
const MOST_NUMBERS = 2 ** 20

export class LevelBook {
  readonly #rows = new Map<string, RowLevels>()
  readonly #ids = new WeakMap<ShardedRule, number>()
  readonly #most: number
  #size = 0
  #lastId = 0

  constructor(most = MOST_NUMBERS) {
    this.#most = most
  }

  of(rule: ShardedRule, value: string): RowLevels {
    const key = this.#keyOf(rule, value)
    const known = this.#rows.get(key)
    if (known !== undefined) {
      // The last to be asked for is the last to go.
      this.#rows.delete(key)
      this.#rows.set(key, known)
      return known
    }
    const levels = new RowLevels(rule)
    this.#size += levels.size
    for (const [oldest, { size }] of this.#rows) {
      if (this.#size <= this.#most) break
      this.#rows.delete(oldest)
      this.#size -= size
    }
    this.#rows.set(key, levels)
    return levels
  }

  /** How many numbers are kept. */
  get size(): number {
    return this.#size
  }

  /** Rules that are made anew are other rules: their limits may be others. */
  #keyOf(rule: ShardedRule, value: string): string {
    let id = this.#ids.get(rule)
    if (id === undefined) {
      id = ++this.#lastId
      this.#ids.set(rule, id)
    }
    return `${id}|${value}`
  }
}
