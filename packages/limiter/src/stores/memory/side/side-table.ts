/** Logs and holds, which rows point at by a handle: rows move when their table grows, these do not. */
import type { Beside } from '../../../algorithms/algorithm.js'
import { CONCURRENCY } from '../../../algorithms/limit-numbers.js'
import { HoldBook, NO_HOLDS } from './hold-book.js'
import { LogRing, NO_ENTRIES } from './log-ring.js'

export class SideTable {
  /** Handle 0 is nothing. */
  readonly #slots: (LogRing | HoldBook | undefined)[] = [undefined]
  readonly #free: number[] = []

  get(kind: number, handle: number): Beside {
    return this.#slots[handle] ?? (kind === CONCURRENCY ? NO_HOLDS : NO_ENTRIES)
  }

  add(kind: number, log: LogRing | undefined): number {
    const made = log ?? (kind === CONCURRENCY ? new HoldBook() : new LogRing())
    const handle = this.#free.pop()
    if (handle === undefined) return this.#slots.push(made) - 1
    this.#slots[handle] = made
    return handle
  }

  put(handle: number, made: LogRing | HoldBook): void {
    this.#slots[handle] = made
  }

  remove(handle: number): void {
    if (handle === 0) return
    this.#slots[handle] = undefined
    this.#free.push(handle)
  }

  get bytes(): number {
    let bytes = 8 * this.#slots.length
    for (const slot of this.#slots) bytes += slot?.bytes ?? 0
    return bytes
  }
}
