/** The keys and arguments of a call of the script, written by its operations one after the other. */
import type { RuleLayout } from './rule-layout.js'
import { DECIDE } from './script-codes.js'

export interface Arguments {
  readonly keys: string[]
  readonly args: (string | Buffer)[]
}

/** What can be written into a call. */
export interface Writable {
  pushKeys(keys: string[]): void
  write(out: ArgumentWriter): void
  /** Its rule, if it takes one token of it and asks for nothing else; most do. */
  readonly simpleRule: RuleLayout | null
  /** Whether it asks for the same as another, of another subject. */
  asksTheSame(other: Writable): boolean
}

/** `scriptTime`: 0, or the time to decide by. `packed` gives a rule's numbers. */
export function argumentsOf(
  operations: readonly Writable[],
  scriptTime: number,
  packed: (layout: RuleLayout) => Buffer,
): Arguments {
  const keys: string[] = []
  for (const operation of operations) operation.pushKeys(keys)
  const [first] = operations as [Writable]
  const layout = first.simpleRule
  if (scriptTime === 0 && layout !== null && areTheSame(operations))
    return { keys, args: [plainStream(operations.length), packed(layout), layout.names] }
  const writer = new ArgumentWriter(scriptTime)
  let before: Writable | null = null
  for (const operation of operations) {
    if (before !== null && before.asksTheSame(operation)) writer.repeat()
    else operation.write(writer)
    before = operation
  }
  return { keys, args: writer.finish(packed) }
}

function areTheSame(operations: readonly Writable[]): boolean {
  const [first] = operations as [Writable]
  for (let i = 1; i < operations.length; i++) if (!first.asksTheSame(operations[i]!)) return false
  return true
}

/** The first argument of such a call depends only on the number of operations. */
const plainStreams: Buffer[] = []

function plainStream(length: number): Buffer {
  plainStreams[length] ??= doubles([0, 1, length, DECIDE, 0, 0, 1, 1, 1])
  return plainStreams[length]
}

function doubles(numbers: readonly number[]): Buffer {
  return Buffer.from(new Float64Array(numbers).buffer)
}

export class ArgumentWriter {
  readonly #numbers: number[]
  readonly #layouts: RuleLayout[] = []
  readonly #texts: (string | Buffer)[] = []
  /** Texts come after the rules, whose number is known at the end: where their places are. */
  readonly #textPlaces: number[] = []
  #last = 0

  constructor(scriptTime: number) {
    this.#numbers = [scriptTime, 0]
  }

  /** HEAD numbers; then `pairs` pairs follow. Places of texts are what `text` answers. */
  begin(code: number, one: number, two: number, pairs: number): void {
    this.#last = this.#numbers.length
    this.#numbers.push(1, code, one, two, pairs)
  }

  /** The operation that was begun last once more, for other keys. */
  repeat(): void {
    this.#numbers[this.#last]!++
  }

  push(...numbers: number[]): void {
    for (const number of numbers) this.#numbers.push(number)
  }

  /** A rule's number, 1 or more. */
  rule(layout: RuleLayout): number {
    const known = this.#layouts.indexOf(layout)
    return known < 0 ? this.#layouts.push(layout) : known + 1
  }

  /** Texts of the operation that was begun last; the place of the first becomes its own first number, or its second. */
  texts(which: 'one' | 'two', ...texts: readonly (string | Buffer)[]): void {
    const place = this.#last + (which === 'one' ? 2 : 3)
    this.#numbers[place] = this.#texts.length + 1
    this.#textPlaces.push(place)
    this.#texts.push(...texts)
  }

  finish(packed: (layout: RuleLayout) => Buffer): (string | Buffer)[] {
    const numbers = this.#numbers
    numbers[1] = this.#layouts.length
    for (const place of this.#textPlaces) numbers[place]! += 1 + 2 * this.#layouts.length
    const args: (string | Buffer)[] = [doubles(numbers)]
    for (const layout of this.#layouts) args.push(packed(layout), layout.names)
    return args.concat(this.#texts)
  }
}
