/** Where rows and records are in Redis, and how rows are laid out. */
import { ByRule } from '../../rules/by-rule.js'
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Idempotency } from '../transaction.js'
import { type Keys, slotOf } from './keys.js'
import { RuleLayout } from './rule-layout.js'

export class Addresses {
  readonly keys: Keys
  readonly #isCluster: boolean
  readonly #layouts = new ByRule<RuleLayout>()

  constructor(keys: Keys, isCluster: boolean) {
    this.keys = keys
    this.#isCluster = isCluster
  }

  layoutOf(rule: CompiledRule): RuleLayout {
    return this.#layouts.get(rule) ?? this.#layouts.set(rule, RuleLayout.of(rule))
  }

  /** These rules are in force: layouts of others are forgotten. Those of shards are made again when they are asked for. */
  use({ namespace, families }: RuleSet): void {
    this.#layouts.deleteWhere(
      ({ family }) => family.namespace === namespace && families.get(family.name) !== family,
    )
  }

  rowKey(family: Family, value: string): string {
    return this.keys.row(this.#tag(family, value), family.name)
  }

  /** 0 where there is no cluster: everything is together. */
  slotOfRow(family: Family, value: string): number {
    return this.#isCluster ? slotOf(this.#tag(family, value)) : 0
  }

  slotOfTag(tag: string): number {
    return this.#isCluster ? slotOf(tag) : 0
  }

  recordKey(idempotency: Idempotency): string {
    return this.keys.record(this.#recordTag(idempotency), idempotency.id)
  }

  slotOfRecord(idempotency: Idempotency): number {
    return this.slotOfTag(this.#recordTag(idempotency))
  }

  #tag(family: Family, value: string): string {
    return this.keys.tag(family.namespace, family.scope, value, family.shard)
  }

  /** An idempotency key belongs to the request's subject, whatever the rules are. */
  #recordTag({ namespace, scope, value }: Idempotency): string {
    return this.keys.tag(namespace, scope, value)
  }
}
