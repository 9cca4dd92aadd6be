/**
 * Everything that was spent, by whom it was counted and when: what the server charged for a decision, and
 * what instances took out of their leases. From it a run is judged when it is over.
 */
import {
  BUCKET,
  FIXED_WINDOW,
  type LimitNumbers,
  SLIDING_COUNTER,
} from '../../limiter/src/algorithms/limit-numbers.js'
import type { CompiledRule } from '../../limiter/src/rules/compiled-rule.js'
import type { Answer } from '../../limiter/src/stores/answer.js'
import { LeasedRow } from '../../limiter/src/stores/leased/leased-row.js'
import { costOf } from '../../limiter/src/stores/transaction.js'
import type { World } from './world.js'
import { wrap } from './wrap.js'

export interface Spend {
  /** True time. */
  readonly at: number
  readonly cost: number
}

/** What a limit admitted, beside the most that it may. */
export interface Worst {
  readonly rule: string
  readonly limit: number
  readonly over: number
  readonly at: number
}

export class Ledger {
  readonly #world: Pick<World, 'now'>
  readonly #spends = new Map<string, { rule: CompiledRule; list: Spend[] }>()
  /** Costs that were asked for, and let through. */
  asked = 0
  admitted = 0

  constructor(world: Pick<World, 'now'>) {
    this.#world = world
    watch(this)
  }

  decided(cost: number, allowed: boolean): void {
    this.asked += cost
    if (allowed) this.admitted += cost
  }

  /** The server has decided a transaction. */
  charged({ transaction, allowed }: Answer): void {
    if (!allowed || transaction.dryRun) return
    for (const [i, rule] of transaction.rules.entries())
      this.spent(rule, transaction.values[i]!, costOf(transaction, i))
  }

  spent(rule: CompiledRule, value: string, cost: number): Spend {
    const spend = { at: this.#world.now, cost }
    this.#of(rule, value).push(spend)
    return spend
  }

  /** It was undone: all of it, however much of it was given back. */
  undone(rule: CompiledRule, value: string, spend: Spend): void {
    const list = this.#of(rule, value)
    list.splice(list.indexOf(spend), 1)
  }

  /** The latest such spend was none. */
  unspent(rule: CompiledRule, value: string, cost: number): void {
    const list = this.#of(rule, value)
    const last = list.findLastIndex((spend) => spend.cost === cost)
    list.splice(last, 1)
  }

  #of(counted: CompiledRule, value: string): Spend[] {
    // Of a rule in shards the whole is judged.
    const rule = counted.whole ?? counted
    const key = `${rule.family.key}|${value}`
    const known = this.#spends.get(key)
    if (known !== undefined) return known.list
    const list: Spend[] = []
    this.#spends.set(key, { rule, list })
    return list
  }

  /** For each limit of each row, by how much more than it may it let through at most: 0 where it kept its promise. */
  worst(): Worst[] {
    return [...this.#spends.values()].flatMap(({ rule, list }) => {
      const spends = list.toSorted((a, b) => a.at - b.at)
      return rule.limits.map(({ numbers, limit }) => {
        const { over, at } = excess(numbers, spends)
        return { rule: rule.name, limit: limit.amount, over, at }
      })
    })
  }
}

function excess(numbers: LimitNumbers, spends: readonly Spend[]): { over: number; at: number } {
  if (numbers.kind === BUCKET) return overBucket(numbers, spends)
  if (numbers.kind === FIXED_WINDOW || numbers.kind === SLIDING_COUNTER)
    return overWindows(numbers, spends)
  return overLog(numbers, spends)
}

/** An ideal bucket that sees only what was spent: its debt is never more than the burst. */
function overBucket({ amount, window, burst }: LimitNumbers, spends: readonly Spend[]) {
  let [debt, last, over, when] = [0, 0, 0, 0]
  for (const { at, cost } of spends) {
    debt = Math.max(0, debt - ((at - last) * amount) / window) + cost
    last = at
    // What doubles round off is no token.
    if (debt - burst > Math.max(over, 1e-6)) [over, when] = [debt - burst, at]
  }
  return { over, at: when }
}

/** Aligned windows. */
function overWindows({ amount, window }: LimitNumbers, spends: readonly Spend[]) {
  let [start, count, over, when] = [0, 0, 0, 0]
  for (const { at, cost } of spends) {
    const own = Math.floor(at / window) * window
    if (own !== start) [start, count] = [own, 0]
    count += cost
    if (count - amount > over) [over, when] = [count - amount, at]
  }
  return { over, at: when }
}

/** Every window, wherever it starts. */
function overLog({ amount, window }: LimitNumbers, spends: readonly Spend[]) {
  let [first, sum, over, when] = [0, 0, 0, 0]
  for (const { at, cost } of spends) {
    while (spends[first]!.at <= at - window) sum -= spends[first++]!.cost
    sum += cost
    if (sum - amount > over) [over, when] = [sum - amount, at]
  }
  return { over, at: when }
}

/** Whose run it is: runs come one after the other. */
let watcher: Ledger | null = null

function watch(ledger: Ledger): void {
  watcher = ledger
}

wrap(LeasedRow.prototype, 'take', (row, take) => (cost, steady, wall) => {
  const holding = take(cost, steady, wall)
  if (holding !== null) watcher?.spent(row.rule, row.value, cost)
  return holding
})
wrap(LeasedRow.prototype, 'untake', (row, untake) => (holding, cost) => {
  untake(holding, cost)
  watcher?.unspent(row.rule, row.value, cost)
})
