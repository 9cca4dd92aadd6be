/**
 * A store that asks another one the same, from a moment on, and sees that it answers the same. How much a
 * row was given back, ever, is each store's own, since only its growth says something: a store forgets
 * it with the row.
 */
import { expect } from 'vitest'
import { GIVEN_BACK, VERDICT_WIDTH } from '../../src/algorithms/verdict.js'
import type { MemoryStore, RuleSet } from '../../src/index.js'
import { drain, type Slices } from '../../src/slices.js'
import { Answer, type AnsweredLimit, type Take } from '../../src/stores/answer.js'
import { FIRST_VERDICT } from '../../src/stores/answer-numbers.js'
import type { Changed, Operation } from '../../src/stores/operation.js'
import type { Store } from '../../src/stores/store.js'
import type { Moment, Transaction } from '../../src/stores/transaction.js'

export class BothStores implements Store {
  readonly isSync = true
  #twin: MemoryStore | null = null
  #rules: RuleSet | null = null
  readonly #store: MemoryStore
  /** The takes from the twin, by those from the store. */
  readonly #takes = new WeakMap<Take, Take>()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /** It is told the rules in force, as a store is that a limiter begins with. */
  set twin(twin: MemoryStore) {
    this.#twin = twin
    if (this.#rules !== null) drain(twin.use(this.#rules))
  }

  decide(transaction: Transaction): Answer {
    const answer = this.#store.decide(transaction)
    if (this.#twin === null) return answer
    const other = this.#twin.decide(transaction)
    expect(withoutGivenBack(other)).toEqual(withoutGivenBack(answer))
    expect(other.isReplay).toBe(answer.isReplay)
    return new TwinAnswer(answer, other, this.#takes)
  }

  change(operations: readonly Operation[], moment: Moment): Changed[] {
    const changed = this.#store.change(operations, moment)
    if (this.#twin !== null) {
      const others = operations.map((operation) => {
        if (operation.kind !== 'refund') return operation
        return { ...operation, take: this.#takes.get(operation.take) ?? operation.take }
      })
      expect(this.#twin.change(others, moment)).toEqual(changed)
    }
    return changed
  }

  *use(rules: RuleSet): Slices<void> {
    this.#rules = rules
    yield* this.#store.use(rules)
    if (this.#twin !== null) yield* this.#twin.use(rules)
  }

  close() {}
}

/** An answer that remembers for each take what the twin's would be. */
class TwinAnswer extends Answer {
  readonly #twin: Answer
  readonly #takes: WeakMap<Take, Take>
  readonly #isReplay: boolean

  constructor(
    { transaction, numbers, isReplay }: Answer,
    twin: Answer,
    takes: WeakMap<Take, Take>,
  ) {
    super(transaction, numbers)
    this.#isReplay = isReplay
    this.#twin = twin
    this.#takes = takes
  }

  override get isReplay(): boolean {
    return this.#isReplay
  }

  override takeOf(limit: AnsweredLimit): Take {
    const take = super.takeOf(limit)
    this.#takes.set(take, this.#twin.takeOf(limit))
    return take
  }
}

function withoutGivenBack({ numbers }: Answer): number[] {
  return numbers.map((number, i) =>
    i >= FIRST_VERDICT && (i - FIRST_VERDICT) % VERDICT_WIDTH === GIVEN_BACK ? 0 : number,
  )
}
