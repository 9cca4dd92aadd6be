/**
 * A decision as it is made: it keeps the store's numbers and works out what is asked for. Deciding must
 * not pay for what nobody reads.
 */
import { CONCURRENCY } from './algorithms/limit-numbers.js'
import {
  GO_AT,
  MARK,
  NEVER,
  REMAINING,
  RESET_AT,
  SHUT,
  STATUS,
  UNCOUNTED,
  VERDICT_WIDTH,
  YES,
} from './algorithms/verdict.js'
import type { Answered, DecisionField, LimitDecision, Reason, State } from './decision.js'
import { describe } from './describe.js'
import { HoldTicket } from './hold-ticket.js'
import { type HeaderFamily, headersOf } from './http/headers.js'
import { problemOf } from './http/problem.js'
import { Receipt } from './receipt.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import type { Entry } from './rules/rule.js'
import {
  ALLOWED,
  DECIDED_AT,
  DEGRADED,
  DEGRADED_REASONS,
  type DegradedReason,
  FIRST_VERDICT,
  remainingIn,
  type Transaction,
  type Verdicts,
  wasTaken,
} from './stores/store.js'
import { surplusAt } from './stores/surplus.js'
import type { TopLimit } from './top-limit.js'

export class DecisionRecord implements Answered {
  readonly allowed: boolean
  readonly state: State
  /** @internal */ readonly verdicts: Verdicts
  /** @internal The block or exemption that decided. */ readonly entry: Entry | null
  /** @internal The rule of the top limit (-1: none), and where that limit's verdict stands. */
  readonly topRule: number
  /** @internal */ readonly topAt: number
  private readonly asked: Transaction
  private limitList: readonly LimitDecision[] | null

  constructor(
    asked: Transaction,
    verdicts: Verdicts,
    topRule: number,
    topAt: number,
    state: State,
    entry: Entry | null,
  ) {
    this.allowed = verdicts[ALLOWED] === 1
    this.state = state
    this.verdicts = verdicts
    this.entry = entry
    this.topRule = topRule
    this.topAt = topAt
    this.asked = asked
    this.limitList = null
  }

  /** @internal For what is this decision and more. */
  get parts(): ConstructorParameters<typeof DecisionRecord> {
    return [this.asked, this.verdicts, this.topRule, this.topAt, this.state, this.entry]
  }

  /** @internal What was asked of the store: of a replayed answer, then. */
  get transaction(): Transaction {
    return this.asked.replayOf ?? this.asked
  }

  get replayed(): boolean {
    return this.asked.replayOf !== null
  }

  /** @internal */
  get top(): TopLimit | null {
    if (this.topRule < 0) return null
    const { rules, values } = this.transaction
    let at = FIRST_VERDICT
    for (let i = 0; i < this.topRule; i++) at += rules[i]!.limits.length * VERDICT_WIDTH
    const rule = rules[this.topRule]!
    const limit = rule.limits[(this.topAt - at) / VERDICT_WIDTH]!
    return { rule, limit, value: values[this.topRule]!, at: this.topAt }
  }

  get limit(): number | null {
    return this.top?.limit.numbers.burst ?? null
  }

  get used(): number | null {
    const { top } = this
    return top === null ? null : usedOf(this.verdicts, top)
  }

  get remaining(): number | null {
    return this.topRule < 0 ? null : remainingOf(this.verdicts, this.topAt)
  }

  get resetAtMs(): number | null {
    return this.topRule < 0 ? null : milliseconds(this.verdicts[this.topAt + RESET_AT]!)
  }

  get rule(): string | null {
    return this.topRule < 0 ? null : this.transaction.rules[this.topRule]!.name
  }

  get scope(): string | null {
    if (this.entry !== null) return this.allowed ? null : this.entry.scope
    return this.topRule < 0 ? null : this.transaction.rules[this.topRule]!.scope
  }

  get reason(): Reason | null {
    if (this.allowed) return null
    if (this.topRule < 0) return 'blocked'
    const status = this.verdicts[this.topAt + STATUS]
    if (status === SHUT) return 'store_down'
    return status === NEVER ? 'too_expensive' : 'limited'
  }

  get retryAfterMs(): number | null {
    if (this.allowed || this.topRule < 0) return null
    return retryAfterMs(this.verdicts, this.topAt)
  }

  get delayMs(): number {
    if (!this.allowed) return 0
    let goAt = this.decidedAt
    for (const { rule, at } of this.eachLimit()) {
      if (!rule.shadow) goAt = Math.max(goAt, this.verdicts[at + GO_AT]!)
    }
    return (goAt - this.decidedAt) / 1000
  }

  get limits(): readonly LimitDecision[] {
    this.limitList ??= this.makeLimits()
    return this.limitList
  }

  get exempt(): boolean {
    return this.entry !== null && this.allowed
  }

  get degraded(): boolean {
    return this.verdicts[DEGRADED] !== 0
  }

  get degradedReason(): DegradedReason | null {
    return DEGRADED_REASONS[this.verdicts[DEGRADED]! - 1] ?? null
  }

  get receipt(): Receipt | null {
    return this.hasReceipt ? Receipt.of(this.transaction, this.verdicts) : null
  }

  /** @internal Something was taken, and is this instance's to give back. */
  get hasReceipt(): boolean {
    const { dryRun, rules, isForeign } = this.transaction
    return this.allowed && !dryRun && rules.length > 0 && isForeign !== true
  }

  get hold(): HoldTicket | null {
    const { holdId, rules, values, dryRun } = this.transaction
    if (!this.allowed || holdId === '' || dryRun) return null
    const held = new Set<CompiledRule>()
    let expiry = Number.POSITIVE_INFINITY
    for (const { rule, limit, at } of this.eachLimit()) {
      if (limit.numbers.kind !== CONCURRENCY || !wasTaken(this.verdicts, at)) continue
      held.add(rule)
      expiry = Math.min(expiry, this.verdicts[at + MARK]!)
    }
    if (held.size === 0) return null
    const rows = rules
      .map((rule, i) => ({ rule, value: values[i]! }))
      .filter(({ rule }) => held.has(rule))
    return new HoldTicket(
      holdId,
      rows,
      Math.floor(expiry / 1000),
      Math.floor((expiry - this.decidedAt) / 1000),
      this.degraded,
    )
  }

  /** @internal The time of the decision, in microseconds. */
  get decidedAt(): number {
    return this.verdicts[DECIDED_AT]!
  }

  /** @internal */
  *eachLimit(): IterableIterator<TopLimit> {
    let at = FIRST_VERDICT
    for (const [i, rule] of this.transaction.rules.entries()) {
      for (const limit of rule.limits) {
        yield { rule, limit, value: this.transaction.values[i]!, at }
        at += VERDICT_WIDTH
      }
    }
  }

  private makeLimits(): LimitDecision[] {
    const { rules } = this.transaction
    const verdicts = this.verdicts
    const made: LimitDecision[] = []
    let at = FIRST_VERDICT
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      for (let j = 0; j < rule.limits.length; j++) {
        const limit = rule.limits[j]!
        const status = verdicts[at + STATUS]
        const passes = status === YES || status === UNCOUNTED
        made.push({
          rule: rule.name,
          scope: rule.scope,
          algorithm: limit.limit.algorithm,
          amount: limit.limit.amount,
          limit: limit.limit.burst,
          windowSeconds: limit.windowSeconds(this.decidedAt),
          allowed: passes,
          used: usedOf(verdicts, { rule, limit, at }),
          remaining: remainingOf(verdicts, at),
          resetAtMs: milliseconds(verdicts[at + RESET_AT]!),
          retryAfterMs: passes ? null : retryAfterMs(verdicts, at),
          unit: rule.unit,
          shadow: rule.shadow,
        })
        at += VERDICT_WIDTH
      }
    }
    return made
  }

  toHeaders(families?: readonly HeaderFamily[]): Record<string, string> {
    return headersOf(this, families)
  }

  /** Of a no: the response to send, with its headers and a problem that says why. */
  toResponse(families?: readonly HeaderFamily[]): Response {
    const problem = problemOf(this)
    return new Response(JSON.stringify(problem), {
      status: problem.status,
      headers: { ...this.toHeaders(families), 'Content-Type': 'application/problem+json' },
    })
  }

  toString(): string {
    return describe(this)
  }

  /** All but the receipt, which is for giving back and not for reading. */
  toJSON(): Record<Exclude<DecisionField, 'receipt'>, unknown> {
    return {
      allowed: this.allowed,
      limit: this.limit,
      used: this.used,
      remaining: this.remaining,
      resetAtMs: this.resetAtMs,
      retryAfterMs: this.retryAfterMs,
      delayMs: this.delayMs,
      state: this.state,
      reason: this.reason,
      rule: this.rule,
      scope: this.scope,
      degraded: this.degraded,
      degradedReason: this.degradedReason,
      exempt: this.exempt,
      replayed: this.replayed,
      hold: this.hold,
      limits: this.limits,
    }
  }

  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return this.toJSON()
  }
}

/** Not where the store could not be asked. */
function isCounted(verdicts: Verdicts, at: number): boolean {
  const status = verdicts[at + STATUS]
  return status !== UNCOUNTED && status !== SHUT
}

/** Null where nothing could be counted. */
function usedOf(
  verdicts: Verdicts,
  { rule, limit, at }: Pick<TopLimit, 'rule' | 'limit' | 'at'>,
): number | null {
  if (!isCounted(verdicts, at)) return null
  const used = limit.numbers.burst - verdicts[at + REMAINING]!
  return rule.family.shards > 1 ? used + surplusAt(verdicts, at) : used
}

/** The same. */
function remainingOf(verdicts: Verdicts, at: number): number | null {
  return isCounted(verdicts, at) ? remainingIn(verdicts, at) : null
}

function milliseconds(us: number): number {
  return Math.ceil(us / 1000)
}

function retryAfterMs(verdicts: Verdicts, at: number): number | null {
  if (verdicts[at + STATUS] === NEVER) return null
  return milliseconds(verdicts[at + GO_AT]! - verdicts[DECIDED_AT]!)
}
