/**
 * Decides while the store is away, each rule by its failure mode. A `local` rule is counted in this
 * process's memory with this instance's fair part of the limit, starting at the last known level's part;
 * when the store is back, what was used here is told to it before the row is next asked for.
 */
import { BUCKET } from '../../algorithms/limit-numbers.js'
import { NOT_NOW, SHUT, UNCOUNTED } from '../../algorithms/status.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { Slices } from '../../slices.js'
import { Answer, type DegradedReason } from '../answer.js'
import { type LastSeenRow, type LastSeenRows, rowKey } from '../last-seen-rows.js'
import { MemoryStore } from '../memory/store.js'
import type { Changed, Charge, Operation, Raise } from '../operation.js'
import type { Awaitable, Store } from '../store.js'
import { costOf, type Moment, newTransaction, type Transaction, withParts } from '../transaction.js'
import type { Instances } from './heartbeat.js'
import { ScaledRules } from './scaled-rules.js'

/** Rows that are counted here at a time. */
const MOST_ROWS = 100_000
/** What a refused request is told to wait. */
const RETRY_US = 1_000_000

/** A row that is counted here, until the store has confirmed what was used here and has answered a request for it. */
class LocalRow {
  /** Decisions that were counted here; how many of them the last report that was sent covers, and the last confirmed one. */
  uses = 0
  usesSent = 0
  usesConfirmed = 0
  /** `uses` when the store last answered a request for it, and the store's time then. */
  usesAnswered = -1
  answeredAt = 0

  constructor(
    readonly value: string,
    /** This instance's part of the limit, from 0 to 1. */
    readonly part: number,
    /** The rule with its part; null if its part is nothing. */
    readonly rule: CompiledRule | null,
  ) {}

  /** The store knows all of it. */
  get isOver(): boolean {
    if (this.usesAnswered !== this.uses) return false
    return this.rule === null || this.usesConfirmed === this.uses
  }
}

/** What was used here of one row. */
interface Report {
  readonly key: string
  readonly row: LocalRow
  readonly uses: number
  readonly raises: readonly Raise[]
}

export interface FallbackParts {
  readonly lastSeen: LastSeenRows
  readonly instances: Instances
  /** The store's time at this instance's time, as far as is known. */
  readonly storeTime: (now: number) => number
}

export class LocalFallback implements Store {
  readonly isSync = true
  readonly #memory = new MemoryStore({ maxKeys: MOST_ROWS })
  readonly #scaled = new ScaledRules()
  readonly #rows = new Map<string, LocalRow>()
  /** Answers to requests with an idempotency key, by the numbers of the memory store's answers to them. */
  readonly #replayable = new WeakMap<readonly number[], Answer>()
  readonly #lastSeen: LastSeenRows
  readonly #instances: Instances
  readonly #storeTime: (now: number) => number

  constructor({ lastSeen, instances, storeTime }: FallbackParts) {
    this.#lastSeen = lastSeen
    this.#instances = instances
    this.#storeTime = storeTime
  }

  decide(transaction: Transaction, reason: DegradedReason = 'store_unreachable'): Answer {
    const { rules } = transaction
    const now = this.#storeTime(transaction.now)
    const isShut = rules.some(failsClosed)
    const answer = Answer.open(transaction, now, !isShut)
    answer.degradedReason = reason
    for (const { rule, index } of answer.each()) {
      const refuses = isShut && failsClosed(rule)
      answer.setNothing(index, refuses ? SHUT : UNCOUNTED, now)
      if (refuses) answer.setGoAt(index, now + RETRY_US)
    }
    return isShut ? answer : this.#decideHere(answer, now)
  }

  /** What the transaction's local rules say, in the answer. */
  #decideHere(answer: Answer, now: number): Answer {
    const { transaction } = answer
    const { rules, values, dryRun } = transaction
    const places = [...rules.keys()].filter((i) => rules[i]!.rule.failureMode === 'local')
    if (places.length === 0) return answer
    const rows = places.map((i) =>
      dryRun ? this.#peekRow(rules[i]!, values[i]!) : this.#useRow(rules[i]!, values[i]!, now),
    )
    const seen = dryRun ? places.flatMap((i, n) => this.#seenOf(transaction, i, rows[n]!, now)) : []
    const counted = places.filter((_, n) => rows[n]!.rule !== null)
    const hasNothing = places.some((i, n) => rows[n]!.rule === null && !rules[i]!.shadow)
    const asked = withParts(transaction, {
      rules: rows.flatMap(({ rule }) => rule ?? []),
      values: counted.map((i) => values[i]!),
      costs: counted.map((i) => costOf(transaction, i)),
      dryRun: dryRun || hasNothing,
      now,
    })
    // A dry run begins no row here: what was used when the row was last seen is charged for its answer only.
    this.#memory.change(seen, asked)
    const here = this.#memory.decide(asked)
    this.#memory.change(
      seen.map((charge) => ({ ...charge, kind: 'grant' })),
      asked,
    )
    // The earlier answer itself, so that both have one receipt, and the rules of that time.
    const earlier = here.isReplay ? this.#replayable.get(here.numbers) : undefined
    if (earlier !== undefined) return earlier.again()
    if (transaction.idempotency !== null) this.#replayable.set(here.numbers, answer)
    answer.allowed = !hasNothing && here.allowed
    let from = 0
    for (const [n, i] of places.entries()) {
      const { limits } = rules[i]!
      const first = answer.firstOf(i)
      if (rows[n]!.rule !== null) {
        answer.copyLimits(first, here, from, limits.length)
        from += limits.length
      } else
        for (let j = 0; j < limits.length; j++) {
          answer.setStatus(first + j, NOT_NOW)
          answer.setGoAt(first + j, now + RETRY_US)
        }
    }
    return answer
  }

  /** The row to count in, which starts with what was last seen of it. */
  #useRow(rule: CompiledRule, value: string, now: number): LocalRow {
    const key = rowKey(rule, value)
    const known = this.#rows.get(key)
    const row = this.#peekRow(rule, value)
    row.uses++
    if (row === known) return row
    if (known === undefined && this.#rows.size >= MOST_ROWS)
      this.#rows.delete(this.#rows.keys().next().value!)
    this.#rows.set(key, row)
    if (known === undefined)
      this.#memory.change(this.#usedBefore(rule, row, value, now), momentAt(now))
    return row
  }

  /** The row as it is counted here, or would be. */
  #peekRow(rule: CompiledRule, value: string): LocalRow {
    const key = rowKey(rule, value)
    const known = this.#rows.get(key)
    if (known !== undefined && known.rule?.rule === rule.rule) return known
    const part = known?.part ?? this.#partOf(this.#lastSeen.of(rule, value))
    return new LocalRow(value, part, this.#scaled.of(rule, part, key))
  }

  /** What a row of a dry run would start with; nothing where it is counted here already. */
  #seenOf({ rules, values }: Transaction, i: number, row: LocalRow, now: number): Charge[] {
    const [rule, value] = [rules[i]!, values[i]!]
    return this.#rows.has(rowKey(rule, value)) ? [] : this.#usedBefore(rule, row, value, now)
  }

  /** Mostly what this instance's part of the row's traffic was; a row never seen is shared evenly. */
  #partOf(seenRow: LastSeenRow | undefined): number {
    const even = 1 / this.#instances.count
    if (seenRow === undefined || seenRow.all === 0) return even
    return Math.min(1, (0.8 * seenRow.own) / seenRow.all + 0.2 * even)
  }

  /** This instance's part of what was used when the row was last seen, less what time has refilled. */
  #usedBefore(rule: CompiledRule, row: LocalRow, value: string, now: number): Charge[] {
    const scaled = row.rule
    const seenRow = this.#lastSeen.of(rule, value)
    if (scaled === null || seenRow === undefined) return []
    const charges: Charge[] = []
    for (const [j, { remaining, resetAt }] of seenRow.limits.entries()) {
      const { numbers } = rule.limits[j]!
      if (resetAt <= now) continue
      let used = numbers.burst - remaining
      if (numbers.kind === BUCKET)
        used -= ((now - seenRow.seenAt) / numbers.window) * numbers.amount
      const limit = scaled.limits[j]!
      const amount = Math.min(limit.numbers.burst, Math.ceil(used * row.part))
      if (amount > 0) charges.push({ kind: 'charge', rule: scaled, limit, value, amount })
    }
    return charges
  }

  /**
   * Reports to the store what was used here of these rows, unless that was sent before: `send` is called at most once,
   * with all of it. What the store does not confirm is sent again with the next request, which counts nothing twice.
   */
  report(
    { rules, values, now }: Pick<Transaction, 'rules' | 'values' | 'now'>,
    send: (raises: readonly Raise[]) => Awaitable<readonly Changed[]>,
  ): void {
    if (this.#rows.size === 0) return
    const time = this.#storeTime(now)
    const reports = rules.flatMap((rule, i) => this.#reportOf(rule, values[i]!, time) ?? [])
    const raises = reports.flatMap((report) => report.raises)
    if (raises.length > 0)
      void Promise.resolve(send(raises)).then((changed) => this.#sent(reports, changed))
  }

  /** What was used here, scaled up to the whole limits; null if there is nothing to report. */
  #reportOf(rule: CompiledRule, value: string, now: number): Report | null {
    const key = rowKey(rule, value)
    const row = this.#rows.get(key)
    if (row === undefined || row.rule === null || row.usesSent === row.uses) return null
    const { uses, part, rule: scaled } = row
    row.usesSent = uses
    const look = newTransaction([scaled], [value], 1, now, { dryRun: true })
    const answer = this.#memory.decide(look)
    const raises = rule.limits.flatMap((limit, j): Raise[] => {
      const other = scaled.limits.find(({ id }) => id === limit.id)
      if (other === undefined) return []
      const used = Math.round((other.numbers.burst - answer.remaining(j)) / part)
      const amount = Math.min(limit.numbers.burst, used)
      return amount > 0 ? [{ kind: 'raise', rule, limit, value, amount }] : []
    })
    if (raises.length > 0) return { key, row, uses, raises }
    row.usesConfirmed = uses
    return null
  }

  /** What became of these reports. */
  #sent(reports: readonly Report[], changed: readonly Changed[]): void {
    let next = 0
    for (const { key, row, uses, raises } of reports) {
      const outcomes = changed.slice(next, next + raises.length)
      next += raises.length
      if (outcomes.every((outcome) => typeof outcome === 'number'))
        row.usesConfirmed = Math.max(row.usesConfirmed, uses)
      else if (row.usesSent === uses) row.usesSent = row.usesConfirmed
      this.#forgetIfOver(key, row)
    }
  }

  /** The store has answered, so it counts these rows again. Holds stay until they are released. */
  forget({ transaction: { rules, values }, decidedAt }: Answer): void {
    if (this.#rows.size === 0) return
    for (const [i, rule] of rules.entries()) {
      const key = rowKey(rule, values[i]!)
      const row = this.#rows.get(key)
      if (row === undefined) continue
      row.usesAnswered = row.uses
      row.answeredAt = decidedAt
      this.#forgetIfOver(key, row)
    }
  }

  #forgetIfOver(key: string, row: LocalRow): void {
    if (!row.isOver || this.#rows.get(key) !== row) return
    this.#rows.delete(key)
    const { rule, value, answeredAt } = row
    if (rule === null || rule.hasHolds) return
    this.#memory.change([{ kind: 'reset', family: rule.family, value }], momentAt(answeredAt))
  }

  change(operations: readonly Operation[], moment: Moment): number[] {
    return operations.map((operation) => this.changeOne(operation, moment))
  }

  changeOne(operation: Operation, { now }: Moment): number {
    const here = this.#asCountedHere(operation)
    if (here === null) return 0
    return this.#memory.change([here], momentAt(this.#storeTime(now)))[0] as number
  }

  /** Of the row in which it is counted here, under the numbers that it is counted with; null if it is not. */
  #asCountedHere(operation: Operation): Operation | null {
    const { kind, value } = operation
    if (kind === 'renew' || kind === 'release') {
      const rule = this.#scaled.of(operation.rule, 1, '')
      return rule === null ? null : { ...operation, rule }
    }
    if (kind === 'reset') {
      const rule = this.#rows.get(`${operation.family.key}|${value}`)?.rule
      return rule === undefined || rule === null ? null : { kind, family: rule.family, value }
    }
    // What is charged or granted is the store's.
    if (kind !== 'refund') return null
    const rule = this.#rows.get(rowKey(operation.rule, value))?.rule
    const limit = rule?.limits.find(({ id }) => id === operation.limit.id)
    if (rule === undefined || rule === null || limit === undefined) return null
    const take = { ...operation.take, takenUnder: limit.numbers.amount }
    return { ...operation, rule, limit, take }
  }

  *use(rules: RuleSet): Slices<void> {
    yield* this.#memory.use(rules)
    this.#scaled.lookAgain()
  }

  close(): void {}
}

/** Denies while the store is away. */
function failsClosed({ rule, shadow }: CompiledRule): boolean {
  return rule.failureMode === 'closed' && !shadow
}

/** Of this process's memory, which answers at once. */
function momentAt(now: number): Moment {
  return { now, deadline: Number.POSITIVE_INFINITY }
}
