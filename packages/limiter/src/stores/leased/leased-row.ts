/**
 * A row that is asked for often: what this instance holds of it, how fast it is asked for, what was last
 * seen of it, and what was denied. Hot code: nothing here allocates but grants and reports.
 */
import { BUCKET, type LimitNumbers } from '../../algorithms/limit-numbers.js'
import { span, spanned } from '../../algorithms/token-time.js'
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { Answer } from '../answer.js'
import type { LeaseReply, LeaseReport } from '../leasing.js'
import { newTransaction, type Transaction } from '../transaction.js'
import { DenialMemory } from './denial-memory.js'
import { Holding, type SentAt } from './holding.js'
import type { Terms } from './leased-rows.js'
import { LocalRate } from './local-rate.js'

/** How long nothing is asked for ahead, in milliseconds, where less was granted than was asked for. */
const PAUSE_MS = 20
/** How much time's worth of the rate is asked for: the first near the limit, the other while half is left. */
const AHEAD_MS = 50
const AHEAD_WITH_ROOM_MS = 100
/** Where 50 ms of the rate are less than this, no lease is asked for. */
const LEAST_WANTED = 4
/** Not asked for this long, what is held is given back, in milliseconds: near the limit, and while half is left. */
const IDLE_MS = 20
const IDLE_WITH_ROOM_MS = 40
/** How long a denial is remembered, in milliseconds, while leases are out that may come back, and else. */
const DENIED_MS = 20
const DENIED_ALONE_MS = 1000

/** A decision that waits for the answer to a lease. */
export interface Waiting {
  readonly cost: number
  /** How far this instance's wall clock is ahead of the caller's, in microseconds. */
  readonly clockDifferenceUs: number
  /** Its deadline has passed, so it was decided without the lease. */
  isOver: boolean
  decideAgain(): void
}

export class LeasedRow {
  readonly rule: CompiledRule
  readonly value: string
  readonly #terms: Terms
  /** Of this row alone: what is remembered answers it. */
  readonly #alone: Transaction
  /** One for each period that has not ended, and each shard; the one that was granted first is spent first. */
  #held: Holding[] = []
  readonly #rate: LocalRate
  /** Below this more is asked for. */
  #low = 0
  /** Before this time nothing is asked for ahead. */
  #notAheadBefore = Number.NEGATIVE_INFINITY
  /** What the store last said of the row; null before that. */
  #seen: Answer | null = null
  /** Tokens of the row that all instances together had leased then. */
  #out = Number.POSITIVE_INFINITY
  readonly denial = new DenialMemory()
  /** The store is being asked for a lease. */
  isCalling = false
  /** Decisions that wait for the answer to that. */
  waiting: Waiting[] = []
  /** It was dropped: a lease that is granted later is given back at once. */
  isLeft = false

  constructor(rule: CompiledRule, value: string, terms: Terms, steady: number) {
    this.rule = rule
    this.value = value
    this.#terms = terms
    this.#alone = newTransaction([rule], [value], 1, 0)
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

  /** A lease has ended: the next report returns it. */
  hasExpired(steady: number, wall: number): boolean {
    return this.#held.some((holding) => holding.isOver(steady, wall))
  }

  /** It is time to ask for more, ahead. */
  isLow(steady: number): boolean {
    return this.unspent < this.#low && !this.isCalling && !this.isPaused(steady)
  }

  /** Less was granted than was asked for, a moment ago. */
  isPaused(steady: number): boolean {
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
    return this.rule.limits.every(({ numbers }, j) => 2 * seen.difference(j) >= numbers.burst)
  }

  /** Computes the rate; false once the row is asked for too rarely to be kept. */
  tick(steady: number): boolean {
    this.#rate.tick(steady)
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

  /** What to report: spent tokens, unspent tokens of leases that have ended, and `back` more to be given back. */
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

  /** The store certainly did not get these reports: takes them back. Returns how many tokens are held again. */
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
  granted(reply: LeaseReply, wanted: number, sentAt: SentAt, steady: number): void {
    this.see(reply)
    if (reply.granted < wanted) this.#notAheadBefore = steady + PAUSE_MS
    if (reply.granted === 0) return
    if (!this.#held.some((holding) => holding.add(reply, sentAt)))
      this.#held.push(new Holding(reply, sentAt))
  }

  see({ answer, out }: LeaseReply): void {
    this.#seen = answer
    this.#out = out
  }

  /** Nothing is asked for ahead for a while. */
  pause(steady: number): void {
    this.#notAheadBefore = steady + PAUSE_MS
  }

  /** Gives up what is held: so many. */
  leave(): number {
    const { unspent } = this
    this.isLeft = true
    this.#held = []
    return unspent
  }

  /** The store has decided about the row, asked at that time: what was denied is remembered for a while. */
  decided(cost: number, answer: Answer, first: number, askedAt: SentAt, mostMs: number): void {
    if (answer.isDegraded) return
    const seen = answer.ruleAlone(this.#alone, first)
    this.#seen = seen
    let goAt = 0
    for (let limit = 0; limit < seen.size; limit++) {
      if (seen.isNotNow(limit)) goAt = Math.max(goAt, seen.goAt(limit))
      else if (!seen.isYes(limit)) return
    }
    if (goAt === 0) return this.denial.noteAllowed(cost)
    // Of a rule in shards nobody knows what is out of the others.
    const isAlone = this.#out === 0 && this.rule.family.shards === 1
    const most = Math.min(mostMs, isAlone ? DENIED_ALONE_MS : DENIED_MS)
    this.denial.note(cost, seen, askedAt, Math.min(most, (goAt - seen.decidedAt) / 1000))
  }

  /**
   * Writes a take from this holding into an answer, from this limit on. Its mark is as of a take of its own: the
   * grant's mark leaves out what is leased, so it is moved by what was spent of the lease.
   */
  writeTaken({ lease, answer: grant, spent }: Holding, answer: Answer, first: number): void {
    const { limits, family } = this.rule
    const { unspent } = this
    const seen = this.#seen!
    for (let j = 0; j < limits.length; j++) {
      const { numbers } = limits[j]!
      const limit = first + j
      const left = leftWith(seen.difference(j), unspent, numbers.burst)
      answer.setTaken(limit, left, grant, j)
      // A shard's mark says which it is of: it stays as it was given.
      if (numbers.kind === BUCKET && lease.rule === this.rule)
        moveMark(answer, limit, numbers, spent)
      if (family.shards > 1) answer.setSurplus(limit, seen.surplus(j))
    }
  }
}

/** What a row has left, together with what is held of it; negative, a debt, only where nothing is held. */
export function leftWith(left: number, held: number, burst: number): number {
  return held === 0 ? left : Math.min(Math.max(0, left) + held, burst)
}

/** Moves a bucket's mark later by n tokens. */
function moveMark(answer: Answer, limit: number, numbers: LimitNumbers, n: number): void {
  span(n, numbers)
  let mark = answer.mark(limit) + spanned[0]!
  let rest = answer.markRest(limit) + spanned[1]!
  if (rest >= numbers.amount) {
    mark += 1
    rest -= numbers.amount
  }
  answer.setMark(limit, mark, rest)
}
