/** The tables of a store, one for each family of rules, and the secret by which keys are found in them. */

import { randomFillSync } from 'node:crypto'
import { GRACE_US } from '../../../algorithms/clock-steps.js'
import { SluiceError } from '../../../errors.js'
import type { Family } from '../../../rules/compiled-rule.js'
import type { RuleSet } from '../../../rules/rule-set.js'
import { type Slices, STEP } from '../../../slices.js'
import { Fingerprint } from '../../fingerprint.js'
import { RestoredTables } from '../export/read.js'
import { exportTables } from '../export/write.js'
import { Layout } from './layout.js'
import { isAhead, restartRow } from './restart-row.js'
import { newShared, type Shared } from './shared.js'
import { Table } from './table.js'

/** How many slots are looked at by one call for compaction, at least: a short pause, however many tables there are. */
const COMPACTED_SLOTS = 4096

/** So often all tables are compacted without the rows that changes must have: then no changes are expected any more. */
const MOST_ROUNDS = 1000

/** How many families may know one table: one for each limiter over the store, and a few that are garbage. */
const MOST_SERVED = 8

/** By which family a table was last asked for. */
interface LastUse {
  readonly family: Family
  /** What the rules in force had of that name then: itself, or what it is a shard or a scaled copy of. */
  readonly inForce: Family | undefined
}

export class Tables {
  readonly #byFamily = new Map<string, Table>()
  #shared: Shared
  #seed: Int32Array
  #fingerprint: Fingerprint
  /** By namespace. */
  readonly #kept = new Map<string, RuleSet>()
  readonly #lastUses = new WeakMap<Table, LastUse>()
  /** Families that know their table: it has their columns, in their order. */
  readonly #served = new WeakMap<Table, WeakRef<Family>[]>()
  #compacting: Iterator<readonly [string, Table, number]> | null = null
  /** How often all tables were compacted since the last export. */
  #roundsSinceExport = 0
  /** How many exports said anything. */
  #exports = 0
  /** The last one was read to its end. */
  #isFollowed = false

  constructor(maxKeys: number) {
    this.#shared = newShared(maxKeys)
    this.#seed = randomFillSync(new Int32Array(2))
    this.#fingerprint = new Fingerprint(this.#seed)
  }

  /** The family's table, pointing at the value's row. */
  locate(family: Family, value: string, now: number): Table {
    const table = family.owner === this ? (family.rows as Table) : this.#tableOf(family, now)
    const fingerprint = this.#fingerprint
    fingerprint.of(value)
    table.locate(fingerprint.a, fingerprint.b, now)
    const { layout } = table
    const isBelieved = table.numbers[table.row + layout.lastAt]! <= now + GRACE_US
    if ((!isBelieved || layout.hasHolds) && isAhead(table, now)) restartRow(table, family, now)
    return table
  }

  /** The same for a family of rules that may not be in force any more; undefined if nothing is left of it. */
  find(family: Family, value: string, now: number): Table | undefined {
    const table = this.#byFamily.get(family.key)
    this.#fingerprint.of(value)
    table?.locate(this.#fingerprint.a, this.#fingerprint.b, now)
    return table
  }

  /** The family's table, with its columns. */
  #tableOf(family: Family, now: number): Table {
    let table = this.#byFamily.get(family.key)
    const layout = Layout.of(family, table?.layout, now)
    if (table === undefined) {
      table = new Table(layout, this.#shared)
      this.#shared.tables++
      this.#byFamily.set(family.key, table)
    } else {
      if (table.layout.signature !== layout.signature) this.#dismiss(table)
      table.use(layout)
    }
    for (const [i, { mostBurst }] of family.columns.entries())
      table.mostTokens[i] = Math.max(table.mostTokens[i]!, mostBurst)
    this.#lastUses.set(table, { family, inForce: this.#namedLike(family) })
    this.#serve(family, table)
    return table
  }

  #serve(family: Family, table: Table): void {
    const served = this.#served.get(table) ?? []
    if (served.length >= MOST_SERVED) this.#leave(served.shift()!)
    served.push(new WeakRef(family))
    this.#served.set(table, served)
    family.owner = this
    family.rows = table
  }

  /** Families whose columns the table has no more look for it anew. */
  #dismiss(table: Table): void {
    for (const family of this.#served.get(table) ?? []) this.#leave(family)
    this.#served.delete(table)
  }

  #leave(reference: WeakRef<Family>): void {
    const family = reference.deref()
    if (family?.owner === this) family.owner = null
  }

  /** The family of that name in the rules in force. */
  #namedLike({ namespace, name }: Family): Family | undefined {
    return this.#kept.get(namespace)?.families.get(name)
  }

  /**
   * Drops free rows of a segment; answers how many slots were looked at. Without the numbers in force no row
   * can be said to be free: slower ones make what was used matter for longer.
   */
  #compact(key: string, table: Table, index: number, now: number): number {
    const family = this.#inForce(key)
    if (family !== undefined) {
      const isCurrent = family.owner === this && family.rows === table
      return isCurrent ? table.compact(index, now) : table.compactUnder(family, index, now)
    }
    // A shard, or a scaled copy: it is known by the family of that name.
    const last = this.#lastUses.get(table)
    const isCurrent = last !== undefined && this.#namedLike(last.family) === last.inForce
    return isCurrent ? table.compact(index, now) : 1
  }

  /** The family of that key in the rules in force. */
  #inForce(key: string): Family | undefined {
    const rules = this.#kept.get(key.slice(0, key.indexOf('|')))
    const family = rules?.families.get(key.slice(key.lastIndexOf('|') + 1))
    return family?.key === key ? family : undefined
  }

  /** Forgets the families of the rules' namespace that these do not have, unless others come to be kept. */
  *keep(rules: RuleSet): Slices<void> {
    const isFirst = !this.#kept.has(rules.namespace)
    this.#kept.set(rules.namespace, rules)
    // A process that begins with no rules does not know them yet: restored counters wait for them.
    if (isFirst && rules.families.size === 0) return
    let looked = 0
    for (const [key, table] of this.#byFamily) {
      if (++looked % STEP === 0) yield
      if (this.#kept.get(rules.namespace) !== rules) return
      if (!key.startsWith(`${rules.namespace}|`)) continue
      const [whole] = key.split('#') as [string]
      if (rules.families.get(whole.slice(whole.lastIndexOf('|') + 1))?.key === whole) continue
      table.drop()
      this.#byFamily.delete(key)
      this.#shared.tables--
      this.#shared.familiesChanged = true
    }
  }

  /** Holds were renewed or released, which writes no row. */
  noteHolds(): void {
    this.#shared.holdsChanged = true
  }

  get size(): { readonly keys: number; readonly bytes: number; readonly evicted: number } {
    let { bytes } = this.#shared.side
    for (const table of this.#byFamily.values()) bytes += table.bytes
    return { keys: this.#shared.rows, bytes, evicted: this.#shared.evicted }
  }

  compact(now: number): void {
    this.#compacting ??= segmentsOf(this.#byFamily)
    for (let slots = 0; slots < COMPACTED_SLOTS; ) {
      const { done, value } = this.#compacting.next()
      if (done === true) {
        this.#compacting = null
        if (++this.#roundsSinceExport >= MOST_ROUNDS) this.#shared.isTracked = false
        return
      }
      const [key, table, index] = value
      slots += this.#compact(key, table, index, now)
    }
  }

  /** The whole state; what is written from now on can be exported after it as changes. */
  export(): IterableIterator<Uint8Array> {
    return this.#export(true)
  }

  /** The export before was read to its end, and no row that was written since had to go. */
  get canExportChanges(): boolean {
    return this.#isFollowed && this.#shared.isTracked
  }

  exportChanges(): IterableIterator<Uint8Array> {
    if (!this.canExportChanges)
      throw new SluiceError(
        'invalid_snapshot',
        'a whole state must be exported, to its end, before changes can be; and again after too many',
      )
    return this.#export(false)
  }

  *#export(isWhole: boolean): IterableIterator<Uint8Array> {
    this.#isFollowed = false
    this.#roundsSinceExport = 0
    const number = this.#exports + 1
    const { seed, tables, shared } = {
      seed: this.#seed,
      tables: this.#byFamily,
      shared: this.#shared,
    }
    for (const piece of exportTables({ seed, tables, shared, number, isWhole })) {
      if (!isWhole && !shared.isTracked)
        throw new SluiceError(
          'invalid_snapshot',
          'rows had to go while their changes were exported: a whole state must be exported',
        )
      if (piece.length > 0) this.#exports = number
      yield piece
    }
    this.#isFollowed = true
  }

  /** All or nothing: a state that cannot be read leaves the tables as they were. */
  import(pieces: Iterable<Uint8Array>): void {
    if (this.#byFamily.size > 0)
      throw new SluiceError(
        'invalid_snapshot',
        'a state is imported before the store is used, not after',
      )
    const shared = newShared(this.#shared.maxKeys)
    const { seed, byFamily } = new RestoredTables(pieces, shared)
    this.#shared = shared
    this.#seed = seed
    this.#fingerprint = new Fingerprint(seed)
    for (const [key, table] of byFamily) this.#byFamily.set(key, table)
  }
}

/** As they are when they are asked for: tables and segments may come and go meanwhile. */
function* segmentsOf(
  tables: ReadonlyMap<string, Table>,
): IterableIterator<readonly [string, Table, number]> {
  for (const [key, table] of tables)
    for (let i = 0; i < table.rows.segments; i++) yield [key, table, i]
}
