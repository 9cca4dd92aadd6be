/** Giving and taking without a decision, over the shards of a row: a look says how much is where. */
import { VERDICT_WIDTH } from '../../algorithms/verdict.js'
import {
  DEGRADED,
  FIRST_VERDICT,
  type LimitChange,
  remainingIn,
  type Store,
  type Undone,
} from '../store.js'
import { lookAtShards } from './look.js'
import type { Places } from './place.js'
import type { ShardedRule } from './sharded-rule.js'

/** What each shard of a limit has left and how much it can hold. */
interface ShardLevel {
  readonly shard: number
  readonly left: number
  readonly used: number
}

/** How much of an amount goes to which shard. */
type Divide = (amount: number, shards: readonly ShardLevel[]) => Map<number, number>

export class ShardChanges {
  readonly #inner: Store
  readonly #places: Places

  constructor(inner: Store, places: Places) {
    this.#inner = inner
    this.#places = places
  }

  /** To the emptiest first, at most what is used. */
  grant(changes: readonly LimitChange[], now: number): Promise<number[] | Undone> {
    return this.#change(changes, now, fillEmptiest, (each) => this.#inner.grant(each, now))
  }

  /** Where most is left; what is missing is debt of one. */
  charge(changes: readonly LimitChange[], now: number): Promise<number[] | Undone> {
    return this.#change(changes, now, takeFullest, (each) => this.#inner.charge(each, now))
  }

  async #change(
    changes: readonly LimitChange[],
    now: number,
    divide: Divide,
    apply: (changes: readonly LimitChange[]) => ReturnType<Store['grant']>,
  ): Promise<number[] | Undone> {
    const divided = await Promise.all(changes.map((change) => this.#divided(change, now, divide)))
    if (divided.includes(null)) return 'not_done'
    const parts = (divided as LimitChange[][]).flatMap((list, index) =>
      list.map((part) => ({ index, part })),
    )
    if (parts.length === 0) return changes.map(() => 0)
    const done = await apply(parts.map(({ part }) => part))
    if (!Array.isArray(done)) return done
    const amounts = changes.map(() => 0)
    for (const [i, { index }] of parts.entries()) amounts[index]! += done[i]!
    return amounts
  }

  /** Null where the store could not be asked. */
  async #divided(change: LimitChange, now: number, divide: Divide): Promise<LimitChange[] | null> {
    const rule = this.#places.splitOf(change.rule)
    if (rule === null) return [change]
    const shards = await this.#levelsOf(rule, change, now)
    if (shards === null) return null
    const j = change.rule.limits.indexOf(change.limit)
    return [...divide(change.amount, shards)].map(([shard, amount]) => {
      const own = rule.shard(shard)
      return { ...change, rule: own, limit: own.limits[j]!, amount }
    })
  }

  async #levelsOf(
    rule: ShardedRule,
    { limit, value }: LimitChange,
    now: number,
  ): Promise<ShardLevel[] | null> {
    const j = rule.whole.limits.indexOf(limit)
    const seen = await lookAtShards(this.#inner, this.#places, rule, value, 1, now)
    if (seen.some((verdicts) => verdicts[DEGRADED] !== 0)) return null
    return seen.map((verdicts, shard) => {
      const left = remainingIn(verdicts, FIRST_VERDICT + j * VERDICT_WIDTH)
      return { shard, left, used: rule.shard(shard).limits[j]!.numbers.burst - left }
    })
  }
}

function fillEmptiest(amount: number, shards: readonly ShardLevel[]): Map<number, number> {
  return deal(
    amount,
    shards.toSorted((a, b) => b.used - a.used),
    ({ used }) => used,
  ).parts
}

function takeFullest(amount: number, shards: readonly ShardLevel[]): Map<number, number> {
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
