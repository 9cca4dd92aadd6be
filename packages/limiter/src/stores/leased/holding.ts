/** Tokens of one or more grants that end at the same time, in the hands of this instance. */
import { BUCKET } from '../../algorithms/limit-numbers.js'
import type { Answer } from '../answer.js'
import type { Lease, LeaseReply, LeaseReport } from '../leasing.js'

/** What is believed of a lease's length, for clocks that run apart; and what reading one may take, in milliseconds. */
const BELIEVED = 0.995
const SLACK_MS = 2

/** By this instance's clocks, read before the grant was asked for. */
export interface SentAt {
  readonly steady: number
  readonly wall: number
}

export class Holding {
  readonly lease: Lease
  /** The newest grant's answer: for giving back, not for the remaining count. */
  answer: Answer
  unspent: number
  /** Spent and not reported yet. */
  spent = 0
  /** When it has ended, by each clock. */
  #steadyEnd: number
  #wallEnd: number

  constructor({ granted, lease, answer }: LeaseReply, sentAt: SentAt) {
    this.lease = lease
    this.answer = answer
    this.unspent = granted
    this.#steadyEnd = steadyEnd(lease, sentAt)
    this.#wallEnd = wallEnd(lease, sentAt)
  }

  isOver(steady: number, wall: number): boolean {
    return steady >= this.#steadyEnd || wall >= this.#wallEnd
  }

  /** Adds a grant that is known to the store by the same numbers; whether that is so. */
  add({ granted, lease, answer }: LeaseReply, sentAt: SentAt): boolean {
    const mine = this.lease
    if (lease.rule !== mine.rule || lease.endsAt !== mine.endsAt) return false
    if (lease.period !== mine.period || lease.birth !== mine.birth || lease.run !== mine.run)
      return false
    if (!this.#hasMarksOf(answer)) return false
    this.answer = answer
    this.unspent += granted
    this.#steadyEnd = Math.min(this.#steadyEnd, steadyEnd(lease, sentAt))
    this.#wallEnd = Math.min(this.#wallEnd, wallEnd(lease, sentAt))
    return true
  }

  /** What was spent since the last report, and so many to be given back. They are gone from here. */
  report(back: number): LeaseReport | null {
    const { lease, spent } = this
    if (spent === 0 && back === 0) return null
    this.spent = 0
    this.unspent -= back
    return { lease, spent, back }
  }

  /** Windows and logs count both in the same place. A bucket's newer receipt serves the older tokens too. */
  #hasMarksOf(answer: Answer): boolean {
    return this.lease.rule.limits.every(
      ({ numbers }, j) => numbers.kind === BUCKET || answer.mark(j) === this.answer.mark(j),
    )
  }
}

function steadyEnd({ grantedAt, endsAt }: Lease, { steady }: SentAt): number {
  return steady + (BELIEVED * (endsAt - grantedAt)) / 1000 - SLACK_MS
}

function wallEnd({ grantedAt, endsAt }: Lease, { wall }: SentAt): number {
  return wall + BELIEVED * (endsAt - grantedAt) - 1000 * SLACK_MS
}
