/**
 * What Redis keeps, and what its scripts do with it, in memory: the same algorithms, called in the same
 * order. A test holds it against a real Redis.
 */
import { decide, RESET, refund, take, widthOf } from '../../limiter/src/algorithms/algorithm.js'
import { GRACE_US, restart } from '../../limiter/src/algorithms/clock-steps.js'
import {
  carryLeases,
  clearLeases,
  LEASE_WIDTH,
  leasable,
  leasedGoAt,
  leasedOut,
  leaseEnd,
  noteLease,
  noteLeasesOut,
  reportLease,
  returnLease,
  rollLeases,
  settleLeases,
} from '../../limiter/src/algorithms/leases.js'
import { BUCKET, leadOf, SLIDING_LOG } from '../../limiter/src/algorithms/limit-numbers.js'
import type { LogEntries } from '../../limiter/src/algorithms/sliding-log.js'
import { NOT_NOW, YES } from '../../limiter/src/algorithms/status.js'
import {
  GIVEN_BACK,
  GO_AT,
  MARK,
  REMAINING,
  STATUS,
  VERDICT_WIDTH,
} from '../../limiter/src/algorithms/verdict.js'
import type { CompiledRule } from '../../limiter/src/rules/compiled-rule.js'
import { Answer } from '../../limiter/src/stores/answer.js'
import { FIRST_VERDICT } from '../../limiter/src/stores/answer-numbers.js'
import type { LeaseAsk, LeaseReply, LeaseReport } from '../../limiter/src/stores/leasing.js'
import { LogRing } from '../../limiter/src/stores/memory/side/log-ring.js'
import type { Refund } from '../../limiter/src/stores/operation.js'
import { costOf, newTransaction, type Transaction } from '../../limiter/src/stores/transaction.js'

/** Where a bucket keeps the time of its last write. */
const LAST = 3

export class Row {
  numbers: number[] = []
  birth: number
  last = 0
  lease: number[] | null = null
  /** Of each limit, what was ever given back. */
  sums: number[] = []
  logs: (LogRing | undefined)[] = []

  constructor(rule: CompiledRule, now: number) {
    this.birth = now
    for (const { numbers } of rule.limits) {
      for (let i = 0; i < widthOf(numbers.kind); i++) this.numbers.push(0)
      this.sums.push(0)
      this.logs.push(numbers.kind === SLIDING_LOG ? new LogRing() : undefined)
    }
  }

  copy(): Row {
    const row = Object.create(Row.prototype) as Row
    row.numbers = [...this.numbers]
    row.birth = this.birth
    row.last = this.last
    row.lease = this.lease === null ? null : [...this.lease]
    row.sums = [...this.sums]
    row.logs = this.logs.map((log) => log && copyLog(log))
    return row
  }
}

function copyLog(log: LogRing): LogRing {
  const copy = new LogRing()
  for (let i = 0; i < log.count(); i++) copy.push(log.stamp(i), log.cost(i))
  return copy
}

/** A rule's verdicts at that time, in `out` from `o` on. */
interface Verdicts {
  readonly now: number
  readonly out: number[]
  readonly o: number
}

export class Counters {
  rows = new Map<string, Row>()
  /** Which run of the server this is. */
  run = 1

  decide(transaction: Transaction, now: number): Answer {
    const { rules, values, dryRun } = transaction
    const answer = Answer.open(transaction, now, true)
    const out = answer.numbers.fill(0, FIRST_VERDICT)
    const opened = rules.map((rule, i) => this.open(rule, values[i]!, now))
    let o = FIRST_VERDICT
    for (const [i, rule] of rules.entries()) {
      this.#decide(rule, opened[i]!, costOf(transaction, i), { now, out, o })
      if (!rule.shadow && !says(rule, out, o, YES)) answer.allowed = false
      o += rule.limits.length * VERDICT_WIDTH
    }
    if (!answer.allowed || dryRun) return answer
    o = FIRST_VERDICT
    for (const [i, rule] of rules.entries()) {
      const row = opened[i]!
      row.birth = Math.min(row.birth, now)
      this.#take(rule, row, costOf(transaction, i), { now, out, o })
      this.#save(rule, values[i]!, row, now)
      o += rule.limits.length * VERDICT_WIDTH
    }
    return answer
  }

  lease({ rule, value, reports, want }: LeaseAsk, now: number): LeaseReply {
    const row = this.open(rule, value, now)
    let isChanged = false
    for (const report of reports) if (this.hear(rule, report, row, now)) isChanged = true
    row.lease ??= newAccount(now)
    if (want > 0) this.setLead(rule, true)
    const answer = Answer.open(newTransaction([rule], [value], want, now), now, true)
    const numbers = answer.numbers.fill(0, FIRST_VERDICT)
    const granted = this.#leasableOf(rule, row, want, now, numbers)
    const endsAt = granted > 0 ? this.grant(rule, row, granted, now, numbers) : 0
    const out = leasedOut(row.lease)
    const period = row.lease[0]!
    if (granted > 0 || isChanged) this.#save(rule, value, row, now)
    const { run } = this
    const lease = { rule, value, grantedAt: now, endsAt, period, birth: row.birth, run }
    return { granted, lease, out, answer }
  }

  /** Gives back what a limit took; answers how much. */
  refund({ rule, limit, value, amount, take }: Refund, now: number): number {
    const row = this.open(rule, value, now)
    if (!this.rows.has(keyOf(rule, value)) || take.takenAt < row.birth) return 0
    const { numbers } = limit
    const j = rule.limits.indexOf(limit)
    const { mark, markRest, takenUnder, givenBack } = take
    const [at, since, log] = [placeOf(rule, j), row.sums[j]! - givenBack, row.logs[j]]
    const full = row.numbers
    const given = refund(full, at, numbers, amount, now, mark, markRest, takenUnder, since, log)
    if (given === 0) return 0
    if (numbers.kind === BUCKET) row.sums[j]! += given
    this.#save(rule, value, row, now)
    return given
  }

  /** The row as it stands now, to be changed and saved. */
  protected open(rule: CompiledRule, value: string, now: number): Row {
    const row = this.rows.get(keyOf(rule, value))?.copy() ?? new Row(rule, now)
    for (const limit of rule.limits) limit.prepare(now)
    this.setLead(rule, row.lease !== null)
    let at = 0
    for (const { numbers } of rule.limits) {
      if (numbers.kind === BUCKET) row.numbers[at + LAST] = row.last
      if (row.lease !== null) this.settle(row, at, numbers, now)
      at += widthOf(numbers.kind)
    }
    if (row.lease !== null) rollLeases(row.lease, now)
    if (row.last > now + GRACE_US) this.restart(rule, value, row, now)
    return row
  }

  /** The clock has stepped back since the row was written. */
  protected restart(rule: CompiledRule, value: string, row: Row, now: number): void {
    let at = 0
    for (const [j, { numbers }] of rule.limits.entries()) {
      restart(row.numbers, at, numbers, now, row.logs[j])
      row.sums[j]! += RESET
      at += widthOf(numbers.kind)
    }
    row.birth = now
    row.last = now
    if (row.lease !== null) carryLeases(row.lease, now)
    this.#save(rule, value, row.copy(), now)
  }

  protected settle(
    row: Row,
    at: number,
    numbers: CompiledRule['limits'][0]['numbers'],
    now: number,
  ) {
    settleLeases(row.numbers, at, numbers, row.lease!, now)
  }

  protected setLead(rule: CompiledRule, isLeased: boolean): void {
    for (const { numbers } of rule.limits)
      if (numbers.kind === SLIDING_LOG) numbers.lead = isLeased ? leadOf(numbers.window) : 0
  }

  /** Whether the row knew of the lease. */
  protected hear(
    rule: CompiledRule,
    { lease, spent, back }: LeaseReport,
    row: Row,
    now: number,
  ): boolean {
    if (lease.birth !== row.birth || lease.run !== this.run || row.lease === null) return false
    if (!this.rows.has(keyOf(rule, lease.value))) return false
    if (!reportLease(row.lease, lease.period, spent + back)) return false
    if (back === 0) return true
    let at = 0
    for (const [j, { numbers }] of rule.limits.entries()) {
      const log = row.logs[j] as LogEntries
      returnLease(row.numbers, at, numbers, back, lease.grantedAt, now, log)
      at += widthOf(numbers.kind)
    }
    return true
  }

  #leasableOf(rule: CompiledRule, row: Row, want: number, now: number, out: number[]): number {
    let n = want
    let at = 0
    for (const [j, { numbers }] of rule.limits.entries()) {
      const o = FIRST_VERDICT + j * VERDICT_WIDTH
      decide(row.numbers, at, numbers, 1, now, out, o, row.logs[j], '')
      n = leasable(numbers, out[o + REMAINING]!, row.lease!, n)
      at += widthOf(numbers.kind)
    }
    return n < 2 ? 0 : n
  }

  protected grant(rule: CompiledRule, row: Row, n: number, now: number, out: number[]): number {
    row.birth = Math.min(row.birth, now)
    let endsAt = noteLease(row.lease!, n)
    let at = 0
    for (const [j, { numbers }] of rule.limits.entries()) {
      const o = FIRST_VERDICT + j * VERDICT_WIDTH
      decide(row.numbers, at, numbers, n, now, out, o, row.logs[j], '')
      out[o + GIVEN_BACK] = row.sums[j]!
      take(row.numbers, at, numbers, n, now, out, o, row.logs[j], '')
      endsAt = leaseEnd(numbers, out[o + MARK]!, endsAt)
      if (numbers.kind === BUCKET) noteLeasesOut(numbers, leasedOut(row.lease!), out, o)
      at += widthOf(numbers.kind)
    }
    return endsAt
  }

  #decide(rule: CompiledRule, row: Row, cost: number, { now, out, o: from }: Verdicts) {
    let o = from
    let at = 0
    for (const [j, { numbers }] of rule.limits.entries()) {
      decide(row.numbers, at, numbers, cost, now, out, o, row.logs[j], '')
      out[o + GIVEN_BACK] = 0
      if (row.lease !== null && numbers.kind === BUCKET && out[o + STATUS] === NOT_NOW)
        out[o + GO_AT] = leasedGoAt(row.numbers, at, numbers, row.lease, cost, now)
      o += VERDICT_WIDTH
      at += widthOf(numbers.kind)
    }
  }

  #take(rule: CompiledRule, row: Row, cost: number, { now, out, o: from }: Verdicts) {
    let o = from
    let at = 0
    for (const [j, { numbers }] of rule.limits.entries()) {
      if (out[o + STATUS] === YES) {
        out[o + GIVEN_BACK] = row.sums[j]!
        take(row.numbers, at, numbers, cost, now, out, o, row.logs[j], '')
        if (row.lease !== null && numbers.kind === BUCKET)
          noteLeasesOut(numbers, leasedOut(row.lease), out, o)
      }
      o += VERDICT_WIDTH
      at += widthOf(numbers.kind)
    }
  }

  #save(rule: CompiledRule, value: string, row: Row, now: number): void {
    row.last = Math.max(row.last, now)
    const hasLog = row.logs.some((log) => log !== undefined)
    if (row.lease !== null && !hasLog && leasedOut(row.lease) === 0) row.lease = null
    this.rows.set(keyOf(rule, value), row)
  }
}

/** Where the j-th limit's numbers are in a row. */
function placeOf(rule: CompiledRule, j: number): number {
  return rule.limits.slice(0, j).reduce((sum, { numbers }) => sum + widthOf(numbers.kind), 0)
}

function newAccount(now: number): number[] {
  const lease = new Array<number>(LEASE_WIDTH).fill(0)
  clearLeases(lease, now)
  return lease
}

function keyOf({ family }: CompiledRule, value: string): string {
  return `${family.key}|${value}`
}

/** Whether every limit of the rule says so. */
function says(rule: CompiledRule, out: readonly number[], o: number, status: number): boolean {
  return rule.limits.every((_, j) => out[o + j * VERDICT_WIDTH + STATUS] === status)
}
