/**
 * How the script is asked and how it answers: what it can be asked, the keys and arguments of a call, which its
 * operations write one after the other, and its reply, which they read from front to back. lua/start.lua describes
 * both from the script's side, and the Lua files use the names of the first part.
 */
import type { Reply } from './redis-client.js'
import type { RuleLayout } from './rule-layout.js'
import type { ScriptOperation } from './script-operation.js'

/** A transaction; a dry run of it. */
export const DECIDE = 0
export const LOOK = 1
export const LEASE = 2
export const REFUND = 3
export const GRANT = 4
export const CHARGE = 5
/** Makes what is used at least so much. */
export const RAISE = 6
export const RESET_ROW = 7
export const RENEW = 8
export const RELEASE = 9
/** Creates a key that does not exist, with nothing counted in it. */
export const CREATE = 10
/** Of idempotency records whose request is decided in several slots. */
export const CLAIM = 11
export const CONFIRM = 12
export const UNCLAIM = 13
/** This instance is there. */
export const BEAT = 14

/** Numbers before what an operation says of its rows: how often it is repeated, what it is, two of its own, how many pairs of numbers follow. Read by the script. @public */
export const HEAD = 5
/** Numbers of a report of a lease. */
export const REPORT_WIDTH = 6
/** Numbers of a change of one limit: its place from 1 on, the amount, of refunds what is known of the take, and one that is unused, because numbers go in pairs. */
export const ITEM_WIDTH = 8
/** Numbers of a lease's answer before its verdicts. */
export const LEASE_REPLY_WIDTH = 7

/** Letters of the reply: of an operation (1: allowed or done; x: it failed, for example because its key is of another type), then of a row. */
export const LETTER_ALLOWED = 0x31 // 1
export const LETTER_DENIED = 0x30 // 0
export const LETTER_OTHER_BOUNDS = 0x62 // b
export const LETTER_REPLAYED = 0x72 // r
export const LETTER_CONFLICT = 0x63 // c
export const LETTER_IN_PROGRESS = 0x70 // p
export const LETTER_FAILED = 0x78 // x
export const LETTER_NUMBERS = 0x76 // v
export const LETTER_SUMS = 0x73 // s
export const LETTER_NOTHING = 0x2d // -

export interface Arguments {
  readonly keys: string[]
  readonly args: (string | Buffer)[]
}

/** `scriptTime`: 0, or the time to decide by. `packed` gives a rule's numbers. */
export function argumentsOf(
  operations: readonly ScriptOperation[],
  scriptTime: number,
  packed: (layout: RuleLayout) => Buffer,
): Arguments {
  const keys: string[] = []
  for (const operation of operations) operation.pushKeys(keys)
  const [first] = operations as [ScriptOperation]
  const layout = first.simpleLayout
  if (scriptTime === 0 && layout !== null && areTheSame(operations))
    return { keys, args: [plainStream(operations.length), packed(layout), layout.names] }
  const writer = new ArgumentWriter(scriptTime)
  let before: ScriptOperation | null = null
  for (const operation of operations) {
    if (before !== null && before.asksTheSame(operation)) writer.repeat()
    else operation.write(writer)
    before = operation
  }
  return { keys, args: writer.finish(packed) }
}

function areTheSame(operations: readonly ScriptOperation[]): boolean {
  const [first] = operations as [ScriptOperation]
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

  /** HEAD numbers; then `pairs` pairs follow. `texts` fills in the places of texts. */
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

export class ScriptReply {
  /** The store's time when it ran, in microseconds. */
  readonly now: number
  /** What rows of nothing but buckets are computed from: see `DecideOperation.#compute`. */
  readonly texts: Buffer
  textAt = 0
  readonly #letters: Buffer
  readonly #records: readonly Buffer[]
  #letterAt = 0
  #recordAt = 0

  constructor(reply: Reply) {
    const [time, letters, texts, ...records] = reply as [number, Buffer, Buffer, ...Buffer[]]
    this.now = Math.abs(time)
    this.texts = texts
    this.#letters = letters
    this.#records = records
  }

  letter(): number {
    return this.#letters[this.#letterAt++]!
  }

  /** The next number of the texts. */
  number(): number {
    const number = this.texts.readDoubleLE(this.textAt)
    this.textAt += 8
    return number
  }

  /** The next numbers, into `out` from `at` on. */
  numbers(count: number, out: number[], at: number): void {
    let from = this.textAt
    for (let i = 0; i < count; i++, from += 8) out[at + i] = this.texts.readDoubleLE(from)
    this.textAt = from
  }

  /** Passes over what is said of some rows, each of so many numbers if any. */
  skip(widths: readonly number[]): void {
    for (const width of widths) if (this.letter() === LETTER_NUMBERS) this.textAt += 8 * width
  }

  record(): Buffer {
    return this.#records[this.#recordAt++]!
  }
}
