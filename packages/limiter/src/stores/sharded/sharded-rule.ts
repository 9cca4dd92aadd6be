/** A rule in shards: each a rule of its own, with its part of every limit, in a family of its own. */
import { shardOf, splitFault } from '../../limits/split.js'
import { CompiledLimit, type CompiledRule, Family } from '../../rules/compiled-rule.js'
import { ByRule } from '../../rules/rule-numbers.js'
import type { RuleSet } from '../../rules/rule-set.js'

let lastId = 0

export class ShardedRule {
  /** No other object has it: a rule that is compiled again may have other limits. */
  readonly id = ++lastId
  readonly whole: CompiledRule
  /** How many shards there are. */
  readonly count: number
  readonly #families: readonly Family[]
  readonly #shards: CompiledRule[] = []

  constructor(whole: CompiledRule, families: readonly Family[]) {
    this.whole = whole
    this.count = families.length
    this.#families = families
  }

  shard(shard: number): CompiledRule {
    const known = this.#shards[shard]
    if (known !== undefined) return known
    const limits = this.whole.limits.map(({ limit }) => shardOf(limit, shard, this.count))
    const made = this.whole.within(this.#families[shard]!, limits)
    made.whole = this.whole
    // Amounts of shards change when the whole's do.
    for (const [j, { numbers }] of made.limits.entries())
      numbers.since = this.whole.limits[j]!.numbers.since
    this.#shards[shard] = made
    return made
  }

  /** No request of this cost can pass: the smallest shard, which is the first, never holds so much. */
  isTooExpensive(cost: number): boolean {
    return this.whole.limits.some(({ numbers }) => cost > numbers.mostCost)
  }
}

/** Whether any may be in shards: asked of every request. */
export function hasShards(rules: readonly CompiledRule[]): boolean {
  for (let i = 0; i < rules.length; i++) if (rules[i]!.family.shards > 1) return true
  return false
}

/** A family, and one for each shard of its rows. */
interface ShardedFamily {
  readonly whole: Family
  readonly shards: readonly Family[]
}

export class ShardRules {
  readonly #rules = new ByRule<ShardedRule | null>()
  /** By the number of the whole. */
  readonly #families: (ShardedFamily | undefined)[] = []

  /** Null where it is not split: whether its limits can be was asked when they were written, but rules and overrides may come together from different places. */
  of(rule: CompiledRule): ShardedRule | null {
    if (rule.family.shards === 1) return null
    const known = this.#rules.get(rule)
    if (known !== undefined) return known
    const made = rule.isSplit ? new ShardedRule(rule, this.familiesOf(rule.family)) : null
    return this.#rules.set(rule, made)
  }

  /** One for each shard, with a column for every limit that any variant of the rule has. */
  familiesOf(whole: Family): readonly Family[] {
    const known = this.#families[whole.number]
    if (known?.whole === whole) return known.shards
    const shards = Array.from({ length: whole.shards }, (_, shard) => shardFamily(whole, shard))
    const before = known?.whole.key === whole.key ? known.shards : []
    for (const [shard, family] of before.entries()) shards[shard]?.succeed(family)
    while (this.#families.length <= whole.number) this.#families.push(undefined)
    this.#families[whole.number] = { whole, shards }
    return shards
  }

  /** These rules are in force: others are forgotten. What replaces a family still finds the shards of that one. */
  use({ namespace, families }: RuleSet): void {
    this.#rules.deleteWhere((rule) => {
      const family = rule?.whole.family
      return family?.namespace === namespace && families.get(family.name) !== family
    })
    for (const [number, known] of this.#families.entries()) {
      if (known?.whole.namespace !== namespace) continue
      if (families.get(known.whole.name)?.key !== known.whole.key)
        this.#families[number] = undefined
    }
  }
}

function shardFamily(whole: Family, shard: number): Family {
  const { namespace, scope, name, shards } = whole
  const family = new Family(namespace, scope, name, 1, shard)
  for (const { id, sample } of whole.columns)
    if (splitFault(sample.limit, shards) === undefined)
      family.add(new CompiledLimit(shardOf(sample.limit, shard, shards), id))
  family.isUniform = false
  return family
}

const UNIT = 2 ** 30
const COUNTS = 1024

export interface ShardMark {
  readonly shard: number
  /** Of how many; 0 in receipts of earlier releases that took from several: nothing is given back for them. */
  readonly count: number
  /** The take's second number as the store gave it. */
  readonly rest: number
}

export function markShard(rest: number, shard: number, count: number): number {
  return rest + (count * COUNTS + shard) * UNIT
}

/** Null: the take was of a row that is not split. */
export function readMark(written: number): ShardMark | null {
  const code = Math.floor(written / UNIT)
  if (code === 0) return null
  const count = Math.floor(code / COUNTS)
  return { shard: code % COUNTS, count, rest: written - code * UNIT }
}
