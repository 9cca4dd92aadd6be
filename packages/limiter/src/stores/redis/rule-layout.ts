/** A rule as the scripts know it: its limits' numbers, packed once, and the names of its columns. */
import { widthOf } from '../../algorithms/algorithm.js'
import { BUCKET, type LimitNumbers, SLIDING_LOG } from '../../algorithms/limit-numbers.js'
import type { CompiledLimit, CompiledRule, Family } from '../../rules/compiled-rule.js'

/** A column's name starts with its algorithm's letter. */
const LETTERS = {
  token_bucket: 't',
  gcra: 'g',
  leaky_bucket: 'l',
  fixed_window: 'f',
  sliding_window_counter: 's',
  sliding_window_log: 'e',
  concurrency: 'c',
} as const

/** Doubles of a row before its columns: expires, birth, last, taken. */
const FIXED = 4
const BIRTH = 1
const TAKEN = 3

export class RuleLayout {
  readonly family: Family
  readonly limits: readonly CompiledLimit[]
  /** The text that a row of this rule starts with. */
  readonly names: string
  /** Nothing but buckets: the script answers with the row, and the answer is computed here. */
  readonly hasOnlyBuckets: boolean
  /** Names of the columns that keep something beside. */
  readonly sideKeys: readonly string[]
  /** Of a plain row: where each limit's TAT is, in bytes, and where its sums of refunds are. */
  readonly tatAt: readonly number[]
  readonly sumsAt: number
  readonly takenAt: number
  /** Entries that the longest log of a row can have. */
  readonly longestLog: number
  readonly #shadow: boolean
  readonly #hasCalendar: boolean
  #packed: Buffer | null = null
  #bounds: readonly number[][] = []
  /** The numbers were packed before the store's clock was known. */
  #packedWithoutClock = true

  constructor(family: Family, limits: readonly CompiledLimit[], shadow: boolean) {
    this.family = family
    this.limits = limits
    this.#shadow = shadow
    const names = limits.map(columnOf)
    this.names = `1${names.map((name, i) => withAmount(name, limits[i]!.numbers)).join(',')};`
    this.hasOnlyBuckets = limits.every(({ numbers }) => numbers.kind === BUCKET)
    this.sideKeys = names.filter((_, i) => limits[i]!.numbers.kind >= SLIDING_LOG)
    this.longestLog = Math.max(
      0,
      ...limits.map(({ numbers: { kind, amount, cell } }) =>
        kind !== SLIDING_LOG ? 0 : cell > 1 ? 1024 : amount,
      ),
    )
    this.#hasCalendar = limits.some(({ calendar }) => calendar !== null)
    const start = this.names.length + 1
    let place = FIXED
    this.tatAt = limits.map(({ numbers }) => {
      const at = start + 8 * place
      place += numbers.rest === 0 ? 1 : 2
      return at
    })
    this.sumsAt = start + 8 * place
    this.takenAt = start + 8 * TAKEN
  }

  /** A row that says nothing. Its birth is the first write's. */
  get blank(): Buffer {
    const widths = this.limits.map(({ numbers: { kind, rest } }) => {
      if (kind === BUCKET) return rest === 0 ? 1 : 2
      return widthOf(kind)
    })
    const numbers = new Float64Array(FIXED + widths.reduce((sum, width) => sum + width, 0))
    numbers[BIRTH] = Number.MAX_SAFE_INTEGER
    return Buffer.concat([Buffer.from(`${this.names}-`), Buffer.from(numbers.buffer)])
  }

  static of(rule: CompiledRule): RuleLayout {
    return new RuleLayout(rule.family, rule.limits, rule.shadow)
  }

  /** Every column of the family, whoever's limits they are: for resets. */
  static ofFamily(family: Family): RuleLayout {
    return new RuleLayout(
      family,
      family.columns.map(({ sample }) => sample),
      false,
    )
  }

  /**
   * The numbers as the scripts read them, at a time of the store's clock. `offset` is how far that
   * clock is ahead of this instance's, which `since` is by; NaN before the first call.
   */
  packed(now: number, offset: number): Buffer {
    const isStale = this.#hasCalendar && this.#boundsChanged(now)
    if (this.#packed !== null && !isStale && !(this.#packedWithoutClock && !Number.isNaN(offset)))
      return this.#packed
    const numbers: number[] = [
      this.#shadow ? 1 : 0,
      this.limits.length,
      this.hasOnlyBuckets ? 1 : 0,
    ]
    for (const limit of this.limits) this.#pack(limit, offset, numbers)
    this.#packed = Buffer.from(Float64Array.from(numbers).buffer)
    this.#packedWithoutClock = Number.isNaN(offset)
    return this.#packed
  }

  #boundsChanged(now: number): boolean {
    for (const limit of this.limits) limit.prepare(now)
    const bounds = this.limits.map(({ numbers }) => numbers.bounds)
    const changed = bounds.some((list, i) => list !== this.#bounds[i])
    this.#bounds = bounds
    return changed
  }

  #pack(limit: CompiledLimit, offset: number, out: number[]): void {
    const n = limit.numbers
    const slowest = this.family.columns[limit.column]!.sample.numbers.amount
    out.push(n.kind, n.amount, n.window, n.burst, n.whole, n.rest, n.burstWhole, n.burstRest)
    out.push(n.queues ? 1 : 0, n.tick, n.ticks, n.cell)
    out.push(Number.isNaN(offset) ? 0 : n.since + offset)
    out.push(n.kind === BUCKET ? n.amount / slowest : 1)
    out.push(widthOf(n.kind), n.bounds.length, ...n.bounds)
  }
}

function columnOf({ id, limit }: CompiledLimit): string {
  return LETTERS[limit.algorithm] + id.slice(id.indexOf('/') + 1)
}

function withAmount(name: string, { kind, amount }: LimitNumbers): string {
  return kind === BUCKET ? `${name}=${amount}` : name
}
