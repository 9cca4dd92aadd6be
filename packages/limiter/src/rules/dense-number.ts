/**
 * Small integers for rules and families, so that what is kept of each of them is an array, not a map. A number
 * is drawn when it is first asked for: rules that are never asked about have none and cost nothing.
 *
 * A rule and the rule that replaces it hold the same `DenseNumber`, so the number survives a change of rules.
 * When nothing holds the `DenseNumber` any more, the garbage collector gives the number back, and another rule
 * may get it.
 */

class NumberPool {
  readonly #free: number[] = []
  #next = 0
  readonly #unheld = new FinalizationRegistry<number>((value) => this.#free.push(value))

  /** Dense: there are as many numbers as there were holders at the same time. */
  draw(): DenseNumber {
    const number = new DenseNumber(this.#free.pop() ?? this.#next++)
    this.#unheld.register(number, number.value)
    return number
  }
}

export class DenseNumber {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export const ruleNumbers = new NumberPool()
export const familyNumbers = new NumberPool()
