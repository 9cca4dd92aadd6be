/** Limiters with the same rules and clock, one over memory and one or more over Redis, asked the same. */
import type { Cluster, Redis } from 'ioredis'
import { expect } from 'vitest'
import {
  createLimiter,
  type Decision,
  type Hold,
  type HoldTicket,
  type Limiter,
  type Request,
  type Reservation,
  SluiceError,
} from '../../src/index.js'
import { redisStore } from '../../src/redis.js'
import { most } from '../properties/fraction.js'
import { steppedBack } from '../properties/histories.js'
import { LAST_EXACT } from '../properties/world.js'
import { ChangingRules } from './changing-rules.js'
import type { Ask, History, Step } from './random-history.js'

type Both<T> = readonly [memory: T, redis: T]
type Of<D extends Step['does']> = Extract<Step, { readonly does: D }>
type Telling = { toJSON(): Record<string, unknown> }
type ByRequest = Request & { readonly holdId: string }

let histories = 0

export class Twins {
  readonly #alone: Limiter
  /** Over one Redis; they take turns. */
  readonly #instances: readonly Limiter[]
  #turn = 0
  readonly #rules: ChangingRules
  readonly #asked: Ask[] = []
  readonly #decisions: Both<Decision>[] = []
  readonly #reservations: Both<Reservation>[] = []
  #tickets: { readonly both: Both<HoldTicket>; readonly limits: string[] }[] = []
  #now: bigint
  #latest: bigint
  #retryAt: bigint | null = null
  /** Rows are in several slots: of a denial only the limits that deny know when all will be back. */
  readonly #inSlots: boolean

  private constructor({ rules, start }: History, client: Redis | Cluster, instances: number) {
    this.#inSlots = client.isCluster
    this.#now = start
    this.#latest = start
    this.#rules = new ChangingRules(rules)
    const clock = () => Number(this.#now) / 1000
    const prefix = `history-${histories++}`
    const { document } = this.#rules
    const options = { ...document, rules: document.rules ?? {}, clock }
    this.#alone = createLimiter(options)
    this.#instances = Array.from({ length: instances }, () => {
      const store = redisStore(client, { testClock: clock, prefix, deadlineMs: 60_000 })
      return createLimiter({ ...options, store })
    })
  }

  static async live(
    history: History,
    client: Redis | Cluster,
    { instances = 1 } = {},
  ): Promise<void> {
    const twins = new Twins(history, client, instances)
    try {
      for (const step of history.steps) {
        await twins.do(step)
        twins.#turn++
      }
    } finally {
      for (const limiter of twins.#instances) await limiter.close()
    }
  }

  async do(step: Step): Promise<void> {
    switch (step.does) {
      case 'check':
        await this.#check(step.ask)
        break
      case 'check many':
        await Promise.all(step.asks.map((ask) => this.#check(ask)))
        break
      case 'ask again': {
        const ask = pick(this.#asked, step.which)
        if (ask !== undefined) await this.#check(ask)
        break
      }
      case 'wait':
        if (this.#now + step.us < LAST_EXACT) this.#now += step.us
        break
      case 'await retry':
        if (this.#retryAt !== null && this.#retryAt < LAST_EXACT)
          this.#now = most(this.#now, this.#retryAt + step.off)
        break
      case 'step back':
        this.#now = steppedBack(this.#now, this.#latest, step.us)
        break
      case 'change rules':
        this.#rules.make(step.rule, step.what, this.#now)
        for (const limiter of [this.#alone, ...this.#instances])
          limiter.setRules(this.#rules.document)
        // Holds of a limit that is gone may be forgotten.
        this.#tickets = this.#tickets.filter(({ limits }) => this.#rules.hold(limits))
        break
      case 'renew':
      case 'release':
      case 'renew by id':
      case 'release by id':
        await this.#hold(step)
        break
      case 'refund':
      case 'grant':
      case 'reset':
      case 'reserve':
      case 'settle':
        await this.#giveOrTake(step)
    }
    this.#latest = most(this.#latest, this.#now)
  }

  async #giveOrTake(step: Of<'refund' | 'grant' | 'reset' | 'reserve' | 'settle'>): Promise<void> {
    switch (step.does) {
      case 'refund': {
        const decisions = pick(this.#decisions, step.which)
        if (decisions !== undefined)
          await this.#same((limiter, i) => limiter.refund(decisions[i], step.amount ?? undefined))
        break
      }
      case 'grant':
        await this.#same((limiter) => limiter.refund(requestOf(step.ask)))
        break
      case 'reset': {
        const rule = step.rule === null ? undefined : pick(this.#rules.names, step.rule)
        const options = rule === undefined ? {} : { rule }
        await this.#same((limiter) => limiter.reset(step.subject, options))
        break
      }
      case 'reserve': {
        const both = await this.#same((limiter) => limiter.reserve(requestOf(step.ask)))
        if (both !== null) this.#reservations.push(both)
        break
      }
      case 'settle': {
        const both = pick(this.#reservations, step.which)
        if (both !== undefined) await this.#same((_, i) => both[i].settle(step.used))
      }
    }
  }

  async #hold(step: Of<'renew' | 'release' | 'renew by id' | 'release by id'>): Promise<void> {
    const renews = step.does === 'renew' || step.does === 'renew by id'
    const both = 'ask' in step ? requestOf(step.ask) : pick(this.#tickets, step.which)?.both
    if (both === undefined) return
    await this.#same<number | null | boolean>((limiter, i) => {
      const hold = Array.isArray(both) ? (both[i] as HoldTicket) : (both as ByRequest)
      return renews ? limiter.renew(hold) : limiter.release(hold)
    })
  }

  async #check(ask: Ask): Promise<void> {
    this.#asked.push(ask)
    const both = await this.#same((limiter) => limiter.check(requestOf(ask)))
    if (both === null) return
    const [decision, other] = both
    if (decision.receipt !== null && other.receipt !== null) this.#decisions.push(both)
    if (decision.hold !== null && other.hold !== null) {
      const held = decision.limits.filter(({ algorithm }) => algorithm === 'concurrency')
      const limits = held.map(({ rule, windowSeconds }) => `${familyOf(rule)} ${windowSeconds}`)
      this.#tickets.push({ both: [decision.hold, other.hold], limits })
    }
    this.#retryAt = null
    if (!decision.allowed && decision.retryAfterMs !== null)
      this.#retryAt = this.#now + BigInt(decision.retryAfterMs) * 1000n
  }

  /** Both answers, which are alike; null where both refused, alike. */
  async #same<T>(ask: (limiter: Limiter, i: 0 | 1) => Promise<T>): Promise<Both<T> | null> {
    const [one, other] = await Promise.allSettled([
      ask(this.#alone, 0),
      ask(pick(this.#instances, this.#turn)!, 1),
    ])
    expect(this.#told(other)).toEqual(this.#told(one))
    if (one.status === 'rejected' || other.status === 'rejected') return null
    return [one.value, other.value]
  }

  /** Everything that an answer says, but for the state, of which each instance remembers its own. */
  #told<T>(answer: PromiseSettledResult<T>): unknown {
    if (answer.status === 'rejected') {
      const { reason } = answer
      return reason instanceof SluiceError ? { code: reason.code, message: reason.message } : reason
    }
    const { value } = answer
    if (!isDecision(value)) return value
    const { state: _, ...said } = (value as unknown as Telling).toJSON()
    const limits = value.limits.map((limit) =>
      this.#inSlots && !value.allowed && limit.allowed ? { ...limit, resetAtMs: null } : limit,
    )
    // What another instance took is that one's to give back.
    const isForeign = this.#instances.length > 1 && value.replayed
    const left = isForeign ? null : (value.receipt?.left ?? null)
    return { ...said, limits, hold: value.hold?.toJSON() ?? null, left }
  }
}

function pick<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)]
}

function familyOf(rule: string): string {
  return rule.split('@')[0]!
}

function requestOf({ subject, costs, ...rest }: Ask): ByRequest {
  return { subject, costs, ...rest }
}

function isDecision(value: unknown): value is Decision | Hold {
  return typeof value === 'object' && value !== null && 'allowed' in value
}
