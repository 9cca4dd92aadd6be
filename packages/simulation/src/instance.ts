/**
 * An instance of Sluice: a limiter over leases over shards, whose store is the simulated server. It can be paused, as by
 * SIGSTOP or a long collection of garbage: nothing happens in it until it goes on, and then everything that
 * was due at once. Its clocks run apart from the others'.
 */
import { createLimiter, type RuleSet } from '../../limiter/src/index.js'
import type { Limiter } from '../../limiter/src/limiter.js'
import type {
  LeaseAnswer,
  LeaseAsk,
  LeasingStore,
} from '../../limiter/src/stores/leased/lease-port.js'
import type { LeaseTime } from '../../limiter/src/stores/leased/lease-time.js'
import { LeasedStore } from '../../limiter/src/stores/leased/leased-store.js'
import { ShardedStore } from '../../limiter/src/stores/sharded/sharded-store.js'
import { StoreFailure, type Transaction, type Verdicts } from '../../limiter/src/stores/store.js'
import type { Ledger } from './ledger.js'
import type { Random } from './random.js'
import type { Server } from './server.js'
import { BEGINNING, type World } from './world.js'

const DEADLINE_US = 100_000
/** Of real time, which no run takes: the wire's own deadline is the one that counts. */
const SHARDS_DEADLINE_MS = 5000

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
      inner: new ShardedStore(new Wire(this, parts), {
        deadlineMs: SHARDS_DEADLINE_MS,
        random: () => parts.random.next(),
      }),
      time,
      isUsual: true,
      mostDeniedMs: Number.POSITIVE_INFINITY,
      deadlineMs: DEADLINE_US / 1000,
    })
    this.limiter = createLimiter({
      rules: parts.rules,
      store: this.store,
      clock: () => time.wall() / 1000,
    })
  }

  #time(): LeaseTime {
    const { world, clocks } = this.#parts
    const elapsed = () => (world.now - BEGINNING) * (1 + clocks.drift)
    return {
      steady: () => (elapsed() - this.#stood) / 1000,
      wall: () => Math.round(BEGINNING + elapsed() + clocks.ahead),
      storeTime: (wall) => wall,
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
  #batch: { run: Parameters<Server['send']>[0][0]['run']; fail: (isSure: boolean) => void }[] = []

  constructor(instance: Instance, parts: InstanceParts) {
    this.#instance = instance
    this.#parts = parts
  }

  consume(transaction: Transaction): Promise<Verdicts> {
    const { world, ledger } = this.#parts
    return new Promise((resolve) => {
      const answered = (verdicts: Verdicts) => {
        world.settled()
        resolve(verdicts)
      }
      this.#push(
        (counters, time) => {
          const verdicts = counters.consume(transaction, time)
          ledger.charged(transaction, verdicts)
          return () => answered(verdicts)
        },
        () => answered(refusalOf(transaction, this.#parts.server.time)),
      )
    })
  }

  lease(
    ask: LeaseAsk,
    answered: (answer: LeaseAnswer) => void,
    failed: (failure: StoreFailure) => void,
  ): void {
    const { world } = this.#parts
    this.#push(
      (counters, time) => {
        const answer = counters.lease(ask, time)
        return () => {
          world.settled()
          answered(answer)
        }
      },
      (isSure) => failed(new StoreFailure('store_timeout', !isSure)),
    )
  }

  /** Goes with the others of this turn; heard of once, at the latest when the deadline has passed. */
  #push(
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
    this.#instance.later(DEADLINE_US, () => fail(false))
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

  refund(): never[] {
    return []
  }

  grant(): never[] {
    return []
  }

  charge(): never[] {
    return []
  }

  reset(): number {
    return 0
  }

  renew(): number {
    return 0
  }

  release(): boolean {
    return false
  }

  use(): void {}

  close(): void {}
}

/** What an instance answers that could not ask: no. */
function refusalOf(transaction: Transaction, now: number): Verdicts {
  const limits = transaction.rules.reduce((sum, rule) => sum + rule.limits.length, 0)
  return [0, now, 1, ...new Array<number>(limits * 7).fill(0)]
}
