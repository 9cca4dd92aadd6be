/**
 * An instance of Sluice: a limiter over leases over shards, whose store is the simulated server. It can be paused, as by
 * SIGSTOP or a long collection of garbage: nothing happens in it until it goes on, and then everything that
 * was due at once. Its clocks run apart from the others'.
 */
import { SHUT } from '../../limiter/src/algorithms/status.js'
import { createLimiter, type RuleSet } from '../../limiter/src/index.js'
import type { Limiter } from '../../limiter/src/limiter.js'
import { Answer } from '../../limiter/src/stores/answer.js'
import type { LeaseTime } from '../../limiter/src/stores/leased/lease-time.js'
import { LeasedStore } from '../../limiter/src/stores/leased/leased-store.js'
import type { LeaseAsk, LeaseReply, LeasingStore } from '../../limiter/src/stores/leasing.js'
import type { Changed, Operation } from '../../limiter/src/stores/operation.js'
import { ShardedStore } from '../../limiter/src/stores/sharded/sharded-store.js'
import { StoreFailure } from '../../limiter/src/stores/store.js'
import type { Transaction } from '../../limiter/src/stores/transaction.js'
import type { Ledger } from './ledger.js'
import type { Random } from './random.js'
import type { Server } from './server.js'
import { BEGINNING, type World } from './world.js'

const DEADLINE_MS = 100

export interface Clocks {
  /** Microseconds that the wall clock is ahead, and how much faster than time both clocks run. */
  readonly ahead: number
  readonly drift: number
}

export interface InstanceParts {
  readonly world: World
  readonly server: Server
  readonly ledger: Ledger
  readonly rules: RuleSet
  readonly clocks: Clocks
  readonly random: Random
}

export class Instance {
  readonly limiter: Limiter
  readonly store: LeasedStore
  readonly #parts: InstanceParts
  readonly #beats = new Set<() => void>()
  #pausedUntil = 0
  /** The monotonic clock stood still for so long: the machine was suspended. */
  #stood = 0
  #isDead = false

  constructor(parts: InstanceParts) {
    this.#parts = parts
    const time = this.#time()
    this.store = new LeasedStore({
      inner: new ShardedStore(new Wire(this, parts, time), {
        timers: {
          now: () => time.steady(),
          deadlineMs: DEADLINE_MS,
          deadline: (at, missed) => time.deadline(at, missed),
        },
        random: () => parts.random.next(),
      }),
      time,
      leasedByDefault: true,
      mostDeniedMs: Number.POSITIVE_INFINITY,
    })
    this.limiter = createLimiter({
      rules: parts.rules,
      store: Object.assign(this.store, { deadline: () => time.steady() + DEADLINE_MS }),
      clock: () => time.wall() / 1000,
    })
  }

  #time(): LeaseTime {
    const { world, clocks } = this.#parts
    const elapsed = () => (world.now - BEGINNING) * (1 + clocks.drift)
    const steady = () => (elapsed() - this.#stood) / 1000
    return {
      steady,
      wall: () => Math.round(BEGINNING + elapsed() + clocks.ahead),
      storeTime: (wall) => wall,
      deadlineMs: DEADLINE_MS,
      deadline: (at, missed) => {
        let isMet = false
        const wait = () => {
          const leftUs = (1000 * (at - steady())) / (1 + clocks.drift)
          this.later(Math.max(0, Math.ceil(leftUs)), look)
        }
        const look = () => {
          if (isMet) return
          // The machine may have been suspended meanwhile.
          if (steady() < at) return wait()
          world.settled()
          missed()
        }
        wait()
        return {
          meet: () => {
            isMet = true
          },
        }
      },
      every: (ms, step) => {
        const beat = () => {
          if (!this.#beats.has(beat)) return
          step()
          this.later(ms * 1000, beat)
        }
        this.#beats.add(beat)
        this.later(ms * 1000, beat)
        return () => this.#beats.delete(beat)
      },
    }
  }

  /** Runs in this instance, once it is not paused; never, if it is dead. */
  later(us: number, run: () => void): void {
    this.#parts.world.after(us, () => this.now(run))
  }

  now(run: () => void): void {
    const { world } = this.#parts
    if (this.#isDead) return
    if (world.now >= this.#pausedUntil) run()
    else world.at(this.#pausedUntil, () => this.now(run))
  }

  /** `isSuspended`: the monotonic clock stands still, the wall clock does not. */
  pause(us: number, isSuspended: boolean): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, Math.ceil(this.#parts.world.now + us))
    if (isSuspended) this.#stood += us
  }

  die(): void {
    this.#isDead = true
  }

  check(subject: Readonly<Record<string, string>>, cost: number): void {
    const { ledger } = this.#parts
    this.now(() => {
      const answer = this.limiter.decide({ subject, cost })
      if (answer instanceof Promise)
        void answer.then(({ allowed }) => ledger.decided(cost, allowed))
      else ledger.decided(cost, answer.allowed)
    })
  }
}

/** The store below the leases: the server, through the wire. */
class Wire implements LeasingStore {
  readonly isSync = false
  readonly #instance: Instance
  readonly #parts: InstanceParts
  readonly #time: LeaseTime
  #batch: { run: Parameters<Server['send']>[0][0]['run']; fail: (isSure: boolean) => void }[] = []

  constructor(instance: Instance, parts: InstanceParts, time: LeaseTime) {
    this.#instance = instance
    this.#parts = parts
    this.#time = time
  }

  decide(transaction: Transaction): Promise<Answer> {
    const { world, ledger } = this.#parts
    return new Promise((resolve) => {
      const answered = (answer: Answer) => {
        world.settled()
        resolve(answer)
      }
      this.#push(
        transaction.deadline,
        (counters, time) => {
          const answer = counters.decide(transaction, time)
          ledger.charged(answer)
          return () => answered(answer)
        },
        () => answered(refusalOf(transaction, this.#parts.server.time)),
      )
    })
  }

  lease(
    ask: LeaseAsk,
    answered: (reply: LeaseReply) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const { world } = this.#parts
    this.#push(
      ask.deadline,
      (counters, time) => {
        const reply = counters.lease(ask, time)
        return () => {
          world.settled()
          answered(reply)
        }
      },
      (isSure) => failed(new StoreFailure('store_timeout', isSure ? 'not_done' : 'unknown')),
    )
  }

  /** Goes with the others of this turn; heard of once, at the latest when the deadline has passed. */
  #push(
    deadline: number,
    run: (counters: Server['counters'], time: number) => () => void,
    failed: (isSure: boolean) => void,
  ): void {
    let isOver = false
    const once = (then: () => void) => () => {
      if (isOver) return
      isOver = true
      then()
    }
    const fail = (isSure: boolean) => once(() => failed(isSure))()
    this.#batch.push({ run: (counters, time) => once(run(counters, time)), fail })
    this.#time.deadline(deadline, () => fail(false))
    if (this.#batch.length === 1) this.#instance.later(0, () => this.#flush())
  }

  #flush(): void {
    const batch = this.#batch
    this.#batch = []
    this.#parts.server.send(
      batch,
      (answers) => this.#instance.now(answers),
      () => {
        for (const { fail } of batch) fail(true)
      },
    )
  }

  change(operations: readonly Operation[]): Changed[] {
    return operations.map(() => 0)
  }

  use(): void {}

  close(): void {}
}

/** What an instance answers that could not ask: no. */
function refusalOf(transaction: Transaction, now: number): Answer {
  const answer = Answer.open(transaction, now, false)
  answer.degradedReason = 'store_timeout'
  for (const { index } of answer.each()) answer.setStatus(index, SHUT)
  return answer
}
