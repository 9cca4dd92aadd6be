/**
 * A decision as it is made: it keeps the store's numbers and works out what is asked for. Deciding must
 * not pay for what nobody reads.
 */
import { CONCURRENCY } from './algorithms/limit-numbers.js'
import type { Answered, DecisionField, LimitDecision, Reason, State } from './decision.js'
import { describe } from './describe.js'
import { HoldTicket } from './hold-ticket.js'
import { type HeaderFamily, headersOf } from './http/headers.js'
import { problemOf } from './http/problem.js'
import { Receipt } from './receipt.js'
import type { CompiledLimit, CompiledRule } from './rules/compiled-rule.js'
import type { Entry } from './rules/rule.js'
import type { Answer, AnsweredLimit, DegradedReason } from './stores/answer.js'
import type { Transaction } from './stores/transaction.js'

/** Small, because each check makes one. */
export class DecisionRecord implements Answered {
  readonly state: State
  /** @internal */ readonly answer: Answer
  /** @internal The rule of the top limit (-1: none), and that limit's number in the answer. */
  readonly topRule: number
  /** @internal */ readonly topIndex: number
  private limitList: readonly LimitDecision[] | null

  constructor(answer: Answer, topRule: number, topIndex: number, state: State) {
    this.state = state
    this.answer = answer
    this.topRule = topRule
    this.topIndex = topIndex
    this.limitList = null
  }

  /** @internal For what is this decision and more. */
  get parts(): ConstructorParameters<typeof FullDecisionRecord> {
    return [this.answer, this.topRule, this.topIndex, this.state, this.entry]
  }

  /** @internal The block or exemption that decided; null if rules did. */
  get entry(): Entry | null {
    return null
  }

  get allowed(): boolean {
    return this.answer.allowed
  }

  /** @internal What was asked of the store: of a replayed answer, then. */
  get transaction(): Transaction {
    return this.answer.transaction
  }

  get replayed(): boolean {
    return this.answer.isReplay
  }

  /** @internal */
  get top(): AnsweredLimit | null {
    const { topRule: ruleIndex, topIndex: index, topLimit: limit } = this
    if (limit === null) return null
    const { rules, values } = this.transaction
    return { rule: rules[ruleIndex]!, limit, value: values[ruleIndex]!, ruleIndex, index }
  }

  /** @internal The same limit alone, for hot code. */
  get topLimit(): CompiledLimit | null {
    const { topRule, topIndex } = this
    if (topRule < 0) return null
    return this.transaction.rules[topRule]!.limits[topIndex - this.answer.firstOf(topRule)]!
  }

  get limit(): number | null {
    return this.topLimit?.numbers.burst ?? null
  }

  get used(): number | null {
    const { top } = this
    return top === null ? null : usedOf(this.answer, top)
  }

  get remaining(): number | null {
    return this.topRule < 0 ? null : remainingOf(this.answer, this.topIndex)
  }

  get resetAtMs(): number | null {
    return this.topRule < 0 ? null : milliseconds(this.answer.resetAt(this.topIndex))
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
    if (this.answer.isShut(this.topIndex)) return 'store_down'
    return this.answer.isNever(this.topIndex) ? 'too_expensive' : 'limited'
  }

  get retryAfterMs(): number | null {
    if (this.allowed || this.topRule < 0) return null
    return retryAfterMs(this.answer, this.topIndex)
  }

  get delayMs(): number {
    if (!this.allowed) return 0
    let goAt = this.decidedAt
    for (const { rule, index } of this.answer.each()) {
      if (!rule.shadow) goAt = Math.max(goAt, this.answer.goAt(index))
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
    return this.answer.isDegraded
  }

  get degradedReason(): DegradedReason | null {
    return this.answer.degradedReason
  }

  get receipt(): Receipt | null {
    return this.hasReceipt ? Receipt.of(this.answer) : null
  }

  /** @internal Something was taken, and is this instance's to give back. */
  get hasReceipt(): boolean {
    const { dryRun, rules, isForeign } = this.transaction
    return this.allowed && !dryRun && rules.length > 0 && !isForeign
  }

  get hold(): HoldTicket | null {
    const { holdId, rules, values, dryRun } = this.transaction
    if (!this.allowed || holdId === '' || dryRun) return null
    const held = new Set<CompiledRule>()
    let expiry = Number.POSITIVE_INFINITY
    for (const { rule, limit, index } of this.answer.each()) {
      if (limit.numbers.kind !== CONCURRENCY || !this.answer.wasTaken(index)) continue
      held.add(rule)
      expiry = Math.min(expiry, this.answer.mark(index))
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
    return this.answer.decidedAt
  }

  private makeLimits(): LimitDecision[] {
    const { answer } = this
    const { rules } = this.transaction
    const made: LimitDecision[] = []
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      for (const limit of rule.limits) {
        const index = made.length
        const passes = answer.passes(index)
        made.push({
          rule: rule.name,
          scope: rule.scope,
          algorithm: limit.limit.algorithm,
          amount: limit.limit.amount,
          limit: limit.limit.burst,
          windowSeconds: limit.windowSeconds(this.decidedAt),
          allowed: passes,
          used: usedOf(answer, { rule, limit, index }),
          remaining: remainingOf(answer, index),
          resetAtMs: milliseconds(answer.resetAt(index)),
          retryAfterMs: passes ? null : retryAfterMs(answer, index),
          unit: rule.unit,
          shadow: rule.shadow,
        })
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

/** With what few decisions have. */
export class FullDecisionRecord extends DecisionRecord {
  readonly #entry: Entry | null

  constructor(
    answer: Answer,
    topRule: number,
    topIndex: number,
    state: State,
    entry: Entry | null,
  ) {
    super(answer, topRule, topIndex, state)
    this.#entry = entry
  }

  override get entry(): Entry | null {
    return this.#entry
  }
}

/** Null where nothing could be counted. */
function usedOf(
  answer: Answer,
  { rule, limit, index }: Pick<AnsweredLimit, 'rule' | 'limit' | 'index'>,
): number | null {
  if (!answer.isCounted(index)) return null
  const used = limit.numbers.burst - answer.difference(index)
  return rule.family.shards > 1 ? used + answer.surplus(index) : used
}

/** The same. */
function remainingOf(answer: Answer, limit: number): number | null {
  return answer.isCounted(limit) ? answer.remaining(limit) : null
}

function milliseconds(us: number): number {
  return Math.ceil(us / 1000)
}

function retryAfterMs(answer: Answer, limit: number): number | null {
  return answer.isNever(limit) ? null : milliseconds(answer.goAt(limit) - answer.decidedAt)
}
