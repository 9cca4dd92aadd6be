/**
 * Counters in this process's memory: exact, without timers, bounded in keys. All limits of a
 * transaction are decided first and taken afterwards, so that it takes from all of them or from none.
 */
import { randomFillSync } from 'node:crypto'
import { charge, decide, grant, refund, reset, take } from '../../algorithms/algorithm.js'
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
import type { CompiledRule, Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import {
  ALLOWED,
  costOf,
  DECIDED_AT,
  FIRST_VERDICT,
  type HoldPlace,
  type LimitChange,
  type Return,
  type SyncStore,
  type Transaction,
  type Verdicts,
  verdictsOf,
  wasTaken,
} from '../store.js'
import { Besides } from './besides.js'
import { Columns, GRACE_US } from './columns.js'
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

export class MemoryStore implements SyncStore {
  readonly isSync = true
  readonly #shared: Shared
  readonly #tables = new Map<string, Table>()
  readonly #idempotency: IdempotencyBook
  #seed: Int32Array
  #fingerprint: Fingerprint
  /** Verdicts being made; an array of doubles from the start, so that V8 keeps it one. */
  readonly #out: number[] = new Array<number>(FIRST_VERDICT + 8 * VERDICT_WIDTH).fill(0.5)
  #compacted = 0

  constructor(options: MemoryStoreOptions = {}) {
    const maxKeys = wholeNumber('maxKeys', options.maxKeys ?? 1_000_000)
    const most = wholeNumber('maxIdempotencyKeys', options.maxIdempotencyKeys ?? 100_000)
    this.#shared = { besides: new Besides(), maxKeys, rows: 0, tables: 0, evicted: 0 }
    this.#idempotency = new IdempotencyBook(most)
    this.#seed = randomFillSync(new Int32Array(2))
    this.#fingerprint = new Fingerprint(this.#seed)
  }

  consume(transaction: Transaction): Verdicts {
    const { idempotency, now } = transaction
    if (idempotency === null || transaction.dryRun) return this.#consume(transaction)
    const answered = this.#idempotency.find(idempotency, now)
    if (answered !== undefined) {
      transaction.replayOf = answered.transaction
      return answered.verdicts
    }
    const verdicts = this.#consume(transaction)
    if (verdicts[ALLOWED] === 1) this.#idempotency.add(idempotency, transaction, verdicts, now)
    return verdicts
  }

  #consume(transaction: Transaction): Verdicts {
    const { rules, values, holdId, now } = transaction
    const out = this.#out
    let allowed = true
    let o = FIRST_VERDICT
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const table = this.#locate(rule, values[i]!, now)
      const cost = costOf(transaction, i)
      const limits = rule.limits
      for (let j = 0; j < limits.length; j++) {
        const limit = limits[j]!
        const numbers = limit.numbers
        if (limit.calendar !== null) limit.prepare(now)
        const beside = numbers.kind >= SLIDING_LOG ? table.beside(limit.column) : undefined
        if (table.isGuess && numbers.kind === BUCKET) {
          // A sketch may say more than the limit can hold.
          const tat = table.row + limit.at
          table.numbers[tat] = Math.min(table.numbers[tat]!, now + numbers.burstWhole)
        }
        decide(table.numbers, table.row + limit.at, numbers, cost, now, out, o, beside, holdId)
        if (out[o + STATUS] !== YES && !rule.shadow) allowed = false
        o += VERDICT_WIDTH
      }
    }
    out[ALLOWED] = allowed ? 1 : 0
    out[DECIDED_AT] = now
    if (allowed && !transaction.dryRun) this.#take(transaction)
    return out.slice(0, o)
  }

  /** Every table still points at the row that was decided on. */
  #take(transaction: Transaction): void {
    const { rules, holdId, now } = transaction
    const out = this.#out
    let o = FIRST_VERDICT
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const table = rule.family.rows as Table
      const cost = costOf(transaction, i)
      const limits = rule.limits
      if (!rule.shadow || this.#anyPasses(limits.length, o)) table.settle(now)
      for (let j = 0; j < limits.length; j++) {
        const limit = limits[j]!
        if (out[o + STATUS] === YES) {
          const kind = limit.numbers.kind
          const beside = kind >= SLIDING_LOG ? table.beside(limit.column) : undefined
          out[o + GIVEN_BACK] = kind === BUCKET ? table.refunded(table.a, table.b, limit.column) : 0
          take(
            table.numbers,
            table.row + limit.at,
            limit.numbers,
            cost,
            now,
            out,
            o,
            beside,
            holdId,
          )
        }
        o += VERDICT_WIDTH
      }
    }
  }

  /** A shadow rule that takes nothing leaves no row. */
  #anyPasses(limits: number, o: number): boolean {
    for (let j = 0; j < limits; j++)
      if (this.#out[o + j * VERDICT_WIDTH + STATUS] === YES) return true
    return false
  }

  #locate(rule: CompiledRule, value: string, now: number): Table {
    const family = rule.family
    const table = family.owner === this ? (family.rows as Table) : this.#tableOf(family, now)
    const fingerprint = this.#fingerprint
    fingerprint.of(value)
    table.locate(fingerprint.a, fingerprint.b, now)
    return table
  }

  #tableOf(family: Family, now: number): Table {
    let table = this.#tables.get(family.key)
    if (table === undefined) {
      table = new Table(Columns.of(family), this.#shared)
      this.#shared.tables++
    } else if (table.columns.layout !== family.layout) {
      const previous = table
      table = new Table(Columns.of(family), this.#shared)
      table.previous = previous
      table.previousEnds =
        Math.max(previous.previousEnds, previous.owedUntil, now + previous.longestLife) + GRACE_US
    }
    table.longestLife = Math.max(table.longestLife, family.longestLife)
    this.#tables.set(family.key, table)
    family.owner = this
    family.rows = table
    return table
  }

  refund(returns: readonly Return[], now: number): number[] {
    return returns.map((returned) => {
      const { transaction, rule, limit, amount, verdicts } = returned
      const o = verdictsOf(transaction, rule) + limit * VERDICT_WIDTH
      const place = wasTaken(verdicts, o) ? this.#placeOf(returned, now) : undefined
      if (place === undefined) return 0
      const { table, at, column, numbers } = place
      if (table.isBlank || table.refunds.isVoid(verdicts[DECIDED_AT]!)) return 0
      const since = table.refunded(table.a, table.b, column) - verdicts[o + GIVEN_BACK]!
      const [mark, rest] = [verdicts[o + MARK]!, verdicts[o + MARK_REST]!]
      const beside = table.beside(column)
      const given = refund(
        table.numbers,
        at,
        numbers,
        amount,
        now,
        mark,
        rest,
        numbers.amount,
        since,
        beside,
      )
      if (given > 0 && numbers.kind === BUCKET)
        table.noteRefund(column, given, now + numbers.burstWhole + 1, now)
      return given
    })
  }

  grant(changes: readonly LimitChange[], now: number): number[] {
    return changes.map((change) => {
      const place = this.#placeOf(change, now)
      if (place === undefined) return 0
      const { table, column, numbers } = place
      table.settle(now)
      const given = grant(
        table.numbers,
        table.row + place.offset,
        numbers,
        change.amount,
        now,
        table.beside(column),
      )
      if (numbers.kind === BUCKET)
        table.noteRefund(column, change.amount, now + numbers.burstWhole + 1, now)
      return given
    })
  }

  charge(changes: readonly LimitChange[], now: number): number[] {
    return changes.map((change) => {
      const place = this.#placeOf(change, now)
      if (place === undefined) return 0
      const { table, column, numbers } = place
      table.settle(now)
      const taken = charge(
        table.numbers,
        table.row + place.offset,
        numbers,
        change.amount,
        now,
        table.beside(column),
      )
      table.noteDebt()
      return taken
    })
  }

  /** Where a limit of an earlier transaction is counted now: the rules may have changed since. */
  #placeOf({ transaction, rule: i, limit: j }: LimitChange, now: number) {
    const rule = transaction.rules[i]!
    const limit = rule.limits[j]!
    const table = this.#tables.get(rule.family.key)
    const column = table?.columns.all.findIndex(({ id }) => id === limit.id) ?? -1
    if (table === undefined || column < 0) return undefined
    this.#fingerprint.of(transaction.values[i]!)
    table.locate(this.#fingerprint.a, this.#fingerprint.b, now)
    limit.prepare(now)
    const offset = table.columns.all[column]!.at
    return { table, column, offset, at: table.row + offset, numbers: limit.numbers }
  }

  reset(rows: readonly RowPlace[], now: number): number {
    let inUse = 0
    for (const { rule, value } of rows) {
      const table = this.#locate(rule, value, now)
      if (table.isBlank && !table.isKnown) continue
      table.settle(now)
      let used = 0
      for (const [index, { at, sample }] of rule.family.columns.entries()) {
        sample.prepare(now)
        const given = reset(table.numbers, table.row + at, sample.numbers, now, table.beside(index))
        if (given > 0 && sample.numbers.kind === BUCKET)
          table.noteRefund(index, given, now + table.longestLife, now)
        used += given
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

  #holdsOf(rows: readonly RowPlace[], now: number): { limit: LimitNumbers; holds: Holds }[] {
    return rows.flatMap(({ rule, value }) => {
      const table = this.#tables.get(rule.family.key)
      if (table === undefined) return []
      this.#fingerprint.of(value)
      table.locate(this.#fingerprint.a, this.#fingerprint.b, now)
      return rule.limits.flatMap(({ id, numbers }) => {
        const column = table.columns.all.findIndex((other) => other.id === id)
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
    const { seed, tables } = importTables(pieces, this.#shared)
    this.#seed = seed
    this.#fingerprint = new Fingerprint(seed)
    for (const [key, table] of tables) this.#tables.set(key, table)
    this.#shared.tables = tables.size
  }
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
