/** Reports of leases, and a request for another, for the script. */
import { VERDICT_WIDTH } from '../../algorithms/verdict.js'
import { Answer } from '../answer.js'
import { FIRST_VERDICT } from '../answer-numbers.js'
import type { LastSeenRows } from '../last-seen-rows.js'
import type { LeaseAsk, LeaseReply } from '../leasing.js'
import { StoreFailure } from '../store.js'
import { newTransaction } from '../transaction.js'
import type { Addresses } from './keys.js'
import type { RuleLayout } from './rule-layout.js'
import { ScriptOperation } from './script-operation.js'
import {
  type ArgumentWriter,
  LEASE,
  LEASE_REPLY_WIDTH,
  LETTER_ALLOWED,
  LETTER_OTHER_BOUNDS,
  REPORT_WIDTH,
  type ScriptReply,
} from './script-protocol.js'

export class LeaseOperation extends ScriptOperation {
  readonly keys: readonly string[]
  readonly layouts: readonly RuleLayout[]
  readonly #ask: LeaseAsk
  readonly #lastSeen: LastSeenRows
  readonly #answered: (reply: LeaseReply) => void
  readonly #failed: (failure: StoreFailure) => void

  constructor(
    ask: LeaseAsk,
    addresses: Addresses,
    lastSeen: LastSeenRows,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ) {
    const { rule, value, now, deadline } = ask
    super(addresses.slotOfRow(rule.family, value), now, deadline)
    this.keys = [addresses.rowKey(rule.family, value)]
    this.layouts = [addresses.layoutOf(rule)]
    this.#ask = ask
    this.#lastSeen = lastSeen
    this.#answered = answered
    this.#failed = failed
  }

  get weight(): number {
    return 4
  }

  override get canWait(): boolean {
    return false
  }

  write(out: ArgumentWriter): void {
    const { reports, want } = this.#ask
    out.begin(LEASE, reports.length, want, 1 + (REPORT_WIDTH / 2) * reports.length)
    out.push(out.rule(this.layouts[0]!), 0)
    for (const { lease, spent, back } of reports)
      out.push(lease.period, lease.birth, lease.run, lease.grantedAt, spent, back)
  }

  read(reply: ScriptReply): boolean {
    const letter = reply.letter()
    if (letter !== LETTER_ALLOWED) {
      reply.skip([0])
      if (letter === LETTER_OTHER_BOUNDS) return false
      this.fail(new StoreFailure('store_refused', 'not_done'))
      return true
    }
    reply.letter()
    const { rule, value } = this.#ask
    const said: number[] = []
    reply.numbers(LEASE_REPLY_WIDTH, said, 0)
    const [granted, period, birth, run, endsAt, out, taken] = said as [
      granted: number,
      period: number,
      birth: number,
      run: number,
      endsAt: number,
      out: number,
      taken: number,
    ]
    const { now } = reply
    const answer = Answer.open(newTransaction([rule], [value], granted, now), now, true)
    reply.numbers(VERDICT_WIDTH * rule.limits.length, answer.numbers, FIRST_VERDICT)
    this.#lastSeen.record(answer, 0, 0, taken, granted)
    const lease = { rule, value, grantedAt: now, endsAt, period, birth, run }
    // Too late: its taker was told that it failed. What was granted counts as spent when the lease ends.
    if (this.isOver) return true
    this.isOver = true
    this.#answered({ granted, lease, out, answer })
    return true
  }

  protected failed(failure: StoreFailure): void {
    this.#failed(failure)
  }
}
