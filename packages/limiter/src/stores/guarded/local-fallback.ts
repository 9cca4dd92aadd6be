/**
 * Decides while the store is away, each rule by its failure mode. A `local` rule is counted in this
 * process's memory with this instance's fair part of the limit, starting at the last known level's part;
 * when the store is back, what was used here is told to it before the row is next asked for.
 */

import { BUCKET } from '../../algorithms/limit-numbers.js'
import {
  GO_AT,
  NOT_NOW,
  RESET_AT,
  SHUT,
  STATUS,
  UNCOUNTED,
  VERDICT_WIDTH,
} from '../../algorithms/verdict.js'
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import { MemoryStore } from '../memory/memory-store.js'
import {
  ALLOWED,
  costOf,
  DECIDED_AT,
  DEGRADED,
  DEGRADED_REASONS,
  type DegradedReason,
  FIRST_VERDICT,
  type HoldPlace,
  type LimitChange,
  type Return,
  remainingIn,
  type Store,
  type Transaction,
  type Verdicts,
} from '../store.js'
import type { Instances } from './instances.js'
import { ScaledRules } from './scaled-rules.js'
import { rowKey, type Sighting, type Sightings } from './sightings.js'

/** Rows that are counted here at a time. */
const MOST_ROWS = 100_000
/** What a refused request is told to wait. */
const RETRY_US = 1_000_000

/** A row that is counted here. */
interface LocalRow {
  /** This instance's part of the limit, from 0 to 1. */
  readonly part: number
  /** The rule with its part; null if its part is nothing. */
  readonly rule: CompiledRule | null
  /** The store is being told what was used here, unless more is. */
  isTold: boolean
}

export interface FallbackParts {
  readonly sightings: Sightings
  readonly instances: Instances
  /** The store's time at this instance's time, as far as is known. */
  readonly storeTime: (now: number) => number
}

export class LocalFallback implements Store {
  readonly isSync = true
  readonly #memory = new MemoryStore({ maxKeys: MOST_ROWS })
  readonly #scaled = new ScaledRules()
  readonly #rows = new Map<string, LocalRow>()
  readonly #sightings: Sightings
  readonly #instances: Instances
  readonly #storeTime: (now: number) => number

  constructor({ sightings, instances, storeTime }: FallbackParts) {
    this.#sightings = sightings
    this.#instances = instances
    this.#storeTime = storeTime
  }

  decide(transaction: Transaction, reason: DegradedReason): Verdicts {
    const { rules } = transaction
    const now = this.#storeTime(transaction.now)
    const limits = rules.reduce((sum, rule) => sum + rule.limits.length, 0)
    const out = new Array<number>(FIRST_VERDICT + limits * VERDICT_WIDTH).fill(0)
    out[DECIDED_AT] = now
    out[DEGRADED] = 1 + DEGRADED_REASONS.indexOf(reason)
    const isShut = rules.some((rule) => isClosed(rule))
    out[ALLOWED] = isShut ? 0 : 1
    let at = FIRST_VERDICT
    for (const rule of rules) {
      for (let j = 0; j < rule.limits.length; j++, at += VERDICT_WIDTH) {
        out[at + STATUS] = isShut && isClosed(rule) ? SHUT : UNCOUNTED
        out[at + RESET_AT] = now
        out[at + GO_AT] = isShut && isClosed(rule) ? now + RETRY_US : now
      }
    }
    if (!isShut) this.#decideHere(transaction, now, out)
    return out
  }

  #decideHere(transaction: Transaction, now: number, out: number[]): void {
    const places = [...transaction.rules.keys()].filter(
      (i) => transaction.rules[i]!.rule.failureMode === 'local',
    )
    if (places.length === 0) return
    const { dryRun } = transaction
    const rows = places.map((i) =>
      dryRun
        ? this.#rowToAsk(transaction.rules[i]!, transaction.values[i]!)
        : this.#rowOf(transaction.rules[i]!, transaction.values[i]!, now),
    )
    const seen = dryRun ? places.flatMap((i, n) => this.#seenOf(transaction, i, rows[n]!, now)) : []
    const counted = places.filter((_, n) => rows[n]!.rule !== null)
    const hasNothing = places.some(
      (i, n) => rows[n]!.rule === null && !transaction.rules[i]!.shadow,
    )
    const asked: Transaction = {
      rules: rows.flatMap(({ rule }) => rule ?? []),
      values: counted.map((i) => transaction.values[i]!),
      costs: counted.map((i) => costOf(transaction, i)),
      cost: transaction.cost,
      dryRun: dryRun || hasNothing,
      holdId: transaction.holdId,
      idempotency: transaction.idempotency,
      replayOf: null,
      now,
    }
    // A dry run begins no row here: what was used according to the last sighting is charged for its answer only.
    if (seen.length > 0) this.#memory.charge(seen, now)
    const verdicts = this.#memory.consume(asked)
    if (seen.length > 0) this.#memory.grant(seen, now)
    if (asked.replayOf !== null)
      (transaction as { replayOf: Transaction | null }).replayOf = transaction
    out[ALLOWED] = hasNothing ? 0 : verdicts[ALLOWED]!
    let from = FIRST_VERDICT
    for (const [n, i] of places.entries()) {
      const rule = transaction.rules[i]!
      const at = placeOf(transaction, i)
      for (let p = 0; p < rule.limits.length * VERDICT_WIDTH; p++) {
        if (rows[n]!.rule !== null) out[at + p] = verdicts[from++]!
        else if (p % VERDICT_WIDTH === STATUS) out[at + p] = NOT_NOW
        else if (p % VERDICT_WIDTH === GO_AT) out[at + p] = now + RETRY_US
      }
    }
  }

  /** The row to count in, which starts with what was last seen of it. */
  #rowOf(rule: CompiledRule, value: string, now: number): LocalRow {
    const key = rowKey(rule, value)
    const known = this.#rows.get(key)
    if (known !== undefined) known.isTold = false
    const row = this.#rowToAsk(rule, value)
    if (row === known) return row
    if (this.#rows.size >= MOST_ROWS) this.#rows.delete(this.#rows.keys().next().value!)
    this.#rows.set(key, row)
    if (known === undefined) this.#memory.charge(this.#usedBefore(rule, row, value, now), now)
    return row
  }

  /** The row as it is counted here, or would be. */
  #rowToAsk(rule: CompiledRule, value: string): LocalRow {
    const key = rowKey(rule, value)
    const known = this.#rows.get(key)
    if (known !== undefined && known.rule?.rule === rule.rule) return known
    const part = known?.part ?? this.#partOf(this.#sightings.of(rule, value))
    return { part, rule: this.#scaled.of(rule, part, key), isTold: false }
  }

  /** What a row of a dry run would start with; nothing where it is counted here already. */
  #seenOf({ rules, values }: Transaction, i: number, row: LocalRow, now: number): LimitChange[] {
    const [rule, value] = [rules[i]!, values[i]!]
    return this.#rows.has(rowKey(rule, value)) ? [] : this.#usedBefore(rule, row, value, now)
  }

  /** Mostly what this instance's part of the row's traffic was; a row never seen is shared evenly. */
  #partOf(sighting: Sighting | undefined): number {
    const even = 1 / this.#instances.count
    if (sighting === undefined || sighting.all === 0) return even
    return Math.min(1, (0.8 * sighting.own) / sighting.all + 0.2 * even)
  }

  /** This instance's part of what was used when the row was last seen, less what time has refilled. */
  #usedBefore(rule: CompiledRule, row: LocalRow, value: string, now: number): LimitChange[] {
    const scaled = row.rule
    const sighting = this.#sightings.of(rule, value)
    if (scaled === null || sighting === undefined) return []
    const changes: LimitChange[] = []
    for (const [j, { remaining, resetAt }] of sighting.limits.entries()) {
      const { numbers } = rule.limits[j]!
      if (resetAt <= now) continue
      let used = numbers.burst - remaining
      if (numbers.kind === BUCKET)
        used -= ((now - sighting.seenAt) / numbers.window) * numbers.amount
      const limit = scaled.limits[j]!
      const amount = Math.min(limit.numbers.burst, Math.ceil(used * row.part))
      if (amount > 0) changes.push({ rule: scaled, limit, value, amount })
    }
    return changes
  }

  /** What was used here of these rows, as the whole limits would have it. */
  owed(transaction: Transaction): readonly LimitChange[] {
    if (this.#rows.size === 0) return []
    const now = this.#storeTime(transaction.now)
    return transaction.rules.flatMap((rule, i) => this.#owedOf(rule, transaction.values[i]!, now))
  }

  #owedOf(rule: CompiledRule, value: string, now: number): LimitChange[] {
    const row = this.#rows.get(rowKey(rule, value))
    const scaled = row?.rule
    if (row === undefined || scaled === undefined || scaled === null || row.isTold) return []
    row.isTold = true
    const verdicts = this.#memory.consume({
      rules: [scaled],
      values: [value],
      costs: null,
      cost: 1,
      dryRun: true,
      holdId: '',
      idempotency: null,
      replayOf: null,
      now,
    })
    return rule.limits.flatMap((limit, j) => {
      const other = scaled.limits.find(({ id }) => id === limit.id)
      if (other === undefined) return []
      const remaining = remainingIn(verdicts, FIRST_VERDICT + j * VERDICT_WIDTH)
      const used = Math.round((other.numbers.burst - remaining) / row.part)
      const amount = Math.min(limit.numbers.burst, used)
      return amount > 0 ? [{ rule, limit, value, amount }] : []
    })
  }

  /** The store counts this row again, and was told what was used here. Holds stay until they are released. */
  forget(rule: CompiledRule, value: string, now: number): void {
    if (this.#rows.size === 0) return
    const key = rowKey(rule, value)
    const row = this.#rows.get(key)
    if (row === undefined) return
    this.#rows.delete(key)
    if (row.rule !== null && !rule.hasHolds)
      this.#memory.reset([{ family: row.rule.family, value }], now)
  }

  consume(transaction: Transaction): Verdicts {
    return this.decide(transaction, 'store_unreachable')
  }

  /** Under the numbers that it was taken with here. */
  refund(returns: readonly Return[], now: number): number[] {
    return returns.map((item) => {
      const rule = this.#rows.get(rowKey(item.rule, item.value))?.rule
      const limit = rule?.limits.find(({ id }) => id === item.limit.id)
      if (rule === undefined || rule === null || limit === undefined) return 0
      const takenUnder = limit.numbers.amount
      const here = { ...item, rule, limit, takenUnder }
      return this.#memory.refund([here], this.#storeTime(now))[0]!
    })
  }

  grant(changes: readonly LimitChange[]): number[] {
    return changes.map(() => 0)
  }

  charge(changes: readonly LimitChange[]): number[] {
    return changes.map(() => 0)
  }

  reset(rows: readonly { family: Family; value: string }[], now: number): number {
    return this.#memory.reset(
      rows.flatMap(({ family, value }) => {
        const row = this.#rows.get(`${family.key}|${value}`)?.rule
        return row === undefined || row === null ? [] : [{ family: row.family, value }]
      }),
      this.#storeTime(now),
    )
  }

  renew(hold: HoldPlace, now: number): number {
    return this.#memory.renew(this.#placeOf(hold), this.#storeTime(now))
  }

  release(hold: HoldPlace, now: number): boolean {
    return this.#memory.release(this.#placeOf(hold), this.#storeTime(now))
  }

  #placeOf({ id, rows }: HoldPlace): HoldPlace {
    return {
      id,
      rows: rows.flatMap(({ rule, value }) => {
        const part = this.#scaled.of(rule, 1, '')
        return part === null ? [] : [{ rule: part, value }]
      }),
    }
  }

  *use(rules: RuleSet): Slices<void> {
    yield* this.#memory.use(rules)
    this.#scaled.lookAgain()
  }

  close(): void {}
}

/** Refuses what cannot be counted. */
function isClosed({ rule, shadow }: CompiledRule): boolean {
  return rule.failureMode === 'closed' && !shadow
}

/** Where a rule's verdicts start. */
function placeOf({ rules }: Transaction, rule: number): number {
  let at = FIRST_VERDICT
  for (let i = 0; i < rule; i++) at += rules[i]!.limits.length * VERDICT_WIDTH
  return at
}
