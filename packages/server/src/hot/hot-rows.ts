/**
 * This instance's hottest rows within the last minute or so: a sample of all decisions in a table of
 * bounded size. One of 16 decisions is looked at, chance saying which, so that no rhythm of a caller
 * hides a row; each row that it asks counts. Every 30 seconds all that was counted counts half.
 *
 * The error: a row's rate is short by at most 1/256 of all that was asked of rows, and off by chance as
 * much as any sample of 1 in 16: of n decisions some 4·√n. docs/how-to/hot-keys.md says what that means.
 *
 * Hot code: a decision that is not looked at costs a subtraction and a comparison.
 */
import { MOST_HOT_ROWS } from '@sluice/contract'
import type { CompiledRule, DecisionRecord } from '@sluice/limiter/transport'
import { type CountedRow, CountedRule, HeaviestRows, ownText } from '../heaviest-rows.js'

/** One of so many decisions is looked at. */
export const SAMPLED = 16
/** Rows that have a place. */
export const MOST_ROWS = MOST_HOT_ROWS
const HALVED_EVERY_MS = 30_000
/** After so many nothing is left. */
const MOST_HALVINGS = 64
/** Less time than this says little about a rate. */
const LEAST_SECONDS = 1

/** As much of a decision as is looked at. */
export interface Decided {
  readonly allowed: boolean
  /** Which rule denied, by its place. */
  readonly topRule: number
  readonly transaction: Pick<DecisionRecord['transaction'], 'rules' | 'values'>
}

/** A rule and its variants, by their names alone: the rules themselves would keep their counters, when they are gone. */
class RowRule extends CountedRule {
  /** The one that was asked last. */
  variant = ''

  constructor(
    readonly namespace: string,
    readonly rule: string,
    readonly scope: string,
  ) {
    super()
  }
}

export interface HotRow {
  readonly namespace: string
  readonly rule: string
  /** The variant of the rule that was asked last: `search@pro`. */
  readonly variant: string
  readonly scope: string
  readonly value: string
  readonly perSecond: number
  /** What part of its namespace's decisions asked this row. */
  readonly share: number
  /** Those that the store had to be asked for. */
  readonly askedPerSecond: number
  /** What part of this row's decisions it denied. */
  readonly deniedShare: number
}

export interface HotRowsOptions {
  /** Milliseconds that only go forward. */
  readonly now: () => number
  /** What chance begins with; chance unless given. */
  readonly seed?: number
}

export class HotRows {
  /** Its second number is what the store was asked for. */
  readonly #table = new HeaviestRows<RowRule>(MOST_ROWS, ownText)
  /** By the name of its counters. */
  readonly #rules = new Map<string, RowRule>()
  /** Decisions that were looked at, by namespace. */
  readonly #decisions = new Map<string, { count: number }>()
  readonly #now: () => number
  #chance: number
  #skip = 1
  /** Since when nothing was halved, and the seconds before it, aged as the counts are. */
  #since: number
  #secondsBefore = 0

  constructor({ now, seed = Math.random() * 2 ** 32 }: HotRowsOptions) {
    this.#now = now
    this.#chance = seed | 1
    this.#since = now()
  }

  decided(decision: Decided, namespace: string, isAsked: boolean): void {
    if (--this.#skip > 0) return
    this.#skip = this.#gap()
    this.#look(decision, namespace, isAsked)
  }

  /** From 1 to 31, each as likely: 16 on average. */
  #gap(): number {
    let x = this.#chance
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.#chance = x
    return 1 + ((x >>> 0) % (2 * SAMPLED - 1))
  }

  #look(decision: Decided, namespace: string, isAsked: boolean): void {
    const decisions = this.#decisions.get(namespace)
    if (decisions === undefined) this.#decisions.set(namespace, { count: 1 })
    else decisions.count++
    const table = this.#table
    const { rules, values } = decision.transaction
    const deniedBy = decision.allowed ? -1 : decision.topRule
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const counted = this.#rules.get(rule.family.key) ?? this.#newRule(rule)
      counted.variant = rule.name
      const place = table.count(counted, values[i]!)
      if (isAsked) table.amount[place]!++
      if (deniedBy === i) table.denied[place]!++
    }
  }

  #newRule({ family: { key, namespace, name, scope } }: CompiledRule): RowRule {
    const counted = new RowRule(namespace, name, scope)
    this.#rules.set(key, counted)
    return counted
  }

  /** To be called every few seconds: what was counted long ago counts less. */
  age(): void {
    const halvings = Math.floor((this.#now() - this.#since) / HALVED_EVERY_MS)
    if (halvings <= 0) return
    this.#since += halvings * HALVED_EVERY_MS
    for (let i = 0; i < Math.min(halvings, MOST_HALVINGS); i++) this.#halve()
    this.#forget()
  }

  #halve(): void {
    this.#secondsBefore = (this.#secondsBefore + HALVED_EVERY_MS / 1000) / 2
    this.#table.halve()
    for (const decisions of this.#decisions.values()) decisions.count /= 2
  }

  /** Whatever nobody asks any more, names and rules alike. */
  #forget(): void {
    for (const [key, { places }] of this.#rules) if (places.size === 0) this.#rules.delete(key)
    for (const [namespace, { count }] of this.#decisions)
      if (count < 0.5) this.#decisions.delete(namespace)
  }

  /** The time that rates are of, in seconds: what is long ago counts less. */
  get windowSeconds(): number {
    this.age()
    return Math.max(LEAST_SECONDS, this.#secondsBefore + (this.#now() - this.#since) / 1000)
  }

  /** Of a namespace, the hottest first. */
  of(namespace: string): HotRow[] {
    const seconds = this.windowSeconds
    return [...this.#table]
      .filter(({ rule }) => rule.namespace === namespace)
      .map((counted) => this.#row(counted, seconds))
      .sort((a, b) => b.perSecond - a.perSecond)
  }

  /** Of all namespaces, the hottest row of each of the hottest rules. */
  rules(most: number): HotRow[] {
    const seconds = this.windowSeconds
    // A rule may have been of another scope a moment ago.
    const hottest = new Map<string, HotRow>()
    for (const counted of this.#table) {
      const row = this.#row(counted, seconds)
      const name = `${row.namespace}|${row.rule}`
      const known = hottest.get(name)
      if (known === undefined || row.perSecond > known.perSecond) hottest.set(name, row)
    }
    return [...hottest.values()].sort((a, b) => b.perSecond - a.perSecond).slice(0, most)
  }

  #row({ rule: of, value, seen, amount, denied }: CountedRow<RowRule>, seconds: number): HotRow {
    const { namespace, rule, variant, scope } = of
    return {
      namespace,
      rule,
      variant,
      scope,
      value,
      perSecond: (seen * SAMPLED) / seconds,
      share: seen / (this.#decisions.get(namespace)?.count ?? seen),
      askedPerSecond: (amount * SAMPLED) / seconds,
      deniedShare: denied / seen,
    }
  }
}
