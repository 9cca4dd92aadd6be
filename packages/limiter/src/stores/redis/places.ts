/** Where the rows of a transaction are, and how they are laid out. */
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Transaction } from '../store.js'
import { type Keys, slotOf } from './keys.js'
import { RuleLayout } from './rule-layout.js'

export class Places {
  readonly isCluster: boolean
  readonly keys: Keys
  /** In force, by namespace. */
  readonly rules = new Map<string, RuleSet>()
  readonly #layouts = new WeakMap<CompiledRule, RuleLayout>()

  constructor(keys: Keys, isCluster: boolean) {
    this.keys = keys
    this.isCluster = isCluster
  }

  layoutOf(rule: CompiledRule): RuleLayout {
    let layout = this.#layouts.get(rule)
    if (layout === undefined) {
      layout = RuleLayout.of(rule)
      this.#layouts.set(rule, layout)
    }
    return layout
  }

  rowKey(family: Family, value: string): string {
    return this.keys.row(this.#tag(family, value), family.name)
  }

  /** 0 where there is no cluster: everything is together. */
  slotOfRow(family: Family, value: string): number {
    return this.isCluster ? slotOf(this.#tag(family, value)) : 0
  }

  recordKey(transaction: Transaction): string {
    return this.keys.record(this.#recordTag(transaction), transaction.idempotency!.id)
  }

  slotOfRecord(transaction: Transaction): number {
    return this.isCluster ? slotOf(this.#recordTag(transaction)) : 0
  }

  #tag(family: Family, value: string): string {
    return this.keys.tag(family.namespace, family.scope, value, family.shard)
  }

  /** An idempotency key belongs to the request's subject, whatever the rules are. */
  #recordTag({ idempotency }: Transaction): string {
    const { namespace, scope, value } = idempotency!
    return this.keys.tag(namespace, scope, value)
  }
}
