/**
 * Where things are in Redis: `sluice:{namespace|scope|value}:rule`. The part in braces is what Redis
 * Cluster chooses the slot by, so all rows of one subject value are in one slot; only shards have their
 * number there (`{namespace|scope|value|3}`), so that they are in different ones. Nothing from outside
 * goes into a key as it is: no two of (namespace, scope, value, shard, rule) share one.
 *
 * After the braces a row has its rule's name, which starts with a letter or a digit and has no colon;
 * what a log or a hold keeps beside has the row's key, a colon and the column; an idempotency record has =.
 */
import { SluiceError } from '../../errors.js'

/** Everything but the printable ASCII that means nothing here. */
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
  instances(namespace: string): string {
    return `${this.#prefix}:{${namespace}}:instances`
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
