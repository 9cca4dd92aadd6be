/** The tables of a store, one for each family of rules, and the secret by which keys are found in them. */

import { randomFillSync } from 'node:crypto'
import { RESET } from '../../../algorithms/algorithm.js'
import { GRACE_US, isHeldTooLong, restart } from '../../../algorithms/clock-steps.js'
import type { Holds } from '../../../algorithms/concurrency.js'
import { CONCURRENCY } from '../../../algorithms/limit-numbers.js'
import type { Family } from '../../../rules/compiled-rule.js'
import type { RuleSet } from '../../../rules/rule-set.js'
import { type Slices, STEP } from '../../../slices.js'
import { Fingerprint } from '../../fingerprint.js'
import { Layout } from './layout.js'
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

/** The tables by the keys of their families, and what they have in common. */
export interface TablesParts {
  /** The secret by which keys are found. */
  readonly seed: Int32Array
  readonly byFamily: ReadonlyMap<string, Table>
  readonly shared: Shared
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
        const shared = this.#shared
        if (++shared.roundsSinceExport >= MOST_ROUNDS) shared.isTracked = false
        return
      }
      const [key, table, index] = value
      slots += this.#compact(key, table, index, now)
    }
  }

  /** What exports read. */
  get parts(): TablesParts {
    return { seed: this.#seed, byFamily: this.#byFamily, shared: this.#shared }
  }

  /** Takes over tables, as they were in another store; these are not used yet. */
  adopt({ seed, byFamily, shared }: TablesParts): void {
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

/** Whether the located row, or a hold of it, has a time that lies too far ahead: the clock has since stepped back. */
function isAhead(table: Table, now: number): boolean {
  const { columns, lastAt } = table.layout
  if (table.numbers[table.row + lastAt]! > now + GRACE_US) return true
  return columns.some(
    ({ kind, numbers }, column) =>
      kind === CONCURRENCY && isHeldTooLong(numbers, now, table.beside(column) as Holds),
  )
}

/** Starts every column of the located row anew, and makes receipts from before worthless. */
function restartRow(table: Table, family: Family, now: number): void {
  const latest = table.numbers[table.row + table.layout.lastAt]!
  table.settle(now)
  for (const [column, { sample }] of family.columns.entries()) {
    sample.prepare(now)
    table.change(column, now, (full, beside) => {
      restart(full, 0, sample.numbers, now, beside)
      return 1
    })
    table.noteRefund(column, RESET, now, latest)
  }
  table.layout.setLast(table.numbers, table.row, now)
  table.touch(now)
}
