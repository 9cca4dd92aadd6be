/**
 * Counters in this process's memory: exact, without timers, bounded in keys. All limits of a
 * transaction are decided first and taken afterwards, so that it takes from all of them or from none.
 */
import { randomFillSync } from 'node:crypto'
import {
  type Beside,
  charge,
  decide,
  grant,
  RESET,
  refund,
  reset,
  take,
} from '../../algorithms/algorithm.js'
import { decideTat, noteTake } from '../../algorithms/bucket.js'
import { type Holds, renewHold } from '../../algorithms/concurrency.js'
import {
  BUCKET,
  CONCURRENCY,
  type LimitNumbers,
  SLIDING_LOG,
} from '../../algorithms/limit-numbers.js'
import {
  GIVEN_BACK,
  MARK,
  MARK_REST,
  STATUS,
  VERDICT_WIDTH,
  YES,
} from '../../algorithms/verdict.js'
import { SluiceError } from '../../errors.js'
import type { CompiledLimit, CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import {
  ALLOWED,
  costOf,
  DECIDED_AT,
  FIRST_VERDICT,
  type HoldPlace,
  type LimitChange,
  type Return,
  type Store,
  type Transaction,
  type Verdicts,
} from '../store.js'
import { Besides } from './besides.js'
import { Columns } from './columns.js'
import { Fingerprint } from './half-sip-hash.js'
import { IdempotencyBook } from './idempotency-book.js'
import { exportTables, importTables } from './snapshot.js'
import { type Shared, Table } from './table.js'

export interface MemoryStoreOptions {
  /** How many keys are kept, one per rule and subject value; 1,000,000 unless given. At most a quarter more where there are many rules. */
  readonly maxKeys?: number
  /** How many idempotency keys are remembered; 100,000 unless given. */
  readonly maxIdempotencyKeys?: number
}

interface RowPlace {
  readonly rule: CompiledRule
  readonly value: string
}

export class MemoryStore implements Store {
  readonly isSync = true
  #shared: Shared
  readonly #tables = new Map<string, Table>()
  readonly #idempotency: IdempotencyBook
  #seed: Int32Array
  #fingerprint: Fingerprint
  #compacted = 0

  constructor(options: MemoryStoreOptions = {}) {
    const maxKeys = wholeNumber('maxKeys', options.maxKeys ?? 1_000_000)
    const most = wholeNumber('maxIdempotencyKeys', options.maxIdempotencyKeys ?? 100_000)
    this.#shared = newShared(maxKeys)
    this.#idempotency = new IdempotencyBook(most)
    this.#seed = randomFillSync(new Int32Array(2))
    this.#fingerprint = new Fingerprint(this.#seed)
  }

  consume(transaction: Transaction): Verdicts {
    const { idempotency, now } = transaction
    if (idempotency === null || transaction.dryRun) return this.#consume(transaction)
    const answered = this.#idempotency.find(idempotency, now)
    if (answered !== undefined) {
      ;(transaction as { replayOf: Transaction | null }).replayOf = answered.transaction
      return answered.verdicts
    }
    const verdicts = this.#consume(transaction)
    if (verdicts[ALLOWED] === 1) this.#idempotency.add(idempotency, transaction, verdicts, now)
    return verdicts
  }

  #consume(transaction: Transaction): Verdicts {
    const { rules, values, holdId, now } = transaction
    const out = newVerdicts(rules)
    let allowed = true
    let o = FIRST_VERDICT
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const limits = rule.limits
      const cost = costOf(transaction, i)
      const table = this.#locate(rule.family, values[i]!, now)
      if (table.isGuess) clampGuess(table, limits, now)
      const columns = table.columns
      const state = table.numbers
      for (let j = 0; j < limits.length; j++) {
        const limit = limits[j]!
        const numbers = limit.numbers
        const column = columns.all[limit.column]!
        const at = table.row + column.at
        if (columns.isNarrow && numbers.kind === BUCKET) {
          decideTat(state[at]!, column.width === 1 ? 0 : state[at + 1]!, numbers, cost, now, out, o)
        } else {
          if (limit.calendar !== null) limit.prepare(now)
          const beside = numbers.kind >= SLIDING_LOG ? table.beside(limit.column) : undefined
          decide(state, at, numbers, cost, now, out, o, beside, holdId)
        }
        if (out[o + STATUS] !== YES && !rule.shadow) allowed = false
        o += VERDICT_WIDTH
      }
    }
    out[ALLOWED] = allowed ? 1 : 0
    out[DECIDED_AT] = now
    if (allowed && !transaction.dryRun) this.#take(transaction, out)
    return out
  }

  /** Every table still points at the row that was decided on. */
  #take(transaction: Transaction, out: number[]): void {
    const { rules, holdId, now } = transaction
    let o = FIRST_VERDICT
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const table = rule.family.rows as Table
      const limits = rule.limits
      const cost = costOf(transaction, i)
      const columns = table.columns
      if (!rule.shadow || anyPasses(out, o, limits.length)) {
        table.settle(now)
        if (columns.isNarrow && now > table.numbers[table.row]!) table.numbers[table.row] = now
      }
      const state = table.numbers
      for (let j = 0; j < limits.length; j++, o += VERDICT_WIDTH) {
        if (out[o + STATUS] !== YES) continue
        const limit = limits[j]!
        const numbers = limit.numbers
        const column = columns.all[limit.column]!
        const at = table.row + column.at
        out[o + GIVEN_BACK] = table.hasRefunds ? table.refunded(table.a, table.b, limit.column) : 0
        if (columns.isNarrow && numbers.kind === BUCKET) {
          state[at] = out[o + MARK]!
          if (column.width === 2) state[at + 1] = out[o + MARK_REST]!
          noteTake(cost, out, o)
        } else {
          const beside = numbers.kind >= SLIDING_LOG ? table.beside(limit.column) : undefined
          take(state, at, numbers, cost, now, out, o, beside, holdId)
        }
      }
    }
  }

  #locate(family: Family, value: string, now: number): Table {
    const table = family.owner === this ? (family.rows as Table) : this.#tableOf(family, now)
    const fingerprint = this.#fingerprint
    fingerprint.of(value)
    table.locate(fingerprint.a, fingerprint.b, now)
    return table
  }

  /** The family's table; under another layout than before a new one, which takes over from the old. */
  #tableOf(family: Family, now: number): Table {
    const before = this.#tables.get(family.key)
    const columns = Columns.of(family, canBeNarrow(family, before))
    let table = before
    if (table === undefined || table.columns.layout !== columns.layout) {
      table = new Table(columns, this.#shared)
      if (before === undefined) this.#shared.tables++
      else table.succeed(before, now)
      this.#tables.set(family.key, table)
    }
    for (const [i, { mostBurst }] of family.columns.entries())
      table.mostTokens[i] = Math.max(table.mostTokens[i]!, mostBurst)
    table.use(columns, now)
    family.owner = this
    family.rows = table
    return table
  }

  refund(returns: readonly Return[], now: number): number[] {
    return returns.map(({ rule, limit, value, amount, takenUnder, verdicts, at }) => {
      const { numbers, column } = limit
      const table = this.#locate(rule.family, value, now)
      if (table.isBlank && !table.isKnown) return 0
      if (table.refunds.isVoid(verdicts[DECIDED_AT]!)) return 0
      limit.prepare(now)
      table.settle(now)
      const since = table.refunded(table.a, table.b, column) - verdicts[at + GIVEN_BACK]!
      const [mark, rest] = [verdicts[at + MARK]!, verdicts[at + MARK_REST]!]
      const given = table.change(column, (full, beside) =>
        refund(full, 0, numbers, amount, now, mark, rest, takenUnder, since, beside),
      )
      if (given > 0 && numbers.kind === BUCKET) table.noteRefund(column, given, now)
      return given
    })
  }

  grant(changes: readonly LimitChange[], now: number): number[] {
    return changes.map((change) =>
      this.#change(change, now, (full, beside, table) => {
        const { limit, amount } = change
        const given = grant(full, 0, limit.numbers, amount, now, beside)
        if (given > 0) table.noteRefund(limit.column, amount, now)
        return given
      }),
    )
  }

  charge(changes: readonly LimitChange[], now: number): number[] {
    return changes.map((change) => {
      const { numbers, column } = change.limit
      const taken = this.#change(change, now, (full, beside) =>
        charge(full, 0, numbers, change.amount, now, beside),
      )
      if (numbers.kind === BUCKET) (change.rule.family.rows as Table).noteDebt(column, numbers, now)
      return taken
    })
  }

  #change(
    { rule, limit, value }: LimitChange,
    now: number,
    change: (full: Float64Array, beside: Beside, table: Table) => number,
  ): number {
    const table = this.#locate(rule.family, value, now)
    limit.prepare(now)
    table.settle(now)
    return table.change(limit.column, (full, beside) => change(full, beside, table))
  }

  reset(rows: readonly { family: Family; value: string }[], now: number): number {
    let inUse = 0
    for (const { family, value } of rows) {
      const table = this.#locate(family, value, now)
      if (table.isBlank && !table.isKnown) continue
      table.settle(now)
      let used = 0
      for (const [column, { sample }] of family.columns.entries()) {
        sample.prepare(now)
        used += table.change(column, (full, beside) => reset(full, 0, sample.numbers, now, beside))
        table.noteRefund(column, RESET, now)
      }
      if (used > 0) inUse++
    }
    return inUse
  }

  renew({ id, rows }: HoldPlace, now: number): number {
    const expiries = this.#holdsOf(rows, now).map(({ limit, holds }) =>
      renewHold(limit, now, holds, id),
    )
    return expiries.length === 0 ? 0 : Math.min(...expiries)
  }

  release({ id, rows }: HoldPlace, now: number): boolean {
    let released = false
    for (const { holds } of this.#holdsOf(rows, now)) released = holds.remove(id) > 0 || released
    return released
  }

  /** The rules may have changed since the hold was taken: its limits are found by what they are. */
  #holdsOf(rows: readonly RowPlace[], now: number): { limit: LimitNumbers; holds: Holds }[] {
    return rows.flatMap(({ rule, value }) => {
      const table = this.#tables.get(rule.family.key)
      if (table === undefined) return []
      this.#fingerprint.of(value)
      table.locate(this.#fingerprint.a, this.#fingerprint.b, now)
      return rule.limits.flatMap(({ id, numbers }) => {
        const column = table.columns.indexOf(id)
        if (numbers.kind !== CONCURRENCY || column < 0) return []
        return [{ limit: numbers, holds: table.beside(column) as Holds }]
      })
    })
  }

  use(rules: RuleSet): void {
    const kept = new Set([...rules.families.values()].map((family) => family.key))
    for (const [key, table] of this.#tables) {
      if (!key.startsWith(`${rules.namespace}|`) || kept.has(key)) continue
      table.drop()
      this.#tables.delete(key)
      this.#shared.tables--
    }
  }

  close(): void {}

  /** What it holds: keys (those not used for a while too, until their place is needed), bytes, and how many keys had to go. */
  get size(): { readonly keys: number; readonly bytes: number; readonly evicted: number } {
    let bytes = this.#shared.besides.bytes + 500 * this.#idempotency.size
    for (const table of this.#tables.values()) bytes += table.bytes
    return { keys: this.#shared.rows, bytes, evicted: this.#shared.evicted }
  }

  /** Gives back the memory of keys that say nothing any more, a small part at each call. `now` in milliseconds. */
  compact(now: number = Date.now()): void {
    for (const table of this.#tables.values()) table.compact(this.#compacted, now * 1000)
    this.#compacted++
  }

  /** The whole state in pieces, to be written one after the other; includes the secret seed of the keys. */
  export(): IterableIterator<Uint8Array> {
    return exportTables(this.#seed, this.#tables, this.#shared.besides)
  }

  /** Takes over an exported state; only into a store that was not used yet. */
  import(pieces: Iterable<Uint8Array>): void {
    if (this.#tables.size > 0)
      throw new SluiceError(
        'invalid_snapshot',
        'a state is imported before the store is used, not after',
      )
    const shared = newShared(this.#shared.maxKeys)
    const { seed, tables } = importTables(pieces, shared)
    this.#shared = shared
    this.#seed = seed
    this.#fingerprint = new Fingerprint(seed)
    for (const [key, table] of tables) this.#tables.set(key, table)
    this.#shared.tables = tables.size
  }
}

/** Room for the answer: an array of doubles from the start, so that V8 keeps it one. The literals are faster. */
function newVerdicts(rules: readonly CompiledRule[]): number[] {
  let limits = 0
  for (let i = 0; i < rules.length; i++) limits += rules[i]!.limits.length
  // biome-ignore format: a row for each limit
  switch (limits) {
    case 1: return [.5, .5,  .5, .5, .5, .5, .5, .5, .5]
    case 2: return [.5, .5,  .5, .5, .5, .5, .5, .5, .5,  .5, .5, .5, .5, .5, .5, .5]
    case 3: return [.5, .5,  .5, .5, .5, .5, .5, .5, .5,  .5, .5, .5, .5, .5, .5, .5,  .5, .5, .5, .5, .5, .5, .5]
    default: return Array.from({ length: FIRST_VERDICT + limits * VERDICT_WIDTH }, () => 0.5)
  }
}

/** A sketch may say more than a limit can hold. */
function clampGuess(table: Table, limits: readonly CompiledLimit[], now: number): void {
  for (const { column, numbers } of limits) {
    if (numbers.kind !== BUCKET) continue
    const at = table.row + table.columns.all[column]!.at
    table.numbers[at] = Math.min(table.numbers[at]!, now + numbers.burstWhole)
  }
}

/** A shadow rule that takes nothing leaves no row. */
function anyPasses(out: readonly number[], o: number, limits: number): boolean {
  for (let j = 0; j < limits; j++) if (out[o + j * VERDICT_WIDTH + STATUS] === YES) return true
  return false
}

/** Every row was, and will be, written under one amount a column: no more is known of a narrow table. */
function canBeNarrow(family: Family, before: Table | undefined): boolean {
  if (!family.isUniform) return false
  if (before === undefined) return true
  return family.columns.every(({ id, sample }) => {
    const old = before.columns.all[before.columns.indexOf(id)]
    return before.columns.isNarrow && (old === undefined || old.amount === sample.numbers.amount)
  })
}

function newShared(maxKeys: number): Shared {
  return { besides: new Besides(), maxKeys, rows: 0, tables: 0, evicted: 0 }
}

function wholeNumber(field: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= 2 ** 31) return value
  throw new SluiceError(
    'invalid_options',
    `${field} is ${value}; expected a whole number from 1 to 2^31`,
    { field },
  )
}

export function memoryStore(options?: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options)
}
