/**
 * A row that is asked for often: what this instance holds of it, how fast it is asked for, what was last
 * seen of it, and what was denied. Hot code: nothing here allocates but grants and reports.
 */
import { BUCKET, type LimitNumbers } from '../../algorithms/limit-numbers.js'
import { span, spanned } from '../../algorithms/token-time.js'
import {
  GIVEN_BACK,
  GO_AT,
  MARK,
  MARK_REST,
  NOT_NOW,
  REMAINING,
  RESET_AT,
  STATUS,
  VERDICT_WIDTH,
  YES,
} from '../../algorithms/verdict.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import { DECIDED_AT, DEGRADED, FIRST_VERDICT, type Verdicts } from '../store.js'
import { copySurplus } from '../surplus.js'
import { DenialMemory } from './denial-memory.js'
import { Holding, type SentAt } from './holding.js'
import type { Terms } from './leasable-rules.js'
import type { LeaseAnswer, LeaseReport } from './lease-port.js'
import { LocalRate } from './local-rate.js'

/** How long nothing is asked for ahead, in milliseconds, where less was granted than was asked for. */
const TIGHT_MS = 20
/** How much time's worth of the rate is asked for: the first near the limit, the other while half is left. */
const AHEAD_MS = 50
const AHEAD_WITH_ROOM_MS = 100
/** A rate of which 50 ms are less than this is served one by one. */
const LEAST_WANTED = 4
/** Not asked for this long, what is held is given back, in milliseconds: near the limit, and while half is left. */
const IDLE_MS = 20
const IDLE_WITH_ROOM_MS = 40
/** How long a denial is remembered, in milliseconds, while leases are out that may come back, and else. */
const DENIED_MS = 20
const DENIED_ALONE_MS = 1000

/** What it wants, since when, how far the wall clock is ahead of the caller's, and how to decide it again: waiting once more, or not. */
interface Waiting {
  readonly cost: number
  readonly since: number
  readonly ahead: number
  again(mayWait: boolean): void
}

export class LeasedRow {
  readonly rule: CompiledRule
  readonly value: string
  readonly #terms: Terms
  /** One for each period that has not ended, and each shard; the one that was granted first is spent first. */
  #held: Holding[] = []
  readonly #rate: LocalRate
  /** Below this more is asked for. */
  #low = 0
  /** Before this time nothing is asked for ahead. */
  #notAheadBefore = Number.NEGATIVE_INFINITY
  /** The row's verdicts as they were last seen; null before that. */
  #seen: number[] | null = null
  /** What others, and this instance, had leased then. */
  #out = Number.POSITIVE_INFINITY
  readonly denial = new DenialMemory()
  /** The store is being asked for a lease. */
  isCalling = false
  /** Decisions that wait for the answer to that. */
  waiting: Waiting[] = []
  /** It is looked after no more: what is granted yet is given back at once. */
  isLeft = false

  constructor(rule: CompiledRule, value: string, terms: Terms, steady: number) {
    this.rule = rule
    this.value = value
    this.#terms = terms
    this.#rate = new LocalRate(steady)
  }

  /** Somebody asks for so much. */
  count(cost: number): void {
    this.#rate.count(cost)
  }

  /** Takes it out of a holding that has it and lasts; whoever takes it says whether it was spent. */
  take(cost: number, steady: number, wall: number): Holding | null {
    const held = this.#held
    for (let i = 0; i < held.length; i++) {
      const holding = held[i]!
      if (holding.unspent < cost || holding.isOver(steady, wall)) continue
      holding.unspent -= cost
      return holding
    }
    return null
  }

  /** It was not spent after all. */
  untake(holding: Holding, cost: number): void {
    holding.unspent += cost
  }

  get unspent(): number {
    let sum = 0
    for (let i = 0; i < this.#held.length; i++) sum += this.#held[i]!.unspent
    return sum
  }

  get hasHoldings(): boolean {
    return this.#held.length > 0
  }

  /** Something that is held has ended: reports let go of it. */
  hasEnded(steady: number, wall: number): boolean {
    return this.#held.some((holding) => holding.isOver(steady, wall))
  }

  /** It is time to ask for more, ahead. */
  isLow(steady: number): boolean {
    return this.unspent < this.#low && !this.isCalling && !this.isTight(steady)
  }

  /** Less was granted than was asked for, a moment ago. */
  isTight(steady: number): boolean {
    return steady < this.#notAheadBefore
  }

  /** How many to ask for now, for those who come and those who are waiting; 0: none. */
  want(steady: number, missing = 0): number {
    const rate = this.#rate.now(steady)
    if (rate * AHEAD_MS < LEAST_WANTED) return 0
    return Math.min(Math.ceil(rate * this.#aheadMs) + missing, this.#terms.most)
  }

  get #aheadMs(): number {
    return this.#terms.aheadMs ?? (this.#hasRoom ? AHEAD_WITH_ROOM_MS : AHEAD_MS)
  }

  get #hasRoom(): boolean {
    const seen = this.#seen
    if (seen === null) return false
    return this.rule.limits.every(
      ({ numbers }, j) => 2 * seen[j * VERDICT_WIDTH + REMAINING]! >= numbers.burst,
    )
  }

  /** Reckons the rate; false once the row is asked for too rarely to be kept. */
  beat(steady: number): boolean {
    this.#rate.beat(steady)
    this.#low = this.want(steady) / 2
    const isWanted = this.#rate.average * AHEAD_MS >= LEAST_WANTED / 8
    return isWanted || this.isCalling || this.hasHoldings
  }

  /** What is held beyond use, to be given back: all of it where little is asked for, or nothing for a while. */
  excess(steady: number): number {
    const { average } = this.#rate
    const isRare = Math.min(average * AHEAD_MS, this.#terms.most) < LEAST_WANTED / 2
    const idleMs = this.#hasRoom ? IDLE_WITH_ROOM_MS : IDLE_MS
    if (isRare || this.#rate.idleMs(steady) >= idleMs) return this.unspent
    const kept = Math.min(average * this.#aheadMs, this.#terms.most)
    return this.unspent > 2 * kept ? this.unspent - Math.ceil(kept) : 0
  }

  /** What was spent, what has ended (that is given back: who knows what for), and so many more to be given back. */
  reports(back: number, steady: number, wall: number): { sent: LeaseReport[]; ended: number } {
    const sent: LeaseReport[] = []
    let ended = 0
    let rest = back
    this.#held = this.#held.filter((holding) => {
      const isOver = holding.isOver(steady, wall)
      const part = isOver ? holding.unspent : Math.min(rest, holding.unspent)
      if (isOver) ended += part
      else rest -= part
      const report = holding.report(part)
      if (report !== null) sent.push(report)
      return !isOver
    })
    return { sent, ended }
  }

  /** Was not heard by the store, certainly: what was spent is to be reported yet, and so many are here again. */
  unreport(reports: readonly LeaseReport[]): number {
    let kept = 0
    for (const { lease, spent, back } of reports) {
      const holding = this.#held.find((held) => held.lease === lease)
      if (holding === undefined) continue
      holding.spent += spent
      holding.unspent += back
      kept += back
    }
    return kept
  }

  /** Takes a grant over. */
  granted(answer: LeaseAnswer, wanted: number, sentAt: SentAt, steady: number): void {
    this.see(answer.verdicts, FIRST_VERDICT, answer.out)
    if (answer.granted < wanted) this.#notAheadBefore = steady + TIGHT_MS
    if (answer.granted === 0) return
    if (!this.#held.some((holding) => holding.add(answer, sentAt)))
      this.#held.push(new Holding(answer, sentAt))
  }

  /** Nothing is asked for ahead for a while. */
  pause(steady: number): void {
    this.#notAheadBefore = steady + TIGHT_MS
  }

  /** Gives up what is held: so many. */
  leave(): number {
    const { unspent } = this
    this.isLeft = true
    this.#held = []
    return unspent
  }

  /** The row's verdicts stand here in an answer of the store. */
  see(verdicts: Verdicts, at: number, out: number | null): void {
    const { length } = this.rule.limits
    this.#seen = verdicts.slice(at, at + length * VERDICT_WIDTH)
    copySurplus(verdicts, at, this.#seen, 0, length)
    if (out !== null) this.#out = out
  }

  /** The same of a transaction that was asked at that time: what was denied is remembered for a while. */
  decided(cost: number, verdicts: Verdicts, at: number, askedAt: SentAt, mostMs: number): void {
    if (verdicts[DEGRADED] !== 0) return
    this.see(verdicts, at, null)
    let goAt = 0
    for (let j = 0, o = at; j < this.rule.limits.length; j++, o += VERDICT_WIDTH) {
      if (verdicts[o + STATUS] === NOT_NOW) goAt = Math.max(goAt, verdicts[o + GO_AT]!)
      else if (verdicts[o + STATUS] !== YES) return
    }
    if (goAt === 0) return this.denial.disprove(cost)
    // Of a rule in shards nobody knows what is out of the others.
    const isAlone = this.#out === 0 && this.rule.family.shards === 1
    const most = Math.min(mostMs, isAlone ? DENIED_ALONE_MS : DENIED_MS)
    const ms = Math.min(most, (goAt - verdicts[DECIDED_AT]!) / 1000)
    this.denial.note(cost, this.#seen!, askedAt, ms)
  }

  /**
   * The verdicts of a take from this holding, into out[o…]. Its receipt is as of a take of its own: in the
   * grant's nothing that is leased counts, and what was spent of it will not be leased any more.
   */
  writeTaken({ lease, verdicts, spent }: Holding, now: number, out: number[], o: number): void {
    const { limits } = this.rule
    const { unspent } = this
    const seen = this.#seen!
    if (this.rule.family.shards > 1) copySurplus(seen, 0, out, o, limits.length)
    let [from, to, at] = [FIRST_VERDICT, o, 0]
    for (let j = 0; j < limits.length; j++) {
      const { numbers } = limits[j]!
      out[to + STATUS] = YES
      out[to + REMAINING] = leftWith(seen[at + REMAINING]!, unspent, numbers.burst)
      out[to + RESET_AT] = Math.max(verdicts[from + RESET_AT]!, now)
      out[to + GO_AT] = now
      out[to + MARK] = verdicts[from + MARK]!
      out[to + MARK_REST] = verdicts[from + MARK_REST]!
      out[to + GIVEN_BACK] = verdicts[from + GIVEN_BACK]!
      // A shard's mark says which it is of: it stays as it was given.
      if (numbers.kind === BUCKET && lease.rule === this.rule) laterMark(numbers, spent, out, to)
      from += VERDICT_WIDTH
      to += VERDICT_WIDTH
      at += VERDICT_WIDTH
    }
  }
}

/** What a row has left together with what is held of it; where nothing is held, what it owes as well. */
export function leftWith(left: number, held: number, burst: number): number {
  return held === 0 ? left : Math.min(Math.max(0, left) + held, burst)
}

/** Moves a bucket's mark later by n tokens. */
function laterMark(numbers: LimitNumbers, n: number, out: number[], o: number): void {
  span(n, numbers)
  out[o + MARK] = out[o + MARK]! + spanned[0]!
  out[o + MARK_REST] = out[o + MARK_REST]! + spanned[1]!
  if (out[o + MARK_REST]! < numbers.amount) return
  out[o + MARK] = out[o + MARK]! + 1
  out[o + MARK_REST] = out[o + MARK_REST]! - numbers.amount
}
