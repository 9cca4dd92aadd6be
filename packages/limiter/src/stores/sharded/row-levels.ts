/**
 * What this instance last saw of the shards of one row, and what should be left in them by now. Only ever
 * a guess by which to choose: whether a shard has room, the store says.
 */
import { BUCKET, FIXED_WINDOW } from '../../algorithms/limit-numbers.js'
import type { Answer } from '../answer.js'
import type { ShardedRule } from './sharded-rule.js'

/** How long a no is taken for granted, at most: others may give back, or reset. */
const DENIAL_US = 1_000_000

/** A shard: when it was seen (0: never), the cost that it denied and until when, what is being taken since, then two numbers a limit. */
const SEEN_AT = 0
const DENIED_COST = 1
const DENIED_UNTIL = 2
const EXPECTED = 3
const LIMITS = 4
/** As it was seen: negative where more was counted than the shard holds. */
const LEFT = 0
const FULL_AT = 1

export class RowLevels {
  readonly #rule: ShardedRule
  readonly #width: number
  readonly #numbers: Float64Array

  constructor(rule: ShardedRule) {
    this.#rule = rule
    this.#width = LIMITS + 2 * rule.whole.limits.length
    this.#numbers = new Float64Array(this.#width * rule.count)
  }

  get size(): number {
    return this.#numbers.length
  }

  /** A shard answered; `first` is the number of the rule's first limit in the answer. */
  note(shard: number, answer: Answer, first: number, cost: number): void {
    const row = shard * this.#width
    const numbers = this.#numbers
    let deniedUntil = 0
    for (let j = 0; j < this.#rule.whole.limits.length; j++) {
      const limit = first + j
      numbers[row + LIMITS + 2 * j + LEFT] = answer.difference(limit)
      numbers[row + LIMITS + 2 * j + FULL_AT] = answer.resetAt(limit)
      if (answer.isNotNow(limit)) deniedUntil = Math.max(deniedUntil, answer.goAt(limit))
    }
    numbers[row + SEEN_AT] = answer.decidedAt
    numbers[row + DENIED_COST] = cost
    numbers[row + DENIED_UNTIL] = deniedUntil
    numbers[row + EXPECTED] = 0
  }

  /** So much is being taken: others that choose in the meantime should know. */
  expect(shard: number, cost: number): void {
    const row = shard * this.#width
    if (this.#numbers[row + SEEN_AT] !== 0) this.#numbers[row + EXPECTED]! += cost
  }

  /** What should be left of one limit's part. */
  level(shard: number, j: number, now: number): number {
    const { numbers } = this.#rule.whole.limits[j]!
    const burst = this.#part(numbers.burst, shard)
    const seenAt = this.#numbers[shard * this.#width + SEEN_AT]!
    const fullAt = this.fullAt(shard, j)
    if (seenAt === 0 || now >= fullAt) return burst
    if (numbers.kind === BUCKET) return burst - this.#usedOf(shard, j, fullAt, now)
    const left = this.#left(shard, j)
    if (numbers.kind === FIXED_WINDOW || now <= seenAt) return left
    return left + ((burst - left) * (now - seenAt)) / (fullAt - seenAt)
  }

  /** What should be counted of one limit's part beyond what it holds, apart from what is being taken. */
  owed(shard: number, j: number, now: number): number {
    const { numbers } = this.#rule.whole.limits[j]!
    const at = shard * this.#width + LIMITS + 2 * j
    const fullAt = this.#numbers[at + FULL_AT]!
    if (now >= fullAt) return 0
    if (numbers.kind !== BUCKET) return Math.max(0, -this.#numbers[at + LEFT]!)
    const owed = this.#usedOf(shard, j, fullAt, now) - this.#part(numbers.burst, shard)
    return Math.max(0, Math.ceil(owed))
  }

  /** Tokens of a bucket that is full at that time; the time was rounded up. */
  #usedOf(shard: number, j: number, fullAt: number, now: number): number {
    const { numbers } = this.#rule.whole.limits[j]!
    return ((fullAt - 1 - now) * this.#part(numbers.amount, shard)) / numbers.window
  }

  /** What was left, less what is being taken. */
  #left(shard: number, j: number): number {
    const row = shard * this.#width
    const left = this.#numbers[row + LIMITS + 2 * j + LEFT]!
    return Math.max(0, left) - this.#numbers[row + EXPECTED]!
  }

  /** What should be left of all its limits together. */
  room(shard: number, cost: number, now: number): number {
    let room = Number.POSITIVE_INFINITY
    for (let j = 0; j < this.#rule.whole.limits.length; j++)
      room = Math.min(room, this.level(shard, j, now))
    const row = shard * this.#width
    const until = this.#numbers[row + DENIED_UNTIL]!
    if (until === 0) return room
    const denied = this.#numbers[row + DENIED_COST]!
    if (now >= until) return Math.max(room, denied)
    const isFresh = now < this.#numbers[row + SEEN_AT]! + DENIAL_US
    return isFresh && cost >= denied ? Math.min(room, cost - 1) : room
  }

  /** When one limit's part is full again, as far as is known. */
  fullAt(shard: number, j: number): number {
    const { numbers } = this.#rule.whole.limits[j]!
    const row = shard * this.#width
    const fullAt = this.#numbers[row + LIMITS + 2 * j + FULL_AT]!
    if (numbers.kind !== BUCKET) return fullAt
    const expected = this.#numbers[row + EXPECTED]!
    return fullAt + (expected * numbers.window) / this.#part(numbers.amount, shard)
  }

  /** Until when a shard said no; 0 where it said yes. */
  deniedUntil(shard: number): number {
    return this.#numbers[shard * this.#width + DENIED_UNTIL]!
  }

  /** When the shard was last seen, if it promised then to admit so much by now; else 0. */
  saidReadyAt(shard: number, cost: number, now: number): number {
    const row = shard * this.#width
    const until = this.#numbers[row + DENIED_UNTIL]!
    const isPromised = until > 0 && now >= until && this.#numbers[row + DENIED_COST]! >= cost
    return isPromised ? this.#numbers[row + SEEN_AT]! : 0
  }

  #part(whole: number, shard: number): number {
    return Math.floor((whole + shard) / this.#rule.count)
  }
}

/** Numbers of all rows together: 8 MB. */
const MOST_NUMBERS = 2 ** 20

export class LevelBook {
  readonly #rows = new Map<string, RowLevels>()
  readonly #most: number
  #size = 0

  constructor(most = MOST_NUMBERS) {
    this.#most = most
  }

  of(rule: ShardedRule, value: string): RowLevels {
    const key = `${rule.id}|${value}`
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
}
