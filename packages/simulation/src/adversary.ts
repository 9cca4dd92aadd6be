/**
 * Holders that do the worst that the protocol lets them: they spend at the last moment, report late or never,
 * give back everything, undo what they have done, and stop for as long as they like. Against the counters
 * alone, while the server's clock jumps ahead and steps back now and then. An ideal meter judges what was really
 * spent. It counts every way ahead of the clock as time, because what a jump ahead refills is refilled, and no way
 * back.
 */
import { GRACE_US } from '../../limiter/src/algorithms/clock-steps.js'
import { LEASE_PERIOD } from '../../limiter/src/algorithms/leases.js'
import { FIXED_WINDOW, SLIDING_COUNTER } from '../../limiter/src/algorithms/limit-numbers.js'
import { type LimitsInput, RuleSet } from '../../limiter/src/index.js'
import type { CompiledRule } from '../../limiter/src/rules/compiled-rule.js'
import { Answer } from '../../limiter/src/stores/answer.js'
import { Holding } from '../../limiter/src/stores/leased/holding.js'
import { LeasedRow } from '../../limiter/src/stores/leased/leased-row.js'
import type { LeaseReply } from '../../limiter/src/stores/leasing.js'
import { newTransaction, type Transaction } from '../../limiter/src/stores/transaction.js'
import type { Counters } from './counters.js'
import { Ledger, type Spend, type Worst } from './ledger.js'
import { Random } from './random.js'
import { BEGINNING, World } from './world.js'

interface Held {
  readonly reply: LeaseReply
  readonly holding: Holding
  /** True time. */
  readonly ends: number
}

/** What may be undone yet. */
interface Receipt {
  readonly spend: Spend
  readonly answer: Answer
}

export interface Malice {
  /** Reports that are heard twice, and grants and reports of a server that has forgotten them. */
  readonly doubled?: boolean
  readonly forgets?: boolean
  /** Holders spend for so long after the end. */
  readonly lateUs?: number
  /** Holders spend leases of a window also after a long step back, when the next one may have begun. */
  readonly outlivesWindows?: boolean
}

const LIMITS: readonly LimitsInput[] = [
  '1000/s burst 16',
  '40/s burst 24',
  '7 per 1s burst 20',
  '30 per 2s fixed',
  '24/s sliding',
  '40 per 10s exact',
  ['40/s burst 24', '30 per 2s fixed'],
  ['100/s burst 20', '60 per 10s exact'],
]

const WINDOWS = new Set([FIXED_WINDOW, SLIDING_COUNTER])
const VALUE = 'x'
const STEPS = 120
/** Mostly by more than the 60 s after which rows are restarted. */
const LONG_STEP_US = 4_000_000_000

/** The time that the meter goes by: all ways ahead of the server's clock, or the windows that have begun. */
class JudgedTime {
  now = BEGINNING
  /** One meter cannot judge windows and others together: then the clock does not step. */
  readonly canStep: boolean
  readonly #windowUs: number | null
  #server = BEGINNING

  constructor({ limits }: CompiledRule) {
    const windows = limits.filter(({ numbers }) => WINDOWS.has(numbers.kind))
    this.canStep = windows.length === 0 || limits.length === 1
    this.#windowUs = this.canStep ? (windows[0]?.numbers.window ?? null) : null
  }

  get isOfWindows(): boolean {
    return this.#windowUs !== null
  }

  moveTo(server: number): void {
    const wayAhead = Math.max(0, server - this.#server)
    const window = this.#windowUs
    if (window === null) this.now += wayAhead
    else if (wayAhead > 0)
      this.now += (Math.floor(server / window) - Math.floor(this.#server / window)) * window
    this.#server = server
  }
}

/** What was admitted too much at most, in a history drawn from the seed. */
export function torment(
  seed: number,
  counters: Counters,
  malice: Malice = {},
  among: readonly LimitsInput[] = LIMITS,
): Worst[] {
  const random = new Random(seed)
  const world = new World()
  // Receipts go wrong where much is undone within the time of a few tokens.
  const isBrisk = random.chance(0.4)
  const limits = random.pick(isBrisk ? among.slice(0, 1) : among)
  const [rule] = RuleSet.compile({ rules: { r: { scope: 'user', limits } } }).all
  const meter = new JudgedTime(rule!)
  const ledger = new Ledger(meter)
  const isLong = JSON.stringify(limits).includes('exact')
  let held: Held[] = []
  let receipts: Receipt[] = []
  const row = new LeasedRow(rule!, VALUE, { aheadMs: null, most: 1 }, 0)
  let ahead = 0
  const time = () => world.now + ahead

  const transaction = (cost: number, dryRun: boolean): Transaction =>
    newTransaction([rule!], [VALUE], cost, time(), { dryRun })
  const decide = (cost: number, dryRun: boolean): Answer =>
    counters.decide(transaction(cost, dryRun), time())
  const left = (): number => {
    const answer = decide(1, true)
    return Math.min(...rule!.limits.map((_, j) => answer.remaining(j)))
  }
  const takeSome = (cost: number): void => {
    if (cost === 0) return
    const answer = decide(cost, false)
    if (answer.allowed) receipts.push({ spend: ledger.spent(rule!, VALUE, cost), answer })
  }
  const spend = ({ reply, holding }: Held, some: number): void => {
    holding.unspent -= some
    holding.spent += some
    const answer = Answer.open(transaction(some, false), time(), true)
    row.writeTaken(holding, answer, 0)
    answer.decidedAt = reply.lease.grantedAt
    receipts.push({ spend: ledger.spent(rule!, VALUE, some), answer })
  }
  /** All that a decision took is given back, by each of its limits as much as it may. */
  const undo = ({ spend: undone, answer }: Receipt): void => {
    for (const one of answer.each()) {
      const { rule, limit, value } = one
      const [amount, take] = [undone.cost, answer.takeOf(one)]
      counters.refund({ kind: 'refund', rule, limit, value, amount, take }, time())
    }
    ledger.undone(rule!, VALUE, undone)
  }
  const ask = (want: number, of: Held | undefined): void => {
    const unspent = of?.holding.unspent ?? 0
    const report = of?.holding.report(random.pick([0, unspent, random.whole(0, unspent)])) ?? null
    const reports = report === null ? [] : [report]
    // Its report may be lost, its answer too.
    if (random.chance(0.15)) return
    const deadline = Number.POSITIVE_INFINITY
    const call = { rule: rule!, value: VALUE, reports, want, now: time(), deadline }
    const reply = counters.lease(call, time())
    if (malice.doubled === true) counters.lease({ ...call, want: 0 }, time())
    if (reply.granted === 0 || random.chance(0.1)) return
    const ends = world.now + reply.lease.endsAt - reply.lease.grantedAt
    row.see(reply)
    held.push({ reply, holding: new Holding(reply, { steady: 0, wall: 0 }), ends })
  }

  for (let step = 0; step < STEPS; step++) {
    const lot = random.next()
    if (lot < (isBrisk ? 0.4 : 0.25))
      takeSome(random.chance(0.3) ? left() : random.pick([1, 2, 4, 5, 8, 16]))
    else if (lot < 0.5) ask(random.pick([2, 5, 100]), undefined)
    else if (lot < 0.7 && held.length > 0) {
      const one = random.pick(held)
      const { unspent } = one.holding
      const some = random.pick([unspent, random.whole(0, unspent)])
      if (some > 0) spend(one, some)
    } else if (lot < (isBrisk ? 0.92 : 0.82) && receipts.length > 0) {
      const receipt = random.pick(receipts)
      receipts = receipts.filter((other) => other !== receipt)
      undo(receipt)
    } else if (held.length > 0) ask(random.pick([0, 0, 5]), random.pick(held))
    if (malice.forgets === true && random.chance(0.02)) counters.run++
    const toBoundary = LEASE_PERIOD - (time() % LEASE_PERIOD)
    const soon = [0, 0, 0, 0, 1, 1000, 20_000, 100_000, toBoundary - 1, toBoundary]
    const steps = isBrisk ? [0, 0, 0, 1000, 2000, 5000] : [...soon, isLong ? 3e6 : 1e6]
    world.now += random.pick(steps)
    meter.moveTo(time())
    if (meter.canStep && random.chance(0.03)) {
      const stepUs = random.whole(0, random.chance(0.3) ? LONG_STEP_US : 200_000)
      ahead -= stepUs
      meter.moveTo(time())
      // Where the clock is now, the next window may begin before a lease of the last one ends: a stated exception.
      const canOutliveWindow = meter.isOfWindows && stepUs > GRACE_US
      if (canOutliveWindow && malice.outlivesWindows !== true) held = []
    } else if (meter.canStep && random.chance(0.01)) {
      ahead += random.whole(0, LONG_STEP_US)
      meter.moveTo(time())
      // What is leased out is spent besides what the jump refills: a stated exception.
      held = []
    }
    held = held.filter(
      ({ ends, holding: { unspent, spent } }) =>
        unspent + spent > 0 && world.now < ends + (malice.lateUs ?? 0),
    )
  }
  return ledger.worst()
}
