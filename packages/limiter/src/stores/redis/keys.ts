/** Keys in Redis: how rows and records are named, which slot of a cluster they are in, and how rows are laid out. */
import { SluiceError } from '../../errors.js'
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import { ByRule } from '../../rules/rule-numbers.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Idempotency } from '../transaction.js'
import { RuleLayout } from './rule-layout.js'

/** Escaped: everything but printable ASCII, and of that the space and % { | }. */
const UNSAFE = /[^!-$&-z~]/
const EVERY_UNSAFE = /[^!-$&-z~]/g

/** Each unsafe UTF-16 unit as % and four hexadecimal digits. */
function escaped(value: string): string {
  if (!UNSAFE.test(value)) return value
  return value.replace(
    EVERY_UNSAFE,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

export class Keys {
  readonly #prefix: string

  constructor(prefix: string) {
    if (!/^[A-Za-z0-9_.:-]{1,64}$/.test(prefix))
      throw new SluiceError(
        'invalid_options',
        `prefix is ${JSON.stringify(prefix)}; expected up to 64 letters, digits, and _ . : -`,
        { field: 'prefix' },
      )
    this.#prefix = prefix
  }

  /** What the slot is chosen by. */
  tag(namespace: string, scope: string, value: string, shard = -1): string {
    const tag = `${namespace}|${scope}|${escaped(value)}`
    return shard < 0 ? tag : `${tag}|${shard}`
  }

  row(tag: string, family: string): string {
    return `${this.#prefix}:{${tag}}:${family}`
  }

  record(tag: string, id: string): string {
    return `${this.#prefix}:{${tag}}:=${escaped(id)}`
  }

  /** Who shares the counters of a namespace. */
  instances(tag: string): string {
    return `${this.#prefix}:{${tag}}:instances`
  }
}

const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The cluster slot of a key with this tag, which is ASCII. */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i++)
    crc = ((crc << 8) ^ CRC16[((crc >> 8) ^ tag.charCodeAt(i)) & 0xff]!) & 0xffff
  return crc & 16383
}

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

  /** These rules are in force: layouts of others are forgotten. Those of shards are forgotten too, and made anew when needed. */
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
