/**
 * The rows of one rule family: open addressing over typed arrays, a keyed 64-bit fingerprint instead
 * of a key string. Hot code; what holds:
 *
 * - A row is one double that is the fingerprint (two Int32) and then its numbers. Both zero: empty.
 * - A key's row lies between its home slot and the next empty slot of its segment. Slots are never
 *   emptied in place, so that this stays true: an evicted row is dead until another key takes it.
 * - A segment is at most 3/4 full. Segments grow alone, so that growing is a short pause.
 * - A row whose counters have been empty for the grace is free: an insert that passes it takes it, and
 *   a segment that is rebuilt drops it. There are no timers.
 * - `numbers` and `row` are the place last located, until this table is next asked. A key without a row
 *   is located in `blank`, which `settle` turns into a row: what is only looked at writes nothing.
 */
import type { Beside } from '../../algorithms/algorithm.js'
import {
  BUCKET,
  HORIZON_US,
  type LimitNumbers,
  SLIDING_LOG,
} from '../../algorithms/limit-numbers.js'
import type { Besides } from './besides.js'
import { type Columns, GRACE_US } from './columns.js'
import { LogRing } from './log-ring.js'
import { RefundSums } from './refund-sums.js'
import { Segment } from './segment.js'
import { Sketch } from './sketch.js'

const SEGMENTS = 256
/** A table of one segment this large is divided into many. */
const DIVIDE_AT = 4096
/** How many rows of a probe are compared for the one to evict. */
const CANDIDATES = 8
/** How many earlier layouts are looked through before their rows are moved at once. */
const MOST_GENERATIONS = 3

/** What the tables of a store share. */
export interface Shared {
  readonly besides: Besides
  readonly maxKeys: number
  /** Rows of all tables, free ones included. */
  rows: number
  tables: number
  evicted: number
}

export class Table {
  columns: Columns
  readonly refunds: RefundSums
  /** Doubles from row to row. */
  readonly stride: number
  numbers: Float64Array
  row = 1
  /** The key that was located. */
  a = 0
  b = 0
  rows = 0
  /** Rows under an earlier layout, moved here when their key is next written. */
  previous: Table | null = null
  /** When nothing in `previous` can matter any more. */
  previousEnds = 0
  /** The located blank comes from the sketch: at least what the key had used. */
  isGuess = false
  /** By column: the most tokens that a row can have used or owe. */
  readonly mostTokens: number[]

  readonly #shared: Shared
  readonly #blank: Float64Array
  readonly #blankLogs: (LogRing | undefined)[]
  #segments: Segment[]
  #segmentMask = 0
  #sketch: Sketch | null = null
  readonly #full = new Float64Array(4)

  constructor(columns: Columns, shared: Shared) {
    this.columns = columns
    this.#shared = shared
    this.stride = 1 + columns.rowWidth
    this.refunds = new RefundSums(Math.max(1024, shared.maxKeys))
    this.#blank = new Float64Array(this.stride)
    this.#blankLogs = columns.all.map(() => undefined)
    this.mostTokens = columns.all.map(() => 0)
    this.numbers = this.#blank
    this.#segments = [new Segment(this.stride, 4)]
  }

  /** Locates the key's row, or a blank that says what is known of it. */
  locate(a: number, b: number, now: number): void {
    this.a = a
    this.b = b
    const segment = this.#segments[(a >>> 24) & this.#segmentMask]!
    const row = segment.find(a, b)
    if (row >= 0) {
      this.numbers = segment.numbers
      this.row = row + 1
      this.isGuess = false
      return
    }
    this.#locateBlank(a, b, now)
  }

  /** Whether the key has a row here. */
  has(a: number, b: number): boolean {
    return this.#segments[(a >>> 24) & this.#segmentMask]!.find(a, b) >= 0
  }

  get isBlank(): boolean {
    return this.numbers === this.#blank
  }

  /** The located row, or blank, says that something was used. */
  get isKnown(): boolean {
    return this.columns.emptyAt(this.numbers, this.row, this.#shared.besides) > 0
  }

  #locateBlank(a: number, b: number, now: number): void {
    const blank = this.#blank
    blank.fill(0)
    this.numbers = blank
    this.row = 1
    this.isGuess = false
    if (this.previous !== null) {
      if (now > this.previousEnds) this.#dropPrevious()
      else if (this.#copyPrevious(this.previous, a, b, now)) return
    }
    if (this.#sketch === null) return
    this.isGuess = true
    this.#sketch.restore(a, b, blank, 1)
    for (const [i, { kind, at, numbers }] of this.columns.all.entries()) {
      this.#blankLogs[i] = undefined
      if (kind !== SLIDING_LOG || blank[1 + at] === 0) continue
      const log = new LogRing()
      log.push(Math.ceil(blank[2 + at]! / numbers.cell) * numbers.cell, blank[1 + at]!)
      this.#blankLogs[i] = log
    }
  }

  /** The columns that both layouts have; handles too, since logs and holds do not move. */
  #copyPrevious(previous: Table, a: number, b: number, now: number): boolean {
    previous.locate(a, b, now)
    for (const [i, { id, handleAt }] of this.columns.all.entries()) {
      this.#blankLogs[i] = undefined
      const index = previous.columns.indexOf(id)
      if (index < 0) continue
      previous.columns.unpack(index, previous.numbers, previous.row, this.#full)
      this.columns.pack(i, this.#full, this.#blank, 1)
      if (handleAt < 0) continue
      const other = previous.columns.all[index]!
      this.#blank[1 + handleAt] = previous.numbers[previous.row + other.handleAt]!
      this.#blankLogs[i] = previous.#blankLogs[index]
    }
    return previous.isKnown
  }

  /**
   * Changes a column of the located row: its numbers in full, as the algorithms know them, are given to
   * `change`, and kept if that answers more than 0.
   */
  change(column: number, change: (full: Float64Array, beside: Beside) => number): number {
    this.columns.unpack(column, this.numbers, this.row, this.#full)
    const changed = change(this.#full, this.beside(column))
    if (changed > 0) this.columns.pack(column, this.#full, this.numbers, this.row)
    return changed
  }

  /** The log or holds of a column of the located row. */
  beside(column: number): Beside {
    const { kind, handleAt } = this.columns.all[column]!
    if (handleAt < 0) return undefined
    if (this.isBlank && this.#blankLogs[column] !== undefined) return this.#blankLogs[column]
    return this.#shared.besides.get(kind, this.numbers[this.row + handleAt]!)
  }

  /** Something was given back to some row of this table or the ones before. */
  get hasRefunds(): boolean {
    return this.refunds.size > 0 || this.previous !== null
  }

  /** Sums of refunds of an earlier layout count on. */
  refunded(a: number, b: number, column: number): number {
    const own = this.refunds.of(a, b, column)
    if (this.previous === null) return own
    const index = this.previous.columns.indexOf(this.columns.all[column]!.id)
    return index < 0 ? own : own + this.previous.refunded(a, b, index)
  }

  /** Something was given back to the located row: receipts from before know less. */
  noteRefund(column: number, tokens: number, now: number): void {
    const { numbers, kind } = this.columns.all[column]!
    const life = kind === BUCKET ? this.#longestOf(column, numbers.amount) : 2 * numbers.window
    const lives = (a: number, b: number) => this.has(a, b)
    this.refunds.add(this.a, this.b, column, tokens, now + life, now, lives)
  }

  /** The located row may owe more than its burst. */
  noteDebt(column: number, limit: LimitNumbers, now: number): void {
    const owed = this.columns.emptyAt(this.numbers, this.row, this.#shared.besides) - now
    const tokens = Math.ceil((owed / limit.window) * limit.amount) + 1
    this.mostTokens[column] = Math.max(this.mostTokens[column]!, tokens)
  }

  /** How long a column can say something after its last write, at this amount. */
  #longestOf(column: number, amount: number): number {
    const { kind, window } = this.columns.all[column]!
    if (kind !== BUCKET) return 2 * window
    return Math.min(HORIZON_US, (this.mostTokens[column]! / amount) * window + 1)
  }

  /** Takes over from a table with another layout. What both have moves as it is asked for. */
  succeed(previous: Table, now: number): void {
    for (const [i, { id }] of previous.columns.all.entries()) {
      const index = this.columns.indexOf(id)
      if (index >= 0)
        this.mostTokens[index] = Math.max(this.mostTokens[index]!, previous.mostTokens[i]!)
    }
    this.previous = previous
    this.use(this.columns, now)
    let generations = 0
    for (let table: Table | null = previous; table !== null; table = table.previous) generations++
    if (generations > MOST_GENERATIONS) this.#absorb(now)
  }

  /** The same layout with the numbers in force now: slower ones make what was used matter for longer. */
  use(columns: Columns, now: number): void {
    this.columns = columns
    if (this.previous === null) return
    for (const [i, { numbers }] of columns.all.entries()) {
      const longest = this.#longestOf(i, numbers.amount)
      this.previousEnds = Math.max(this.previousEnds, now + longest + GRACE_US)
    }
  }

  /** Receipts are reckoned with the sums of refunds of every layout, so those stay. */
  #dropPrevious(): void {
    const { previous } = this
    if (previous === null) return
    previous.#dropPrevious()
    this.refunds.takeOver(previous.refunds, (column) =>
      this.columns.indexOf(previous.columns.all[column]!.id),
    )
    previous.drop()
    this.previous = null
  }

  /** Moves every row of the earlier layouts at once. */
  #absorb(now: number): void {
    const { previous } = this
    if (previous === null) return
    previous.#absorb(now)
    for (const segment of previous.#segments) {
      segment.forEach((row) => {
        this.locate(segment.fingerprintA(row), segment.fingerprintB(row), now)
        if (this.isBlank && this.isKnown) this.settle(now)
      })
    }
    this.#dropPrevious()
  }

  /** Makes the located blank a row, and gives every column that keeps something beside its place. */
  settle(now: number): void {
    if (this.isBlank) {
      if (this.previous !== null) this.previous.#forget(this.a, this.b, now)
      this.#insert(this.a, this.b, now)
    }
    if (!this.columns.hasHandles) return
    for (const [i, { kind, handleAt }] of this.columns.all.entries()) {
      if (handleAt < 0 || this.numbers[this.row + handleAt] !== 0) continue
      this.numbers[this.row + handleAt] = this.#shared.besides.add(kind, this.#blankLogs[i])
      this.#blankLogs[i] = undefined
    }
  }

  /** The row has moved to a table with another layout. */
  #forget(a: number, b: number, now: number): void {
    this.locate(a, b, now)
    if (!this.isBlank) this.numbers.fill(0, this.row, this.row + this.columns.rowWidth)
    else if (this.previous !== null) this.previous.#forget(a, b, now)
  }

  #insert(a: number, b: number, now: number): void {
    let segment = this.#segments[(a >>> 24) & this.#segmentMask]!
    if (segment.used >= segment.most) segment = this.#makeRoom(segment, a, now)
    const row = this.#claim(segment, b, now)
    segment.write(row, a, b)
    segment.numbers.set(this.#blank.subarray(1), row + 1)
    this.numbers = segment.numbers
    this.row = row + 1
    if (this.#shared.rows > this.#shared.maxKeys && this.rows > this.#fairPart())
      this.#evict(segment, b, row)
  }

  /** A row on the key's way that is dead or free, or the empty one at its end. */
  #claim(segment: Segment, b: number, now: number): number {
    let slot = segment.home(b)
    for (let passed = 0; ; passed++) {
      const row = segment.rowAt(slot)
      if (segment.isEmpty(row)) {
        segment.used++
        this.#count(1)
        return row
      }
      if (segment.isDead(row)) {
        this.#count(1)
        return row
      }
      if (passed < CANDIDATES && this.#isFree(segment, row, now)) {
        this.#clear(segment, row)
        return row
      }
      slot = segment.next(slot)
    }
  }

  #count(rows: number): void {
    this.rows += rows
    this.#shared.rows += rows
  }

  /** What a table may keep though the store is full, so that a flood of one rule's keys leaves the others alone. */
  #fairPart(): number {
    return Math.max(CANDIDATES, this.#shared.maxKeys / (4 * this.#shared.tables))
  }

  #isFree(segment: Segment, row: number, now: number): boolean {
    return this.columns.emptyAt(segment.numbers, row + 1, this.#shared.besides) + GRACE_US <= now
  }

  /**
   * One key too many: of a few rows near the newcomer's home, the one that has used least dies, and what
   * it had used goes into the sketch. Rows that hold something stay.
   */
  #evict(segment: Segment, b: number, newcomer: number): void {
    let slot = segment.home(b)
    let victim = -1
    let least = Number.POSITIVE_INFINITY
    for (let passed = 0, seen = 0; passed < segment.capacity && seen < CANDIDATES; passed++) {
      const row = segment.rowAt(slot)
      slot = segment.next(slot)
      if (segment.isEmpty(row) || segment.isDead(row) || row === newcomer) continue
      seen++
      const used = this.columns.usedUntil(segment.numbers, row + 1)
      if (used < least && !this.#holds(segment, row)) {
        victim = row
        least = used
      }
    }
    if (victim < 0) return
    this.#sketch ??= new Sketch(this.columns, this.rows)
    const [x, y] = [segment.fingerprintA(victim), segment.fingerprintB(victim)]
    this.#sketch.fold(x, y, segment.numbers, victim + 1)
    this.#shared.evicted++
    this.#clear(segment, victim)
    segment.kill(victim)
    this.#count(-1)
  }

  #holds(segment: Segment, row: number): boolean {
    if (!this.columns.hasHolds) return false
    return this.columns.all.some(({ kind, handleAt }) => {
      if (handleAt < 0) return false
      const beside = this.#shared.besides.get(kind, segment.numbers[row + 1 + handleAt]!)
      return beside !== undefined && 'live' in beside && beside.lastExpiry() > 0
    })
  }

  #clear(segment: Segment, row: number): void {
    for (const { handleAt } of this.columns.all) {
      if (handleAt >= 0) this.#shared.besides.remove(segment.numbers[row + 1 + handleAt]!)
    }
    segment.numbers.fill(0, row + 1, row + this.stride)
  }

  #makeRoom(segment: Segment, a: number, now: number): Segment {
    if (this.#segmentMask === 0 && segment.capacity >= DIVIDE_AT) {
      this.#divide(segment, now)
      return this.#segments[(a >>> 24) & this.#segmentMask]!
    }
    let live = 0
    segment.forEach((row) => {
      if (!this.#isFree(segment, row, now)) live++
    })
    let capacity = segment.capacity
    if (live > capacity / 2) capacity *= 2
    while (capacity > 4 && live < capacity / 8) capacity /= 2
    return this.#rebuild(segment, a, capacity, now)
  }

  /** A copy without the rows that are dead, or free at `now`. */
  #rebuild(segment: Segment, a: number, capacity: number, now: number): Segment {
    const rebuilt = new Segment(this.stride, capacity)
    this.#moveInto(segment, now, () => rebuilt)
    this.#segments[(a >>> 24) & this.#segmentMask] = rebuilt
    return rebuilt
  }

  #divide(segment: Segment, now: number): void {
    const parts = Array.from({ length: SEGMENTS }, () => new Segment(this.stride, 32))
    this.#moveInto(segment, now, (a) => {
      const part = parts[a >>> 24]!
      if (part.used < part.most) return part
      const larger = new Segment(this.stride, part.capacity * 2)
      part.forEach((row) => larger.copyFrom(part, row))
      parts[a >>> 24] = larger
      return larger
    })
    this.#segments = parts
    this.#segmentMask = SEGMENTS - 1
  }

  #moveInto(segment: Segment, now: number, target: (a: number) => Segment): void {
    segment.forEach((row) => {
      if (this.#isFree(segment, row, now)) {
        this.#clear(segment, row)
        this.#count(-1)
      } else target(segment.fingerprintA(row)).copyFrom(segment, row)
    })
  }

  /** Drops free rows and gives memory back, one segment a call; which one, the caller counts. */
  compact(index: number, now: number): void {
    const i = index & this.#segmentMask
    this.#makeRoom(this.#segments[i]!, i << 24, now)
  }

  /** The rule is gone, and with it what was counted. */
  drop(): void {
    for (const segment of this.#segments) segment.forEach((row) => this.#clear(segment, row))
    this.#shared.rows -= this.rows
    this.previous?.drop()
  }

  get bytes(): number {
    let bytes = this.#sketch?.bytes ?? 0
    for (const segment of this.#segments) bytes += segment.numbers.byteLength
    return bytes + 150 * this.refunds.size + (this.previous?.bytes ?? 0)
  }

  /** Every row that is not free, for a snapshot. */
  *segments(): IterableIterator<Segment> {
    yield* this.#segments
  }

  /** Puts a row back as it was exported. */
  load(a: number, b: number, numbers: Float64Array): void {
    this.#blank.set(numbers, 1)
    this.#insert(a, b, 0)
  }
}
