/** The counters of a memory store as bytes, and back. */
import { SluiceError } from '../../../errors.js'
import type { MemoryStore } from '../store.js'
import { newShared } from '../table/shared.js'
import { RestoredTables } from './read.js'
import { exportTables } from './write.js'

/**
 * For keeping the counters of a memory store over a restart:
 *
 *   writeFileSync('counters', Buffer.concat([...new StoreState(store).export()]))
 *   new StoreState(memoryStore()).import([readFileSync('counters')])
 */
export class StoreState {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /**
   * The whole state in pieces, to be written one after the other; includes the secret seed of the keys.
   * Deciding may go on between two pieces: some are empty, to give the occasion. What is written after
   * its row was exported is in the changes that are exported next. Idempotency keys are not exported.
   */
  export(): IterableIterator<Uint8Array> {
    return this.#pieces(true)
  }

  /**
   * What was written since the last export, to be imported after it; no piece if nothing was. Throws unless
   * `canExportChanges`.
   */
  exportChanges(): IterableIterator<Uint8Array> {
    if (!this.canExportChanges)
      throw new SluiceError(
        'invalid_snapshot',
        'a whole state must be exported, to its end, before changes can be; and again after too many',
      )
    return this.#pieces(false)
  }

  /** A whole state was exported to its end, the changes since too, and not too many keys had to go meanwhile. */
  get canExportChanges(): boolean {
    const { shared } = this.#store.tables.parts
    return shared.isExportFinished && shared.isTracked
  }

  *#pieces(isWhole: boolean): IterableIterator<Uint8Array> {
    const { parts } = this.#store.tables
    const { shared } = parts
    shared.isExportFinished = false
    shared.roundsSinceExport = 0
    const number = shared.exports + 1
    for (const piece of exportTables({ ...parts, number, isWhole })) {
      if (!isWhole && !shared.isTracked)
        throw new SluiceError(
          'invalid_snapshot',
          'rows had to go while their changes were exported: a whole state must be exported',
        )
      if (piece.length > 0) shared.exports = number
      yield piece
    }
    shared.isExportFinished = true
  }

  /**
   * Takes over an exported state, and the changes after it. Throws if the store was used already; a state that cannot
   * be read leaves it as it was.
   */
  import(pieces: Iterable<Uint8Array>): void {
    const { tables } = this.#store
    const { byFamily, shared } = tables.parts
    if (byFamily.size > 0)
      throw new SluiceError(
        'invalid_snapshot',
        'a state is imported before the store is used, not after',
      )
    const restored = newShared(shared.maxKeys)
    const { seed, byFamily: tablesRead } = new RestoredTables(pieces, restored)
    tables.adopt({ seed, byFamily: tablesRead, shared: restored })
  }
}
