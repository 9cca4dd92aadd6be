/**
 * What this instance last saw of the rows it asked about: how much of them was used, and whose part of
 * it this instance's requests were. Bounded; from it the fair part is reckoned while the store is away.
 */
import { REMAINING, VERDICT_WIDTH } from '../algorithms/verdict.js'
import type { CompiledRule } from '../rules/compiled-rule.js'
import { TwoGenerations } from '../rules/two-generations.js'
import { DECIDED_AT, type Verdicts } from '../store/store.js'

/** How many rows are remembered, at most twice as many. */
const MOST_ROWS = 20_000
/** Takes after which older ones count for half. */
const HALVED_AT = 1000

export class Sighting {
  /** Takes of this instance, and of all, since it has been looking. */
  own = 0
  all = 0
  /** What was ever taken from the row. */
  taken = -1
  verdicts: Verdicts
  at: number

  constructor(verdicts: Verdicts, at: number) {
    this.verdicts = verdicts
    this.at = at
  }

  get decidedAt(): number {
    return this.verdicts[DECIDED_AT]!
  }
}

export class Sightings {
  readonly #rows = new TwoGenerations<string, Sighting>(MOST_ROWS)

  note(
    rule: CompiledRule,
    value: string,
    taken: number,
    cost: number,
    verdicts: Verdicts,
    at: number,
  ): void {
    const key = rowKey(rule, value)
    let row = this.#rows.get(key)
    if (row === undefined) {
      row = new Sighting(verdicts, at)
      this.#rows.set(key, row)
    }
    // The first look tells nothing, nor does one at a row that was made anew.
    if (row.taken >= 0 && taken >= row.taken) {
      row.own += cost
      row.all += Math.max(cost, taken - row.taken)
    }
    if (row.all > HALVED_AT) {
      row.own /= 2
      row.all /= 2
    }
    row.taken = taken
    row.verdicts = verdicts
    row.at = at
  }

  of(rule: CompiledRule, value: string): Sighting | undefined {
    return this.#rows.get(rowKey(rule, value))
  }

  /** The smallest part that any limit had left; 1 if the row was never seen. */
  leftOf(rule: CompiledRule, value: string): number {
    const row = this.of(rule, value)
    if (row === undefined) return 1
    return rule.limits.reduce((least, { numbers }, j) => {
      const remaining = row.verdicts[row.at + j * VERDICT_WIDTH + REMAINING]
      return Math.min(least, (remaining ?? numbers.burst) / numbers.burst)
    }, 1)
  }
}

export function rowKey(rule: CompiledRule, value: string): string {
  return `${rule.family.key}|${value}`
}
