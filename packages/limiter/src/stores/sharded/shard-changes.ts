/**
 * Changes of rows in shards: a take goes back to the shard that it was taken from, a row is reset with all
 * its shards, and what is granted or charged is divided after a look at how much is where.
 */
import type { Changed, Charge, Grant, Operation, Refund, Reset } from '../operation.js'
import type { Awaitable, Store } from '../store.js'
import type { Moment } from '../transaction.js'
import type { ShardLook } from './shard-answers.js'
import { readMark, type ShardRules } from './sharded-rule.js'

/** What a shard of a limit has left, and what is used of it. */
interface ShardLevel {
  readonly shard: number
  readonly left: number
  readonly used: number
}

export class ShardChanges {
  readonly #inner: Store
  readonly #rules: ShardRules
  readonly #look: ShardLook

  constructor(inner: Store, rules: ShardRules, look: ShardLook) {
    this.#inner = inner
    this.#rules = rules
    this.#look = look
  }

  change(operations: readonly Operation[], moment: Moment): Awaitable<readonly Changed[]> {
    if (operations.every(isWhole)) return this.#inner.change(operations, moment)
    return this.#change(operations, moment)
  }

  async #change(operations: readonly Operation[], moment: Moment): Promise<Changed[]> {
    const parts = await Promise.all(operations.map(async (each) => this.#partsOf(each, moment)))
    // All or nothing where that is known beforehand: what is partly done cannot be repeated.
    if (parts.includes(null)) return operations.map(() => 'not_done')
    const all = parts.flatMap((list) => list ?? [])
    const changed = all.length === 0 ? [] : await this.#inner.change(all, moment)
    let next = 0
    return operations.map(({ kind }, i) => {
      const list = parts[i]!
      const own = combined(changed.slice(next, next + list.length))
      next += list.length
      // A row is one, however many shards it has.
      return kind === 'reset' && typeof own === 'number' ? Math.min(1, own) : own
    })
  }

  /** The same of whole rows and shards; null where the store could not be asked. */
  #partsOf(operation: Operation, moment: Moment): Awaitable<Operation[] | null> {
    switch (operation.kind) {
      case 'refund':
        return this.#refundOf(operation)
      case 'grant':
      case 'charge':
        return this.#divided(operation, moment)
      case 'reset':
        return this.#resetsOf(operation)
      case 'raise':
      case 'renew':
      case 'release':
        return [operation]
    }
  }

  /** Nothing for a shard that no longer exists. If the limit has changed since, the store gives nothing back. */
  #refundOf(refund: Refund): Refund[] {
    const { take } = refund
    const mark = readMark(take.markRest)
    if (mark === null) return [refund]
    const { shard, count, rest } = mark
    const rule = this.#rules.of(refund.rule)
    if (rule === null || count === 0 || shard >= rule.count) return []
    const own = rule.shard(shard)
    const limit = own.limits[refund.rule.limits.indexOf(refund.limit)]!
    const takenUnder = Math.floor((take.takenUnder + shard) / count)
    return [{ ...refund, rule: own, limit, take: { ...take, markRest: rest, takenUnder } }]
  }

  /** Limits that cannot be split count in the whole row. */
  #resetsOf(reset: Reset): Reset[] {
    const { family } = reset
    if (family.shards === 1) return [reset]
    const families = [family, ...this.#rules.familiesOf(family)]
    return families.map((each) => ({ ...reset, family: each }))
  }

  async #divided(operation: Grant | Charge, moment: Moment): Promise<Operation[] | null> {
    const rule = this.#rules.of(operation.rule)
    if (rule === null) return [operation]
    const { kind, value, amount } = operation
    const answers = await this.#look.shards(rule, value, 1, moment)
    if (answers.some((answer) => answer.isDegraded)) return null
    const j = operation.rule.limits.indexOf(operation.limit)
    const levels = answers.map((answer, shard) => {
      const left = answer.remaining(j)
      return { shard, left, used: rule.shard(shard).limits[j]!.numbers.burst - left }
    })
    const divided =
      kind === 'grant' ? giveWhereMostIsUsed(amount, levels) : takeWhereMostIsLeft(amount, levels)
    return [...divided].map(([shard, part]) => {
      const own = rule.shard(shard)
      return { ...operation, rule: own, limit: own.limits[j]!, amount: part }
    })
  }
}

/** Whether it is passed on as it is. */
function isWhole(operation: Operation): boolean {
  switch (operation.kind) {
    case 'refund':
      return readMark(operation.take.markRest) === null
    case 'grant':
    case 'charge':
      return operation.rule.family.shards === 1
    case 'reset':
      return operation.family.shards === 1
    case 'raise':
    case 'renew':
    case 'release':
      return true
  }
}

/** What became of one operation whose parts these are. */
function combined(parts: readonly Changed[]): Changed {
  const amounts = parts.filter((part) => typeof part === 'number')
  if (amounts.length === parts.length) return amounts.reduce((sum, amount) => sum + amount, 0)
  return parts.every((part) => part === 'not_done') ? 'not_done' : 'unknown'
}

/** How much goes to which shard: to the emptiest first, at most what is used. */
function giveWhereMostIsUsed(amount: number, shards: readonly ShardLevel[]): Map<number, number> {
  const emptiest = shards.toSorted((a, b) => b.used - a.used)
  return deal(amount, emptiest, ({ used }) => used).parts
}

/** How much is taken of which shard: where most is left; what is missing is debt of one. */
function takeWhereMostIsLeft(amount: number, shards: readonly ShardLevel[]): Map<number, number> {
  const fullest = shards.toSorted((a, b) => b.left - a.left)
  const { parts, rest } = deal(amount, fullest, ({ left }) => left)
  const { shard } = fullest[0]!
  if (rest > 0) parts.set(shard, (parts.get(shard) ?? 0) + rest)
  return parts
}

/** To one after the other, as much as each takes. */
function deal(amount: number, shards: readonly ShardLevel[], most: (shard: ShardLevel) => number) {
  const parts = new Map<number, number>()
  let rest = amount
  for (const each of shards) {
    const part = Math.min(rest, most(each))
    if (part > 0) parts.set(each.shard, part)
    rest -= Math.max(0, part)
  }
  return { parts, rest }
}
