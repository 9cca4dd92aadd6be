/** Counters in this process's memory: exact, without timers, bounded in keys. */

import { atLeast, charge, grant, RESET, refund, reset } from '../../algorithms/algorithm.js'
import { GRACE_US } from '../../algorithms/clock-steps.js'
import { type Holds, renewHold } from '../../algorithms/concurrency.js'
import { BUCKET, CONCURRENCY, type LimitNumbers } from '../../algorithms/limit-numbers.js'
import { SluiceError } from '../../errors.js'
import type { Family } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import type { Answer } from '../answer.js'
import type {
  Changed,
  Charge,
  Grant,
  HoldOperation,
  LimitOperation,
  Operation,
  Raise,
  Refund,
  Renew,
} from '../operation.js'
import type { Store } from '../store.js'
import type { Moment, Transaction } from '../transaction.js'
import { consume } from './consume.js'
import { IdempotencyBook } from './idempotency-book.js'
import { NO_HOLDS } from './side/hold-book.js'
import type { Table } from './table/table.js'
import { Tables } from './table/tables.js'

export interface MemoryStoreOptions {
  /**
   * How many keys are kept, one per rule and subject value; 1,000,000 unless given. A rule may always have
   * its fair part, a quarter of it divided by the rules in use, so there may be more: 43 % more where 8
   * rules are flooded one after the other.
   */
  readonly maxKeys?: number
  /** How many idempotency keys are remembered; 100,000 unless given. */
  readonly maxIdempotencyKeys?: number
  /** Called when the clock that decides has stepped back by more than a minute, with how far in milliseconds. */
  readonly onClockStepBack?: (byMs: number) => void
}

export class MemoryStore implements Store {
  readonly isSync = true
  /** @internal For the state of the store (export/store-state.ts). */
  readonly tables: Tables
  readonly #idempotency: IdempotencyBook
  readonly #onClockStepBack: (byMs: number) => void
  /** The latest time that was decided at since the clock last stepped back. */
  #latest = 0
  /** How often the clock stepped back by more than a minute. */
  clockStepsBack = 0

  constructor(options: MemoryStoreOptions = {}) {
    this.tables = new Tables(wholeNumber('maxKeys', options.maxKeys ?? 1_000_000))
    this.#idempotency = new IdempotencyBook(
      wholeNumber('maxIdempotencyKeys', options.maxIdempotencyKeys ?? 100_000),
    )
    this.#onClockStepBack = options.onClockStepBack ?? (() => {})
  }

  decide(transaction: Transaction): Answer {
    const { idempotency, now } = transaction
    if (now > this.#latest) this.#latest = now
    else if (now < this.#latest - GRACE_US) this.#stepBack(now)
    if (idempotency === null || transaction.dryRun) return consume(this.tables, transaction)
    const known = this.#idempotency.find(idempotency, now)
    if (known !== undefined) return known.again()
    const answer = consume(this.tables, transaction)
    if (answer.allowed) this.#idempotency.add(idempotency, answer, now)
    return answer
  }

  #stepBack(now: number): void {
    const byMs = (this.#latest - now) / 1000
    this.#latest = now
    this.clockStepsBack++
    this.#onClockStepBack(byMs)
  }

  change(operations: readonly Operation[], { now }: Moment): Changed[] {
    const changed = operations.map((operation) => this.#change(operation, now))
    // After all of them, so that no limit of a row sees another's write.
    for (const [i, operation] of operations.entries()) {
      const { kind } = operation
      // A charge gives each a row, if only an empty one: one that is made or moved and not written would be in no export.
      const isWritten =
        kind === 'charge' || kind === 'raise' || (isOfLimit(operation) && changed[i]! > 0)
      if (isWritten) this.tables.locate(operation.rule.family, operation.value, now).touch(now)
    }
    return changed
  }

  #change(operation: Operation, now: number): number {
    switch (operation.kind) {
      case 'refund':
        return this.#refund(operation, now)
      case 'grant':
        return this.#grant(operation, now)
      case 'charge':
        return this.#charge(operation, now)
      case 'raise':
        return this.#raise(operation, now)
      case 'reset':
        return this.#reset(operation.family, operation.value, now)
      case 'renew':
        return this.#renew(operation, now)
      case 'release':
        return this.#release(operation, now)
    }
  }

  #refund({ rule, limit, value, amount, take }: Refund, now: number): number {
    const { numbers, column } = limit
    const { mark, markRest, givenBack, takenAt, takenUnder } = take
    const table = this.#locateUsed(rule.family, value, now)
    if (table === null || table.refunds.isVoid(takenAt)) return 0
    limit.prepare(now)
    const since = table.refunded(table.a, table.b, column) - givenBack
    const given = table.change(column, now, (full, beside) =>
      refund(full, 0, numbers, amount, now, mark, markRest, takenUnder, since, beside),
    )
    if (given > 0 && numbers.kind === BUCKET) table.noteRefund(column, given, now)
    return given
  }

  #grant({ rule, limit, value, amount }: Grant, now: number): number {
    const table = this.#locateUsed(rule.family, value, now)
    if (table === null) return 0
    const { numbers, column } = limit
    limit.prepare(now)
    const given = table.change(column, now, (full, beside) =>
      grant(full, 0, numbers, amount, now, beside),
    )
    if (given > 0) table.noteRefund(column, amount, now)
    return given
  }

  #raise({ rule, limit, value, amount }: Raise, now: number): number {
    const table = this.tables.locate(rule.family, value, now)
    limit.prepare(now)
    table.settle(now)
    return table.change(limit.column, now, (full, beside) =>
      atLeast(full, 0, limit.numbers, amount, now, beside),
    )
  }

  #charge({ rule, limit, value, amount }: Charge, now: number): number {
    const table = this.tables.locate(rule.family, value, now)
    const { numbers, column } = limit
    limit.prepare(now)
    // What is taken may need a log.
    table.settle(now)
    const taken = table.change(column, now, (full, beside) =>
      charge(full, 0, numbers, amount, now, beside),
    )
    if (numbers.kind === BUCKET) table.noteDebt(column, numbers, now)
    return taken
  }

  /**
   * The value's row; null where nothing is used, so that nothing can be given back. Whether there is an empty
   * row makes no difference then.
   */
  #locateUsed(family: Family, value: string, now: number): Table | null {
    const table = this.tables.locate(family, value, now)
    return table.isKnown ? table : null
  }

  #reset(family: Family, value: string, now: number): number {
    const table = this.#locateUsed(family, value, now)
    if (table === null) return 0
    let used = 0
    for (const [column, { sample }] of family.columns.entries()) {
      sample.prepare(now)
      used += table.change(column, now, (full, beside) =>
        reset(full, 0, sample.numbers, now, beside),
      )
    }
    // Where nothing was given back, the row may as well be gone: then no reset could be noted either.
    if (used === 0) return 0
    for (const column of family.columns.keys()) table.noteRefund(column, RESET, now)
    table.touch(now)
    return 1
  }

  #renew(operation: Renew, now: number): number {
    this.tables.noteHolds()
    const expiries = this.#holdsOf(operation, now).map(({ limit, holds }) =>
      renewHold(limit, now, holds, operation.holdId),
    )
    return expiries.length === 0 ? 0 : Math.min(...expiries)
  }

  #release(operation: HoldOperation, now: number): number {
    this.tables.noteHolds()
    const { holdId } = operation
    let released = 0
    for (const { holds } of this.#holdsOf(operation, now)) {
      if (holds.expiryOf(holdId) > now) released++
      holds.remove(holdId)
    }
    return released
  }

  /** The rules may have changed since the hold was taken: its limits are found by what they are. */
  #holdsOf({ rule, value }: HoldOperation, now: number): { limit: LimitNumbers; holds: Holds }[] {
    const table = this.tables.find(rule.family, value, now)
    return rule.limits.flatMap(({ id, numbers }) => {
      if (numbers.kind !== CONCURRENCY) return []
      const column = table?.layout.indexOf(id) ?? -1
      const holds = column < 0 ? NO_HOLDS : (table!.beside(column) as Holds)
      return [{ limit: numbers, holds }]
    })
  }

  use(rules: RuleSet): Slices<void> {
    return this.tables.keep(rules)
  }

  close(): void {}

  /** What it holds: keys (those not used for a while too, until their place is needed), bytes, and how many keys had to go. */
  get size(): { readonly keys: number; readonly bytes: number; readonly evicted: number } {
    const { keys, bytes, evicted } = this.tables.size
    return { keys, bytes: bytes + 500 * this.#idempotency.size, evicted }
  }

  /** Gives back the memory of keys that say nothing any more, a small part at each call. `now` in milliseconds. */
  compact(now: number = Date.now()): void {
    this.tables.compact(now * 1000)
  }
}

function isOfLimit(operation: Operation): operation is LimitOperation {
  return 'limit' in operation
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
