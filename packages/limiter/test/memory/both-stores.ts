/**
 * A store that asks another one the same, from a moment on, and sees that it answers the same. How much a
 * row was given back, ever, is each store's own, since only its growth says something: a store forgets
 * it with the row.
 */
import { expect } from 'vitest'
import { GIVEN_BACK, VERDICT_WIDTH } from '../../src/algorithms/verdict.js'
import type { MemoryStore, RuleSet } from '../../src/index.js'
import { drain, type Slices } from '../../src/slices.js'
import {
  FIRST_VERDICT,
  type HoldPlace,
  type LimitChange,
  type Return,
  type Store,
  type Transaction,
  type Verdicts,
} from '../../src/stores/store.js'

export class BothStores implements Store {
  readonly isSync = true
  #twin: MemoryStore | null = null
  #rules: RuleSet | null = null
  readonly #store: MemoryStore
  /** What the twin answered, by what was answered here. */
  readonly #twins = new WeakMap<Verdicts, Verdicts>()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /** It is told the rules in force, as a store is that a limiter begins with. */
  set twin(twin: MemoryStore) {
    this.#twin = twin
    if (this.#rules !== null) drain(twin.use(this.#rules))
  }

  #ask<T>(question: (store: MemoryStore) => T): T {
    const answer = question(this.#store)
    if (this.#twin !== null) expect(question(this.#twin)).toEqual(answer)
    return answer
  }

  consume(transaction: Transaction) {
    const verdicts = this.#store.consume(transaction)
    if (this.#twin !== null) {
      const others = this.#twin.consume(transaction)
      expect(withoutGivenBack(others)).toEqual(withoutGivenBack(verdicts))
      this.#twins.set(verdicts, others)
    }
    return verdicts
  }

  refund(returns: readonly Return[], now: number) {
    return this.#ask((store) =>
      store.refund(
        store === this.#store
          ? returns
          : returns.map((one) => ({
              ...one,
              verdicts: this.#twins.get(one.verdicts) ?? one.verdicts,
            })),
        now,
      ),
    )
  }

  grant(changes: readonly LimitChange[], now: number) {
    return this.#ask((store) => store.grant(changes, now))
  }

  charge(changes: readonly LimitChange[], now: number) {
    return this.#ask((store) => store.charge(changes, now))
  }

  reset(rows: Parameters<Store['reset']>[0], now: number) {
    return this.#ask((store) => store.reset(rows, now))
  }

  renew(hold: HoldPlace, now: number) {
    return this.#ask((store) => store.renew(hold, now))
  }

  release(hold: HoldPlace, now: number) {
    return this.#ask((store) => store.release(hold, now))
  }

  *use(rules: RuleSet): Slices<void> {
    this.#rules = rules
    yield* this.#store.use(rules)
    if (this.#twin !== null) yield* this.#twin.use(rules)
  }

  close() {}
}

function withoutGivenBack(verdicts: Verdicts): number[] {
  return verdicts.map((number, i) =>
    i >= FIRST_VERDICT && (i - FIRST_VERDICT) % VERDICT_WIDTH === GIVEN_BACK ? 0 : number,
  )
}
