/** What a transaction would be answered: every shard is asked without taking, and what they say is added up. */
import {
  GO_AT,
  NEVER,
  NOT_NOW,
  REMAINING,
  RESET_AT,
  SHUT,
  STATUS,
  UNCOUNTED,
  VERDICT_WIDTH,
  YES,
} from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import {
  ALLOWED,
  DECIDED_AT,
  DEGRADED,
  FIRST_VERDICT,
  partOf,
  remainingIn,
  type Store,
  type Transaction,
  type Verdicts,
} from '../store.js'
import { noteSurplus } from '../surplus.js'
import { deniersOf, type Place, type Places } from './place.js'
import type { ShardedRule } from './sharded-rule.js'

export async function look(
  inner: Store,
  places: Places,
  transaction: Transaction,
  split: readonly Place[],
): Promise<number[]> {
  const whole = [...transaction.rules.keys()].filter((i) => !split.some(({ index }) => index === i))
  const [rest, ...shards] = await Promise.all([
    whole.length === 0 ? null : inner.consume({ ...partOf(transaction, whole), dryRun: true }),
    ...split.map(({ rule, value, cost }) =>
      lookAtShards(inner, places, rule, value, cost, transaction.now),
    ),
  ])
  const limits = transaction.rules.reduce((sum, rule) => sum + rule.limits.length, 0)
  const out = new Array<number>(FIRST_VERDICT + limits * VERDICT_WIDTH).fill(0)
  const answers = [...(rest === null ? [] : [rest]), ...shards.flat()]
  out[DECIDED_AT] = Math.max(...answers.map((each) => each[DECIDED_AT]!))
  out[DEGRADED] = Math.max(...answers.map((each) => each[DEGRADED]!))
  if (rest !== null) copyRest(transaction, whole, rest, out)
  for (const [i, place] of split.entries()) addUp(place, shards[i]!, out)
  out[ALLOWED] = deniersOf(transaction, out).length === 0 ? 1 : 0
  return out
}

/** Each shard's answer to a look at it. */
export async function lookAtShards(
  inner: Store,
  places: Places,
  rule: ShardedRule,
  value: string,
  cost: number,
  now: number,
): Promise<Verdicts[]> {
  const place = places.single(rule, value, cost, now)
  const shards = Array.from({ length: rule.count }, (_, shard) => shard)
  return Promise.all(
    shards.map(async (shard) => {
      const verdicts = await inner.consume(lookAt([rule.shard(shard)], [value], [cost], now))
      places.note([{ ...place, shard }], now, verdicts)
      return verdicts
    }),
  )
}

function lookAt(
  rules: CompiledRule[],
  values: string[],
  costs: number[],
  now: number,
): Transaction {
  const nothing = { holdId: '', idempotency: null, replayOf: null }
  return { rules, values, costs, cost: costs[0]!, dryRun: true, now, ...nothing }
}

function copyRest(
  transaction: Transaction,
  whole: readonly number[],
  rest: Verdicts,
  out: number[],
): void {
  let from = FIRST_VERDICT
  let at = FIRST_VERDICT
  for (const [i, { limits }] of transaction.rules.entries()) {
    const length = limits.length * VERDICT_WIDTH
    if (whole.includes(i)) {
      for (let n = 0; n < length; n++) out[at + n] = rest[from + n]!
      from += length
    }
    at += length
  }
}

/** The shard that would admit it, or will first, speaks for all. What is left, and what is used, are the sums. */
function addUp(place: Place, shards: readonly Verdicts[], out: number[]): void {
  const { rule, at: from, cost } = place
  const count = rule.whole.limits.length
  const speaker = shards.toSorted((a, b) => goAt(a, count) - goAt(b, count))[0]!
  for (const [j, { numbers }] of rule.whole.limits.entries()) {
    const at = from + j * VERDICT_WIDTH
    const own = FIRST_VERDICT + j * VERDICT_WIDTH
    for (let n = 0; n < VERDICT_WIDTH; n++) out[at + n] = speaker[own + n]!
    if (out[at + STATUS] === UNCOUNTED || out[at + STATUS] === SHUT) continue
    const left = shards.reduce((sum, each) => sum + remainingIn(each, own), 0)
    const all = shards.reduce((sum, each) => sum + each[own + REMAINING]!, 0)
    out[at + RESET_AT] = Math.max(...shards.map((each) => each[own + RESET_AT]!))
    if (cost > numbers.mostCost) out[at + STATUS] = NEVER
    if (out[at + STATUS] === NEVER) out[at + GO_AT] = 0
    const most = out[at + STATUS] === NOT_NOW ? Math.min(numbers.burst, cost - 1) : numbers.burst
    out[at + REMAINING] = left > 0 ? Math.min(left, most) : all
    noteSurplus(out, at, out[at + REMAINING]! - all)
  }
}

/** When a shard admits what it was asked; the first for one that would now. */
function goAt(verdicts: Verdicts, limits: number): number {
  let latest = 0
  for (let at = FIRST_VERDICT; at < FIRST_VERDICT + limits * VERDICT_WIDTH; at += VERDICT_WIDTH) {
    if (verdicts[at + STATUS] === NEVER) return Number.POSITIVE_INFINITY
    if (verdicts[at + STATUS] !== YES) latest = Math.max(latest, verdicts[at + GO_AT]!)
  }
  return latest
}
