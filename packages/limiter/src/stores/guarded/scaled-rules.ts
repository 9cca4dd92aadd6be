/**
 * Rules with an instance's part of their numbers. A fraction is rounded up or down by a hash of row and
 * instance, so that the parts of all instances add up to the limit on average.
 */
import { randomUUID } from 'node:crypto'
import type { Limit } from '../../limits/limit.js'
import { type CompiledRule, Family } from '../../rules/compiled-rule.js'
import { ByRule } from '../../rules/rule-numbers.js'
import { lotOf } from '../../rules/text-hash.js'

/** Variants of one rule before they are made anew. */
const MOST_VARIANTS = 256

export class ScaledRules {
  readonly #instance = randomUUID()
  /** By the numbers of the rules' own families. */
  readonly #families: (Family | undefined)[] = []
  readonly #variants = new ByRule<Map<string, CompiledRule>>()

  /** The rule with this part of its numbers, in a family of its own; null if that is nothing at all. */
  of(rule: CompiledRule, part: number, key: string): CompiledRule | null {
    const share = part >= 1 ? 1 : coarse(part)
    const limits = rule.limits.map(({ limit }, i) =>
      share === 1 ? limit : scaled(limit, share, lotOf(this.#instance, `${key}#${i}`)),
    )
    if (limits.some(({ burst }) => burst === 0)) return null
    return this.#variant(rule, limits)
  }

  /** The rules have changed: stores find out anew where each family's rows are. */
  lookAgain(): void {
    for (const family of this.#families) if (family !== undefined) family.owner = null
  }

  #variant(rule: CompiledRule, limits: readonly Limit[]): CompiledRule {
    const name = limits.map(({ amount, burst }) => `${amount}/${burst}`).join()
    let variants = this.#variants.get(rule)
    if (variants === undefined || variants.size >= MOST_VARIANTS)
      variants = this.#variants.set(rule, new Map())
    const known = variants.get(name)
    if (known !== undefined) return known
    const variant = rule.within(this.#familyOf(rule), limits)
    variants.set(name, variant)
    return variant
  }

  /** Rows may have any amount, so the family never looks as if all of them had the same. */
  #familyOf({ family: { number, namespace, scope, name, shard, key } }: CompiledRule): Family {
    const known = this.#families[number]
    if (known?.key === key) return known
    const family = new Family(namespace, scope, name, 1, shard)
    family.isUniform = false
    while (this.#families.length <= number) this.#families.push(undefined)
    this.#families[number] = family
    return family
  }
}

/** A little less, so that there are few different parts: 32 for each halving. */
function coarse(part: number): number {
  const octave = 2 ** Math.floor(Math.log2(part))
  return (Math.floor((part / octave) * 32) / 32) * octave
}

function scaled(limit: Limit, part: number, lot: number): Limit {
  const whole = (n: number) => Math.floor(n) + (lot < n - Math.floor(n) ? 1 : 0)
  const burst = whole(limit.burst * part)
  const isBucket = ['token_bucket', 'gcra', 'leaky_bucket'].includes(limit.algorithm)
  const amount = isBucket ? Math.max(1, whole(limit.amount * part)) : burst
  return { ...limit, amount, burst }
}
