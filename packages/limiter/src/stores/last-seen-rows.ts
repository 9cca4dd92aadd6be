/**
 * What this instance last saw of the rows it asked a store about: how much of them was used, and how much of that
 * by this instance's requests. From it the fair part is computed while the store is away.
 *
 * Every answer is noted, so it is a table of numbers: a row has one place, by its fingerprint, and whoever comes
 * later to the same place takes it. It grows to a bounded size.
 */
import { randomFillSync } from 'node:crypto'
import type { CompiledRule, Family } from '../rules/compiled-rule.js'
import type { Answer } from './answer.js'
import { Fingerprint } from './fingerprint.js'

const FIRST_ROWS = 256
const MOST_ROWS = 16_384
/** Takes after which older ones count for half. */
const HALVED_AT = 1000
/** Limits of a rule that are looked at. */
const MOST_LIMITS = 4

/** A row: whose it is (two lanes of the fingerprint, the family's id here), then its numbers. */
const ID_WIDTH = 3
const OWN = 0
const ALL = 1
const TAKEN = 2
const SEEN_AT = 3
const LIMITS = 4
const WIDTH = LIMITS + 2 * MOST_LIMITS

/** A row as it was last seen. */
export interface LastSeenRow {
  /** Takes of this instance, and of all, while it has been looking. */
  readonly own: number
  readonly all: number
  /** Microseconds of the store's clock. */
  readonly seenAt: number
  /** Of each limit that is looked at: what was left, and when it resets. */
  readonly limits: readonly { readonly remaining: number; readonly resetAt: number }[]
}

export class LastSeenRows {
  readonly #fingerprint = new Fingerprint(randomFillSync(new Int32Array(2)))
  /** By the family's number. An id is of one family only, also when that is gone and another has its number. */
  readonly #families: ({ readonly key: string; readonly id: number } | undefined)[] = []
  #familyIds = 0
  /** Of the row that was looked for last. */
  #id = 0
  #size = FIRST_ROWS
  #used = 0
  #ids = new Int32Array(FIRST_ROWS * ID_WIDTH)
  #numbers = new Float64Array(FIRST_ROWS * WIDTH)

  /**
   * What an answer says of one of its rules, whose first limit has that number. `taken`: all that was ever taken
   * from the row; `cost`: what this request took of it.
   */
  record(answer: Answer, ruleIndex: number, limit: number, taken: number, cost: number): void {
    const { transaction } = answer
    const rule = transaction.rules[ruleIndex]!
    if (this.#used > this.#size / 2 && this.#size < MOST_ROWS) this.#grow()
    const place = this.#place(rule, transaction.values[ruleIndex]!)
    if (!this.#isHere(place)) this.#takeOver(place)
    const row = place * WIDTH
    const numbers = this.#numbers
    // The first look tells nothing, nor does one at a row that was created anew.
    const before = numbers[row + TAKEN]!
    if (before >= 0 && taken >= before) {
      numbers[row + OWN]! += cost
      numbers[row + ALL]! += Math.max(cost, taken - before)
    }
    if (numbers[row + ALL]! > HALVED_AT) {
      numbers[row + OWN]! /= 2
      numbers[row + ALL]! /= 2
    }
    numbers[row + TAKEN] = taken
    numbers[row + SEEN_AT] = answer.decidedAt
    const count = Math.min(MOST_LIMITS, rule.limits.length)
    for (let j = 0; j < count; j++) {
      numbers[row + LIMITS + 2 * j] = answer.remaining(limit + j)
      numbers[row + LIMITS + 2 * j + 1] = answer.resetAt(limit + j)
    }
  }

  of(rule: CompiledRule, value: string): LastSeenRow | undefined {
    const place = this.#place(rule, value)
    if (!this.#isHere(place)) return undefined
    const row = place * WIDTH
    const numbers = this.#numbers
    return {
      own: numbers[row + OWN]!,
      all: numbers[row + ALL]!,
      seenAt: numbers[row + SEEN_AT]!,
      limits: rule.limits.slice(0, MOST_LIMITS).map((_, j) => ({
        remaining: numbers[row + LIMITS + 2 * j]!,
        resetAt: numbers[row + LIMITS + 2 * j + 1]!,
      })),
    }
  }

  /** The smallest part that any limit had left; 1 if the row was not seen. */
  leftOf(rule: CompiledRule, value: string): number {
    const seenRow = this.of(rule, value)
    if (seenRow === undefined) return 1
    return Math.min(
      ...seenRow.limits.map(({ remaining }, j) => remaining / rule.limits[j]!.numbers.burst),
    )
  }

  /** The place where the row is, or would be. The fingerprint and the id say whose row is there. */
  #place({ family }: CompiledRule, value: string): number {
    const known = this.#families[family.number]
    this.#id = known?.key === family.key ? known.id : this.#newId(family)
    this.#fingerprint.of(value)
    return this.#placeOf(this.#fingerprint.a, this.#id)
  }

  #newId({ number, key }: Family): number {
    while (this.#families.length <= number) this.#families.push(undefined)
    const id = ++this.#familyIds
    this.#families[number] = { key, id }
    return id
  }

  #placeOf(a: number, family: number): number {
    return (a ^ Math.imul(family, 0x9e3779b1)) & (this.#size - 1)
  }

  #isHere(place: number): boolean {
    const id = place * ID_WIDTH
    const { a, b } = this.#fingerprint
    const ids = this.#ids
    return ids[id] === a && ids[id + 1] === b && ids[id + 2] === this.#id
  }

  #takeOver(place: number): void {
    const id = place * ID_WIDTH
    if (this.#ids[id + 2] === 0) this.#used++
    this.#ids[id] = this.#fingerprint.a
    this.#ids[id + 1] = this.#fingerprint.b
    this.#ids[id + 2] = this.#id
    this.#numbers.fill(0, place * WIDTH, (place + 1) * WIDTH)
    this.#numbers[place * WIDTH + TAKEN] = -1
  }

  #grow(): void {
    const [ids, numbers, size] = [this.#ids, this.#numbers, this.#size]
    this.#size = 4 * size
    this.#ids = new Int32Array(this.#size * ID_WIDTH)
    this.#numbers = new Float64Array(this.#size * WIDTH)
    for (let old = 0; old < size; old++) {
      const id = old * ID_WIDTH
      if (ids[id + 2] === 0) continue
      const place = this.#placeOf(ids[id]!, ids[id + 2]!)
      this.#ids.set(ids.subarray(id, id + ID_WIDTH), place * ID_WIDTH)
      this.#numbers.set(numbers.subarray(old * WIDTH, (old + 1) * WIDTH), place * WIDTH)
    }
  }
}

/** A row's name, for what is kept of few of them. */
export function rowKey(rule: CompiledRule, value: string): string {
  return `${rule.family.key}|${value}`
}
