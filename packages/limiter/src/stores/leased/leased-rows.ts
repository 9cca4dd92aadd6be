/**
 * The rows that are asked for often enough to be leased. A row that is not there yet is only counted, and
 * the counts are thrown away ten times a second: a flood of subjects costs a bounded table of numbers.
 */

import { SLIDING_LOG } from '../../algorithms/limit-numbers.js'
import type { CompiledLimit, CompiledRule, Family } from '../../rules/compiled-rule.js'
import { ByRule } from '../../rules/rule-numbers.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { LeaseTime } from './lease-time.js'
import { LeasedRow } from './leased-row.js'

/** Asked for this often within a tenth of a second, a row is looked after. */
const WARM = 4
const COUNTED_MS = 100
/** Rows that are looked after, and rows that are counted, at most. */
const MOST_ROWS = 20_000
const MOST_COUNTED = 50_000

/** Shared by all rules without leased rows: there may be a hundred thousand. */
const NO_ROWS: ReadonlyMap<string, LeasedRow> = new Map()
const NO_COUNTS: ReadonlyMap<string, number> = new Map()

/** A rule's rows; of one that is not leased there are none. */
class RowsOfRule {
  rows = NO_ROWS
  counts = NO_COUNTS

  constructor(
    readonly rule: CompiledRule,
    readonly terms: Terms | null,
  ) {}

  add(row: LeasedRow): void {
    if (this.rows === NO_ROWS) this.rows = new Map()
    ;(this.rows as Map<string, LeasedRow>).set(row.value, row)
  }

  remove(value: string): void {
    ;(this.rows as Map<string, LeasedRow>).delete(value)
  }

  count(value: string, count: number): void {
    if (this.counts === NO_COUNTS) this.counts = new Map()
    ;(this.counts as Map<string, number>).set(value, count)
  }
}

export class LeasedRows {
  readonly #leasedByDefault: boolean
  readonly #rules = new ByRule<RowsOfRule>()
  /** Those with rows or counts: all that have rows are here. */
  readonly #active = new Set<RowsOfRule>()
  #size = 0
  #counted = 0
  #countedFrom = 0
  /** Rows with a lease, when they were last looked at. */
  held = 0

  constructor(leasedByDefault: boolean) {
    this.#leasedByDefault = leasedByDefault
  }

  isLeasable(rule: CompiledRule): boolean {
    return this.#of(rule).terms !== null
  }

  /** Counts a request for the row. Null if it is not leased; the fourth within 100 ms makes it so. */
  find(rule: CompiledRule, value: string, time: LeaseTime): LeasedRow | null {
    const known = this.#of(rule)
    if (known.terms === null) return null
    return known.rows.get(value) ?? this.#warm(known, known.terms, value, time)
  }

  get(rule: CompiledRule, value: string): LeasedRow | undefined {
    return this.#rules.get(rule)?.rows.get(value)
  }

  ofFamily(family: Family, value: string): LeasedRow[] {
    return [...this.#active].flatMap(({ rule, rows }) =>
      rule.family.key === family.key ? (rows.get(value) ?? []) : [],
    )
  }

  #of(rule: CompiledRule): RowsOfRule {
    const known = this.#rules.get(rule)
    if (known !== undefined) return known
    return this.#rules.set(rule, new RowsOfRule(rule, termsOf(rule, this.#leasedByDefault)))
  }

  #warm(known: RowsOfRule, terms: Terms, value: string, time: LeaseTime): LeasedRow | null {
    const count = (known.counts.get(value) ?? 0) + 1
    if (count < WARM || this.#size >= MOST_ROWS) {
      if (count === 1 && this.#counted++ >= MOST_COUNTED) return null
      known.count(value, count)
      this.#active.add(known)
      return null
    }
    const row = new LeasedRow(known.rule, value, terms, time.steady())
    row.count(WARM - 1)
    known.add(row)
    this.#size++
    return row
  }

  /** Looks at every row; those that are asked for no more are let go. */
  tick(steady: number, look: (row: LeasedRow) => void): void {
    const isOver = steady - this.#countedFrom >= COUNTED_MS
    this.held = 0
    for (const known of this.#active) {
      if (isOver) known.counts = NO_COUNTS
      for (const [value, row] of known.rows) {
        if (row.tick(steady)) {
          look(row)
          if (row.hasHoldings) this.held++
        } else {
          known.remove(value)
          this.#size--
        }
      }
      if (known.rows.size === 0 && known.counts.size === 0) this.#active.delete(known)
    }
    if (!isOver) return
    this.#countedFrom = steady
    this.#counted = 0
  }

  /** There is nothing to look at. */
  get isIdle(): boolean {
    return this.#active.size === 0
  }

  /** Rows of rules that are no longer in force: they are looked after no more. */
  removeChanged(rules: RuleSet): LeasedRow[] {
    return this.#remove(
      ({ family }) =>
        family.namespace === rules.namespace && rules.families.get(family.name) !== family,
    )
  }

  removeAll(): LeasedRow[] {
    return this.#remove(() => true)
  }

  #remove(isGone: (rule: CompiledRule) => boolean): LeasedRow[] {
    this.#rules.deleteWhere(({ rule }) => isGone(rule))
    const gone = [...this.#active].filter(({ rule }) => isGone(rule))
    for (const known of gone) {
      this.#active.delete(known)
      this.#size -= known.rows.size
    }
    return gone.flatMap(({ rows }) => [...rows.values()])
  }
}

/** Limits with a smaller burst are not leased: a lease would be no larger than one token. */
const LEAST_BURST = 16
/** A log's lease lasts for at most a hundredth of its window: shorter ones are over before they are of use. */
const SHORTEST_LOG_US = 10_000_000

/** What a rule says of its leases, or the instance where it says nothing. */
export interface Terms {
  /** How much time's worth of the local rate is leased, in milliseconds; null: by what is left. */
  readonly aheadMs: number | null
  readonly most: number
}

/** Null: the rule is not leased. */
export function termsOf(rule: CompiledRule, leasedByDefault: boolean): Terms | null {
  const terms = rule.rule.lease
  if (!(terms?.isOn ?? leasedByDefault) || !canBeLeased(rule)) return null
  const ahead = terms?.ahead ?? null
  return {
    aheadMs: ahead === null ? null : ahead / 1000,
    most: terms?.most ?? Number.POSITIVE_INFINITY,
  }
}

/** Whether tokens of it can be handed out ahead. */
export function canBeLeased({ limits, family }: CompiledRule): boolean {
  return limits.every((limit) => isLeasable(limit, family.shards))
}

/** gcra and leaky buckets space what they admit, and a hold is nobody else's. */
function isLeasable({ limit, numbers }: CompiledLimit, shards: number): boolean {
  if (limit.algorithm === 'gcra' || limit.algorithm === 'leaky_bucket') return false
  if (limit.algorithm === 'concurrency' || numbers.burst < LEAST_BURST * shards) return false
  return numbers.kind !== SLIDING_LOG || numbers.window >= SHORTEST_LOG_US
}
