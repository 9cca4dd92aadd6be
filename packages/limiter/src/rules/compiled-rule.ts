/** Rules with everything computed that a decision needs, and the layout of their counters. */
import { CONCURRENCY, type LimitNumbers } from '../algorithms/limit-numbers.js'
import { boundariesAround } from '../limits/calendar.js'
import {
  type CalendarUnit,
  type Limit,
  limitIdentity,
  numbersOf,
  printLimit,
} from '../limits/limit.js'
import { splitFault } from '../limits/split.js'
import type { Rule } from './rule.js'
import { type DenseNumber, familyNumbers, ruleNumbers } from './rule-numbers.js'
import { lotOf } from './text-hash.js'

/** The windows of one calendar unit in one zone, around the time last asked for. */
class Calendar {
  readonly #unit: CalendarUnit
  readonly #zone: string
  #bounds: number[] = []

  constructor(unit: CalendarUnit, zone: string) {
    this.#unit = unit
    this.#zone = zone
  }

  around(now: number): number[] {
    const bounds = this.#bounds
    const last = bounds.length - 1
    // The window before and the one after stay inside, so that a clock may step a little.
    if (last < 0 || now < bounds[1]! || now >= bounds[last]!)
      this.#bounds = boundariesAround(this.#unit, this.#zone, now)
    return this.#bounds
  }
}

const calendars = new Map<string, Calendar>()

function calendarOf(limit: Limit): Calendar | null {
  if (limit.calendar === null || limit.timezone === null) return null
  const key = `${limit.calendar} ${limit.timezone}`
  const calendar = calendars.get(key) ?? new Calendar(limit.calendar, limit.timezone)
  calendars.set(key, calendar)
  return calendar
}

export class CompiledLimit {
  readonly limit: Limit
  /** Algorithm, window and ordinal: the limit's identity within its rule. */
  readonly id: string
  readonly numbers: LimitNumbers
  /** Spaces requests evenly, so that little is left at most times: no measure of how restrictive it is. */
  readonly spaces: boolean
  private readonly fixedSeconds: number
  /** Which column of its family's rows it counts in. */
  column = 0
  /** Calendar windows need their boundaries before they decide. */
  readonly calendar: Calendar | null

  constructor(limit: Limit, id: string) {
    this.limit = limit
    this.id = id
    this.numbers = numbersOf(limit)
    this.fixedSeconds = this.numbers.window / 1_000_000
    this.spaces = limit.algorithm === 'gcra' || limit.algorithm === 'leaky_bucket'
    this.calendar = calendarOf(limit)
  }

  /** Of a calendar window the one that holds `now`. */
  windowSeconds(now: number): number {
    if (this.calendar === null) return this.fixedSeconds
    const bounds = this.calendar.around(now)
    const next = bounds.findIndex((bound) => bound > now)
    return (bounds[next]! - bounds[next - 1]!) / 1_000_000
  }

  prepare(now: number): void {
    if (this.calendar !== null) this.numbers.bounds = this.calendar.around(now)
  }
}

export interface Column {
  readonly id: string
  /** The slowest limit of this identity: enough to tell when the column is empty. */
  sample: CompiledLimit
  /** The largest burst of any. */
  mostBurst: number
}

/** Shared by all families that have none: there may be a hundred thousand. */
const NO_OVERRIDES: ReadonlyMap<string, CompiledRule[]> = new Map()

/**
 * The variants of one rule (tiers, overrides), which share their counters: a row has a column for
 * every limit that any of them has.
 */
export class Family {
  readonly name: string
  readonly scope: string
  readonly namespace: string
  /** How many shards its rows are split into; 1: none. */
  readonly shards: number
  /** Which shard of its rows this is; -1: it is the whole. */
  readonly shard: number
  /** Names the counters, whatever rule set they come from. */
  readonly key: string
  columns: readonly Column[] = []
  /** Each column has one amount, whoever asks. */
  isUniform = true
  /** By subject value: the rule with other limits, until a time. */
  overrides: ReadonlyMap<string, CompiledRule[]> = NO_OVERRIDES
  /** For the memory store only: which store wrote `rows`, and its table of this family. */
  owner: unknown = null
  rows: unknown = null
  private dense: DenseNumber | null = null

  constructor(namespace: string, scope: string, name: string, shards = 1, shard = -1) {
    this.namespace = namespace
    this.scope = scope
    this.name = name
    this.shards = shards
    this.shard = shard
    this.key = `${namespace}|${scope}|${name}${shard < 0 ? '' : `#${shard}`}`
  }

  /** A small integer that no other family has, but the one that this one replaces. */
  get number(): number {
    this.dense ??= familyNumbers.draw()
    return this.dense.value
  }

  /** This family replaces one of the same key, and gets its number if it has none yet. */
  succeed(before: Family): void {
    this.dense ??= before.dense
  }

  override(value: string, compiled: CompiledRule): void {
    const overrides =
      this.overrides === NO_OVERRIDES
        ? new Map<string, CompiledRule[]>()
        : (this.overrides as Map<string, CompiledRule[]>)
    this.overrides = overrides
    const list = overrides.get(value)
    if (list === undefined) overrides.set(value, [compiled])
    else list.push(compiled)
  }

  add(limit: CompiledLimit): void {
    let index = this.columns.findIndex((column) => column.id === limit.id)
    if (index < 0) {
      index = this.columns.length
      this.columns = [...this.columns, { id: limit.id, sample: limit, mostBurst: 0 }]
    }
    const column = this.columns[index]!
    const { amount } = column.sample.numbers
    if (limit.numbers.amount !== amount) this.isUniform = false
    if (limit.numbers.amount < amount) column.sample = limit
    column.mostBurst = Math.max(column.mostBurst, limit.numbers.burst)
    limit.column = index
  }
}

export class CompiledRule {
  readonly rule: Rule
  readonly name: string
  readonly scope: string
  readonly unit: string
  readonly shadow: boolean
  readonly family: Family
  readonly limits: readonly CompiledLimit[]
  /** Some limit is a concurrency limit. */
  readonly hasHolds: boolean
  /** Of an override: its end, by the store's clock, and its reason. */
  readonly until: number
  readonly reason: string | null
  /** The same in shadow, for the subjects that its rollout has not reached; null where it has reached all. */
  readonly rest: CompiledRule | null
  /** Of a shard: the rule that it is a part of. */
  whole: CompiledRule | null = null
  private dense: DenseNumber | null = null

  constructor(
    rule: Rule,
    family: Family,
    override?: {
      readonly limits: readonly Limit[]
      readonly until: number
      readonly reason: string | null
    },
    shadow: boolean = rule.shadow,
  ) {
    this.rule = rule
    this.name = rule.name
    this.scope = rule.scope
    this.unit = rule.unit
    this.shadow = shadow
    this.family = family
    this.until = override?.until ?? Number.POSITIVE_INFINITY
    this.reason = override?.reason ?? null
    const written = override?.limits ?? rule.limits
    const identities = written.map(limitIdentity)
    this.limits = written.map((limit, i) => {
      const identity = identities[i]!
      let ordinal = 0
      for (let j = 0; j < i; j++) if (identities[j] === identity) ordinal++
      const compiled = new CompiledLimit(limit, ordinal === 0 ? identity : `${identity}#${ordinal}`)
      family.add(compiled)
      return compiled
    })
    if (this.isSplit)
      for (const { numbers } of this.limits)
        numbers.mostCost = Math.floor(numbers.burst / family.shards)
    this.hasHolds = this.limits.some((limit) => limit.numbers.kind === CONCURRENCY)
    const isPartial = !shadow && rule.rollout < 100
    this.rest = isPartial ? new CompiledRule(rule, family, override, true) : null
  }

  /** A small integer that no other rule has, but the one that this one replaces. Overrides have their own. */
  get number(): number {
    this.dense ??= ruleNumbers.draw()
    return this.dense.value
  }

  /** This rule replaces one of the same name, and gets its number if it has none yet. */
  succeed(before: CompiledRule): void {
    this.dense ??= before.dense
    if (this.family.key === before.family.key) this.family.succeed(before.family)
    if (this.rest !== null && before.rest !== null) this.rest.succeed(before.rest)
  }

  /** Its rows are in shards: each limit can be divided over them. */
  get isSplit(): boolean {
    const { shards } = this.family
    return shards > 1 && this.limits.every(({ limit }) => splitFault(limit, shards) === undefined)
  }

  /** The rule as it is for this value: enforced, or in shadow. */
  for(value: string): CompiledRule {
    if (this.rest === null) return this
    return lotOf(this.family.name, value) < this.rule.rollout / 100 ? this : this.rest
  }

  /** The same rule with other limits, counted in another family: whoever serves that one looks at it again. */
  within(family: Family, limits: readonly Limit[]): CompiledRule {
    const { until, reason } = this
    const variant = new CompiledRule(this.rule, family, { limits, until, reason }).as(this)
    family.owner = null
    return variant
  }

  /** Each limit as it is written in rules. */
  get limitTexts(): string[] {
    return this.limits.map(({ limit }) => printLimit(limit))
  }

  /** Of a shard the whole rule: an answer that is given again tells nothing of shards. `RuleSet.recall` reads it. */
  get remembered(): RememberedRule {
    const { name, family, scope, unit, shadow } = this
    return [name, family.name, scope, unit, shadow, (this.whole ?? this).limitTexts]
  }

  /** The same rule, enforced or in shadow as another of its variants is. */
  as({ shadow }: CompiledRule): CompiledRule {
    return shadow === this.shadow ? this : (this.rest ?? this)
  }
}

/** A rule in few words, for an answer that is given again when the rules may have changed. */
export type RememberedRule = readonly [
  name: string,
  family: string,
  scope: string,
  unit: string,
  shadow: boolean,
  limits: readonly string[],
]
