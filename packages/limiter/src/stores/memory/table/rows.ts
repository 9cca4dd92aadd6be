/**
 * The rows of a table: open addressing over typed arrays, in segments. Hot code; what holds:
 *
 * - A row is one double that is the fingerprint (two Int32) and then its numbers. Both zero: empty.
 * - A key's row lies between its home slot and the next empty slot of its segment. Slots are never
 *   emptied in place, so that this stays true: an evicted row is dead until another key takes it.
 * - A segment is at most 3/4 full. Segments grow alone, so that growing is a short pause.
 * - A row whose counters have been empty for the grace, and whose buckets were not written for as long, is
 *   free: an insert that passes it takes it, and a segment that is rebuilt drops it. There are no timers. Whether a
 *   free row is still there must make no difference to any answer, however clocks step within the grace: one
 *   store drops it and another, restored from it, does not.
 */

import { GRACE_US } from '../../../algorithms/clock-steps.js'
import { CONCURRENCY } from '../../../algorithms/limit-numbers.js'
import type { HoldBook } from '../side/hold-book.js'
import type { Layout } from './layout.js'
import { Segment } from './segment.js'
import type { Shared } from './shared.js'
import { Sketch } from './sketch.js'

const SEGMENTS = 512
/** The top bits of the first lane choose a segment. */
const SEGMENT_SHIFT = 23
/** A table of one segment this large is divided into many. */
const DIVIDE_AT = 8192
/** How many rows of a probe are compared for the one to evict. */
const CANDIDATES = 8
/** How many segments are looked through for it. */
const NEIGHBOURS = 64
/** How many rows that were written since the last export are passed, once there is one to evict. */
const MOST_SKIPPED = 64

/** What the rows must know of exports. */
export interface Exported {
  /** A row whose last write is not before this may be in no export yet as it is; Infinity where that does not matter. */
  readonly unexportedFrom: number
}

export class Rows {
  layout: Layout
  count = 0
  /** What is left of the rows that were evicted. */
  sketch: Sketch | null = null
  readonly #shared: Shared
  readonly #exported: Exported
  #segments: Segment[]
  /** By place: a segment of an earlier layout, where an empty one stands until it is rebuilt. */
  #outdated: (Segment | undefined)[] = []
  #segmentMask = 0
  /** While it is compacted: for how long rows are kept after their last write. */
  #keptUs = 0

  constructor(layout: Layout, shared: Shared, exported: Exported) {
    this.layout = layout
    this.#shared = shared
    this.#exported = exported
    this.#segments = [new Segment(layout, 4)]
  }

  /** The segment that a key belongs to. */
  segmentOf(a: number): Segment {
    return this.#segments[(a >>> SEGMENT_SHIFT) & this.#segmentMask]!
  }

  get segments(): number {
    return this.#segments.length
  }

  /** A segment in the layout that is current; undefined where there is none any more. */
  segmentAt(index: number): Segment | undefined {
    this.#refresh(index)
    return this.#segments[index]
  }

  /** Whether the key has a row. */
  has(a: number, b: number): boolean {
    const index = (a >>> SEGMENT_SHIFT) & this.#segmentMask
    return (this.#outdated[index] ?? this.#segments[index]!).find(a, b) >= 0
  }

  /** Rows are laid out so from now on. A segment is rebuilt when it is next touched, each alone: a short pause. */
  relayout(layout: Layout): void {
    this.layout = layout
    this.#outdated = this.#segments.map((segment, i) =>
      segment.used > 0 ? segment : this.#outdated[i],
    )
    this.#segments = this.#segments.map(() => new Segment(layout, 4))
    this.sketch?.relayout(layout)
  }

  /** Brings the key's segment to the layout that is current; answers whether it was of an earlier one. */
  refreshOf(a: number): boolean {
    return this.#refresh((a >>> SEGMENT_SHIFT) & this.#segmentMask)
  }

  #refresh(index: number): boolean {
    const old = this.#outdated[index]
    if (old === undefined) return false
    const { layout } = this
    const gone = handlesOf(old.layout).filter(({ serial }) => layout.indexOfSerial(serial) < 0)
    const rebuilt = new Segment(layout, old.capacity)
    rebuilt.isUnexported = old.isUnexported || layout.startsBuckets(old.layout)
    old.forEach((row) => {
      const into = rebuilt.firstEmpty(old.fingerprintB(row))
      layout.convert(old.layout, old.numbers, row + 1, rebuilt.numbers, into + 1)
      rebuilt.write(into, old.fingerprintA(row), old.fingerprintB(row))
      rebuilt.used++
      for (const { handleAt } of gone) this.#shared.side.remove(old.numbers[row + 1 + handleAt]!)
    })
    this.#segments[index] = rebuilt
    this.#outdated[index] = undefined
    return true
  }

  /** Gives a key that has no row one with these numbers; answers where it starts in the key's segment. */
  insert(a: number, b: number, numbers: Float64Array, now: number): number {
    let segment = this.segmentOf(a)
    if (segment.used >= segment.most) segment = this.#makeRoom(segment, a, now)
    const row = this.#claim(segment, b, now)
    segment.write(row, a, b)
    segment.numbers.set(numbers, row + 1)
    if (this.#shared.rows > this.#shared.maxKeys && this.count > this.#fairPart())
      this.#evict(a, b, row)
    return row
  }

  /** A row on the key's way that is dead or free, or the empty one at its end. */
  #claim(segment: Segment, b: number, now: number): number {
    let slot = segment.home(b)
    for (let passed = 0; ; passed++) {
      const row = segment.rowAt(slot)
      if (segment.isEmpty(row)) {
        segment.used++
        this.#add(1)
        return row
      }
      if (segment.isDead(row)) {
        this.#add(1)
        return row
      }
      if (passed < CANDIDATES && this.#isFree(segment, row, now)) {
        this.#clear(segment, row)
        return row
      }
      slot = segment.next(slot)
    }
  }

  #add(rows: number): void {
    this.count += rows
    this.#shared.rows += rows
  }

  /** What a table may keep though the store is full, so that a flood of one rule's keys leaves the others alone. */
  #fairPart(): number {
    return Math.max(CANDIDATES, this.#shared.maxKeys / (4 * this.#shared.tables))
  }

  /** The last write of a bucket counts too: a refund goes by it where the clock has stepped back behind it. */
  #isFree(segment: Segment, row: number, now: number): boolean {
    const { numbers } = segment
    const { layout } = this
    if (layout.emptyAt(numbers, row + 1, this.#shared.side) + GRACE_US > now) return false
    const last = numbers[row + 1 + layout.lastAt]!
    const isAsked = layout.hasBuckets || this.#keptUs > 0
    if (isAsked && last + this.#keptUs + GRACE_US > now) return false
    return !this.#isUnexported(segment, row)
  }

  /** Changes say only what rows say: one that was reset and is gone would come back as it was before. */
  #isUnexported(segment: Segment, row: number): boolean {
    if (!this.#shared.isTracked) return false
    if (segment.isUnexported) return true
    const { layout } = this
    const last = segment.numbers[row + 1 + layout.lastAt]!
    if (last >= this.#exported.unexportedFrom) return true
    return layout.hasHolds && this.#books(segment, row).some(({ isChanged }) => isChanged)
  }

  /**
   * One key too many: of a few rows near the newcomer's home, the one that has used least dies, and what
   * it had used goes into the sketch. Rows that hold something stay. A segment that has no such row
   * leaves it to the next. A row that was written since the last export goes only where there is no other.
   */
  #evict(a: number, b: number, newcomer: number): void {
    const { isTracked } = this.#shared
    if (this.#evictOne(a, b, newcomer, !isTracked) || !isTracked) return
    if (this.#evictOne(a, b, newcomer, true)) this.#shared.isTracked = false
  }

  #evictOne(a: number, b: number, newcomer: number, mayBeUnexported: boolean): boolean {
    const own = (a >>> SEGMENT_SHIFT) & this.#segmentMask
    for (let i = 0; i < Math.min(this.#segments.length, NEIGHBOURS); i++) {
      const segment = this.segmentAt((own + i) & this.#segmentMask)!
      const victim = this.#leastUsed(segment, b, i === 0 ? newcomer : -1, mayBeUnexported)
      if (victim < 0) continue
      this.sketch ??= new Sketch(this.layout, this.count)
      const [x, y] = [segment.fingerprintA(victim), segment.fingerprintB(victim)]
      this.sketch.fold(x, y, segment.numbers, victim + 1)
      this.#shared.evicted++
      this.#remove(segment, victim)
      return true
    }
    return false
  }

  /** The key has no row any more. */
  delete(a: number, b: number): void {
    this.refreshOf(a)
    const segment = this.segmentOf(a)
    const row = segment.find(a, b)
    if (row >= 0) this.#remove(segment, row)
  }

  #remove(segment: Segment, row: number): void {
    this.#clear(segment, row)
    segment.kill(row)
    this.#add(-1)
  }

  /** Of the first rows from a key's home on, the one that has used least and may go; -1 if there is none. */
  #leastUsed(segment: Segment, b: number, newcomer: number, mayBeUnexported: boolean): number {
    let slot = segment.home(b)
    let victim = -1
    let least = Number.POSITIVE_INFINITY
    let left = CANDIDATES
    let skipped = 0
    for (let passed = 0; passed < segment.capacity && left > 0; passed++) {
      const row = segment.rowAt(slot)
      slot = segment.next(slot)
      if (segment.isEmpty(row) || segment.isDead(row) || row === newcomer) continue
      if (!mayBeUnexported && this.#isUnexported(segment, row)) {
        if (++skipped > MOST_SKIPPED && victim >= 0) break
        continue
      }
      left--
      const used = this.layout.usedUntil(segment.numbers, row + 1)
      if (used < least && !this.#holds(segment, row)) {
        victim = row
        least = used
      }
    }
    return victim
  }

  #holds(segment: Segment, row: number): boolean {
    return this.layout.hasHolds && this.#books(segment, row).some((book) => book.lastExpiry() > 0)
  }

  #books(segment: Segment, row: number): HoldBook[] {
    return this.layout.columns.flatMap(({ kind, handleAt }) => {
      const handle = kind === CONCURRENCY ? segment.numbers[row + 1 + handleAt]! : 0
      return handle === 0 ? [] : (this.#shared.side.get(kind, handle) as HoldBook)
    })
  }

  #clear(segment: Segment, row: number): void {
    const { layout, numbers } = segment
    for (const { handleAt } of handlesOf(layout))
      this.#shared.side.remove(numbers[row + 1 + handleAt]!)
    numbers.fill(0, row + 1, row + 1 + layout.rowWidth)
  }

  #makeRoom(segment: Segment, a: number, now: number): Segment {
    if (this.#segmentMask === 0 && segment.capacity >= DIVIDE_AT) {
      this.#divide(segment, now)
      return this.segmentOf(a)
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
    const rebuilt = new Segment(this.layout, capacity)
    rebuilt.isUnexported = segment.isUnexported
    this.#moveInto(segment, now, () => rebuilt)
    this.#segments[(a >>> SEGMENT_SHIFT) & this.#segmentMask] = rebuilt
    return rebuilt
  }

  #divide(segment: Segment, now: number): void {
    const parts = Array.from({ length: SEGMENTS }, () => new Segment(this.layout, 16))
    this.#moveInto(segment, now, (a) => {
      const part = parts[a >>> SEGMENT_SHIFT]!
      if (part.used < part.most) return part
      const larger = new Segment(this.layout, part.capacity * 2)
      part.forEach((row) => larger.copyFrom(part, row))
      parts[a >>> SEGMENT_SHIFT] = larger
      return larger
    })
    for (const part of parts) part.isUnexported = segment.isUnexported
    this.#segments = parts
    this.#segmentMask = SEGMENTS - 1
  }

  #moveInto(segment: Segment, now: number, target: (a: number) => Segment): void {
    segment.forEach((row) => {
      if (this.#isFree(segment, row, now)) {
        this.#clear(segment, row)
        this.#add(-1)
      } else target(segment.fingerprintA(row)).copyFrom(segment, row)
    })
  }

  /**
   * Drops free rows of a segment and gives memory back; answers how many slots it had. `keptUs`: how long
   * a row is kept after its last write, whatever it says.
   */
  compact(index: number, now: number, keptUs = 0): number {
    const i = index & this.#segmentMask
    const segment = this.segmentAt(i)!
    this.#keptUs = keptUs
    if (segment.used > 0 || segment.capacity > 4) this.#makeRoom(segment, i << SEGMENT_SHIFT, now)
    this.#keptUs = 0
    return segment.capacity
  }

  /** Forgets every row, and what they keep beside. */
  clear(): void {
    for (const segment of this.#all) segment.forEach((row) => this.#clear(segment, row))
    this.#add(-this.count)
    this.#outdated = []
    this.#segments = [new Segment(this.layout, 4)]
    this.#segmentMask = 0
  }

  get #all(): Segment[] {
    return [...this.#segments, ...this.#outdated.filter((segment) => segment !== undefined)]
  }

  get bytes(): number {
    let bytes = this.sketch?.bytes ?? 0
    for (const segment of this.#all) bytes += segment.numbers.byteLength
    return bytes
  }
}

function handlesOf(layout: Layout): Layout['columns'] {
  return layout.hasHandles ? layout.columns.filter(({ handleAt }) => handleAt >= 0) : []
}
