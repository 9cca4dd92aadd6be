/** Operations that travel in one call of the change script: everything but deciding. */
import { doubles } from './consume-arguments.js'
import type { RuleLayout } from './rule-layout.js'

export const REFUND = 1
export const GRANT = 2
export const CHARGE = 3
/** Makes what is used at least so much. */
export const RAISE = 4
export const RESET = 5
export const RENEW = 6
export const RELEASE = 7
/** Of idempotency records, where a request is decided in several slots. */
export const CLAIM = 8
export const CONFIRM = 9
export const UNCLAIM = 10
/** This instance is there. */
export const BEAT = 11

/** Makes a key that is not there, saying nothing. */
export const CREATE = 12

/** A limit's place in its rule from 1 on, an amount, and of refunds what the receipt says; zeros else. */
export type Item = readonly [
  limit: number,
  amount: number,
  mark: number,
  markRest: number,
  takenUnder: number,
  givenBack: number,
  takenAt: number,
]

export interface Operation {
  readonly code: number
  /** All operations of a call are of one slot. */
  readonly slot: number
  readonly key: string
  readonly layout: RuleLayout | null
  readonly texts: readonly (string | Buffer)[]
  readonly items: readonly Item[]
}

export function changeArguments(
  operations: readonly Operation[],
  now: number,
  packed: (layout: RuleLayout) => Buffer,
): { keys: string[]; args: (string | Buffer)[] } {
  const layouts = [...new Set(operations.flatMap(({ layout }) => layout ?? []))]
  const stream = [now, layouts.length]
  const keys: string[] = []
  const texts: (string | Buffer)[] = []
  for (const { code, key, layout, texts: own, items } of operations) {
    keys.push(key)
    for (const beside of layout?.besides ?? []) keys.push(`${key}:${beside}`)
    const place = own.length === 0 ? 0 : 2 + 2 * layouts.length + texts.length
    texts.push(...own)
    stream.push(code, layout === null ? 0 : layouts.indexOf(layout) + 1, place, items.length)
    for (const item of items) stream.push(...item)
  }
  const args: (string | Buffer)[] = [doubles(stream)]
  for (const layout of layouts) args.push(packed(layout), layout.names)
  return { keys, args: args.concat(texts) }
}
