/** Everything but deciding, on its way to Redis: one call for each slot. */
import { GIVEN_BACK, MARK, MARK_REST } from '../../algorithms/verdict.js'
import {
  DECIDED_AT,
  type HoldPlace,
  type LimitChange,
  type Return,
  StoreFailure,
  undoneBy,
} from '../store.js'
import {
  BEAT,
  CLAIM,
  CONFIRM,
  CREATE,
  changeArguments,
  type Item,
  type Operation,
  RAISE,
  UNCLAIM,
} from './change-arguments.js'
import type { Places } from './places.js'
import type { Reply } from './redis-client.js'
import type { RuleLayout } from './rule-layout.js'
import type { Safeguard } from './safeguard.js'
import { Script, type ScriptCalls } from './script-calls.js'
import { CHANGE } from './scripts.js'
import type { StoreClock } from './store-clock.js'

const MOST_IN_A_CALL = 64

const script = new Script(CHANGE)

/** Part of a decision that was let through, a probe perhaps. */
const ALONG_WITH_DECISIONS = new Set([RAISE, CREATE, CLAIM, CONFIRM, UNCLAIM])
/** What is sent however the store is doing, and says nothing of a single request. */
const IN_ANY_CASE = new Set([...ALONG_WITH_DECISIONS, BEAT])

export class ChangeLine {
  readonly #calls: ScriptCalls
  readonly #places: Places
  readonly #clock: StoreClock
  readonly #safeguard: Safeguard
  /** Slots of a cluster whose node has run the script. */
  readonly #knowing = new Set<number>()

  constructor(calls: ScriptCalls, places: Places, clock: StoreClock, safeguard: Safeguard) {
    this.#calls = calls
    this.#places = places
    this.#clock = clock
    this.#safeguard = safeguard
  }

  /** By how much each limit was changed. Changes of one row go together. `now`: this instance's time. */
  async changeLimits<C extends LimitChange>(
    code: number,
    changes: readonly C[],
    now: number,
    item: (change: C) => Item = plainItem,
  ): Promise<number[]> {
    const rows = new Map<string, number[]>()
    for (const [i, { rule, value }] of changes.entries()) {
      const key = `${rule.name} ${this.#places.rowKey(rule.family, value)}`
      rows.set(key, [...(rows.get(key) ?? []), i])
    }
    const places = [...rows.values()]
    const operations = places.map((own) => {
      const { rule, value } = changes[own[0]!]!
      const items = own.map((i) => item(changes[i]!))
      return { ...this.#rowOf(code, rule, value), items }
    })
    const answers = await this.run(operations, now)
    const amounts = changes.map(() => 0)
    for (const [n, own] of places.entries())
      for (const [m, i] of own.entries()) amounts[i] = answers[n]![m] as number
    return amounts
  }

  /** What was answered for each row that holds the id. */
  async changeHolds(code: number, { id, rows }: HoldPlace, now: number): Promise<number[]> {
    const operations = rows.map(({ rule, value }) => ({
      ...this.#rowOf(code, rule, value),
      texts: [id],
    }))
    return (await this.run(operations, now)).map(([answer]) => answer as number)
  }

  /** A row and what it keeps beside, each by a call of its own. */
  create(key: string, layout: RuleLayout, now: number): Promise<unknown> {
    const keys = [key, ...layout.besides.map((beside) => `${key}:${beside}`)]
    const letters = ['', ...layout.besides.map((beside) => beside[0]!)]
    return Promise.all(
      keys.map((each, i) => {
        const texts = [letters[i]!, layout.blank]
        const operation = { code: CREATE, slot: 0, key: each, layout: null, texts, items: [] }
        return this.#send([operation], now)
      }),
    )
  }

  #rowOf(code: number, rule: LimitChange['rule'], value: string): Operation {
    return {
      code,
      slot: this.#places.slotOfRow(rule.family, value),
      key: this.#places.rowKey(rule.family, value),
      layout: this.#places.layoutOf(rule),
      texts: [],
      items: [],
    }
  }

  /**
   * Each operation's answers: one for each item, one where it has none. Rejects with a StoreFailure, which
   * says that nothing was done only where that is so of every call.
   */
  async run(operations: readonly Operation[], now: number): Promise<(number | Buffer)[][]> {
    const answers: (number | Buffer)[][] = operations.map(() => [])
    const slots = new Set(operations.map(({ slot }) => slot))
    let isAnyDone = false
    const ends = await Promise.allSettled(
      [...slots].map(async (slot) => {
        const places = [...operations.keys()].filter((i) => operations[i]!.slot === slot)
        for (let from = 0; from < places.length; from += MOST_IN_A_CALL) {
          const chunk = places.slice(from, from + MOST_IN_A_CALL)
          const reply = await this.#send(
            chunk.map((i) => operations[i]!),
            now,
          )
          isAnyDone = true
          let at = 1
          for (const i of chunk) {
            const end = at + Math.max(1, operations[i]!.items.length)
            answers[i] = reply.slice(at, end)
            at = end
          }
        }
      }),
    )
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    if (failures.length === 0) return answers
    const worst = failures.find((failure) => undoneBy(failure) === 'unknown') ?? failures[0]
    if (!isAnyDone || undoneBy(worst) === 'unknown') throw worst
    throw new StoreFailure((worst as StoreFailure).reason, true, worst)
  }

  async #send(operations: readonly Operation[], now: number): Promise<Reply> {
    const { code, slot } = operations[0]!
    const isUsual = this.#safeguard.state === 'closed'
    if (!isUsual && !IN_ANY_CASE.has(code) && !this.#safeguard.admits())
      throw new StoreFailure('breaker_open', false)
    const sentAt = this.#clock.asking(now)
    const { keys, args } = changeArguments(operations, this.#clock.told, this.#clock.packed)
    const isTold = code !== RAISE && code !== BEAT
    // What is given back must not be overtaken by what is asked next.
    const isInFull = this.#places.isCluster && !this.#knowing.has(slot)
    // A node of a cluster that hangs says nothing of the others.
    const isWatched = code === BEAT && !this.#places.isCluster
    const sent = (beat: Promise<unknown>) => this.#safeguard.beatSent(beat)
    const call = { script, keys, args, isTold, isInFull, ...(isWatched ? { sent } : {}) }
    const reply = await new Promise<Reply>((resolve, reject) =>
      this.#calls.run(call, resolve, reject),
    )
    if (code === BEAT) this.#safeguard.sawAnswer()
    this.#knowing.add(slot)
    this.#clock.answered(now, sentAt, reply[0] as number)
    return reply
  }
}

function plainItem({ rule, limit, amount }: LimitChange): Item {
  return [rule.limits.indexOf(limit) + 1, amount, 0, 0, 0, 0, 0]
}

/** With what the receipt says. */
export function refundItem({ rule, limit, amount, takenUnder, verdicts, at }: Return): Item {
  const [mark, rest] = [verdicts[at + MARK]!, verdicts[at + MARK_REST]!]
  const place = rule.limits.indexOf(limit) + 1
  return [place, amount, mark, rest, takenUnder, verdicts[at + GIVEN_BACK]!, verdicts[DECIDED_AT]!]
}
