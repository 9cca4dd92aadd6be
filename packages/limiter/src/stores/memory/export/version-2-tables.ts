/**
 * Tables of a state of version 2, where a change of layout made a new table that took over from the one
 * before: a key's row was in the newest that had it. Joined into one when all is read.
 */
import { Layout } from '../table/layout.js'
import type { Shared } from '../table/shared.js'
import { convertCells, Sketch } from '../table/sketch.js'
import { Table } from '../table/table.js'
import { damaged, type Version2Table } from './piece.js'

export class Version2Tables {
  readonly #byFamily: Map<string, Table>
  readonly #byNumber: Map<number, Table>
  readonly #shared: Shared
  /** By a table's number, that of the one that it took over from. */
  readonly #previous = new Map<number, number | null>()
  readonly #numbers = new Map<Table, number>()
  /** The last write of any row: about the time of the export. */
  #latest = 0

  constructor(byFamily: Map<string, Table>, byNumber: Map<number, Table>, shared: Shared) {
    this.#byFamily = byFamily
    this.#byNumber = byNumber
    this.#shared = shared
  }

  place({ table: number, key, columns, isNarrow, isNewest, previous, mostTokens }: Version2Table) {
    let table = this.#byNumber.get(number)
    if (table === undefined) {
      const numbered = columns.map((column, serial) => ({ ...column, serial, since: 0 }))
      table = new Table(new Layout(numbered, isNarrow, columns.length), this.#shared)
      this.#byNumber.set(number, table)
      this.#numbers.set(table, number)
    }
    table.mostTokens = [...mostTokens]
    this.#previous.set(number, previous)
    if (!isNewest) return
    if (!this.#byFamily.has(key)) this.#shared.tables++
    this.#byFamily.set(key, table)
  }

  /** The located row was read: it is in no earlier table any more. */
  written(number: number, { a, b, numbers, row, layout }: Table): void {
    this.#latest = Math.max(this.#latest, numbers[row + layout.lastAt]!)
    this.forget(number, a, b)
  }

  forget(number: number, a: number, b: number): void {
    for (const earlier of this.#before(number)) earlier.rows.delete(a, b)
  }

  /** The tables that it took over from, newest first. */
  *#before(number: number): IterableIterator<Table> {
    const visited = new Set<number>()
    for (let at = this.#previous.get(number) ?? null; at !== null; ) {
      const table = this.#byNumber.get(at)
      if (table === undefined || visited.has(at)) throw damaged('a table is not there')
      visited.add(at)
      yield table
      at = this.#previous.get(at) ?? null
    }
  }

  join(): void {
    const joined = new Set<Table>()
    for (const table of this.#byFamily.values()) {
      joined.add(table)
      // A limit that was in all layouts since is the same column.
      let carried = new Map(table.layout.columns.map(({ id, serial }) => [id, serial]))
      for (const earlier of this.#before(this.#numbers.get(table)!)) {
        const layout = renumbered(earlier.layout, carried)
        carried = new Map(
          layout.columns.filter(({ serial }) => serial >= 0).map(({ id, serial }) => [id, serial]),
        )
        this.#move(earlier, layout, table)
      }
    }
    for (const table of this.#byNumber.values()) if (!joined.has(table)) table.drop()
  }

  /** `layout`: the earlier table's, with the serials that its columns have in the other. */
  #move(earlier: Table, layout: Layout, into: Table): void {
    const { side } = this.#shared
    const moved: [number, number, Float64Array][] = []
    for (let i = 0; i < earlier.rows.segments; i++) {
      const segment = earlier.rows.segmentAt(i)!
      const { numbers } = segment
      segment.forEach((row) => {
        const [a, b] = [segment.fingerprintA(row), segment.fingerprintB(row)]
        // One that says nothing must not hide what the sketch says.
        if (into.has(a, b) || layout.emptyAt(numbers, row + 1, side) === 0) return
        const converted = new Float64Array(into.layout.rowWidth)
        into.layout.convert(layout, numbers, row + 1, converted, 0)
        moved.push([a, b, converted])
        for (const { serial, handleAt } of layout.columns)
          if (handleAt >= 0 && serial >= 0) numbers[row + 1 + handleAt] = 0
      })
    }
    // Before they are inserted, so that none has to go because two tables have it.
    earlier.drop()
    for (const [a, b, converted] of moved) into.rows.insert(a, b, converted, 0)
    into.refunds.takeOver(earlier.refunds, (column) => layout.columns[column]!.serial)
    for (const [i, { serial }] of layout.columns.entries()) {
      const index = into.layout.indexOfSerial(serial)
      if (index >= 0)
        into.mostTokens[index] = Math.max(into.mostTokens[index]!, earlier.mostTokens[i]!)
    }
    this.#moveSketch(earlier, layout, into)
  }

  #moveSketch(earlier: Table, layout: Layout, into: Table): void {
    const { sketch } = earlier.rows
    if (sketch === null) return
    const { columns, isNarrow, nextSerial } = into.layout
    const since = this.#latest
    const to = new Layout(
      columns.map((column) => ({ ...column, since })),
      isNarrow,
      nextSerial,
    )
    into.rows.sketch ??= new Sketch(into.layout, sketch.cells)
    for (const cells of sketch.everyCell())
      into.rows.sketch.raise(sketch.cells, {
        ...cells,
        numbers: convertCells(layout, cells.numbers, to),
      })
  }
}

/** -1 where the column is gone: of several columns none is found by that. */
function renumbered(layout: Layout, serials: ReadonlyMap<string, number>): Layout {
  const columns = layout.columns.map((column) => {
    return { ...column, serial: serials.get(column.id) ?? -1 }
  })
  return new Layout(columns, layout.isNarrow, columns.length)
}
