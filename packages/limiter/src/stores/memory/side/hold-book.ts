/** The holds of one concurrency row, by id. */
import type { Holds } from '../../../algorithms/concurrency.js'

interface Held {
  cost: number
  expiry: number
}

/** Counts what is held, and bounds the expiries, so that most questions need no walk over the holds. */
export class HoldBook implements Holds {
  /** Since it was last exported. */
  isChanged = true
  readonly #holds = new Map<string, Held>()
  #total = 0
  /** No hold expires before. */
  #earliest = Number.POSITIVE_INFINITY
  /** The last expiry; undefined where it must be looked for. */
  #latest: number | undefined = 0

  get bytes(): number {
    return 200 + 150 * this.#holds.size
  }

  live(now: number): number {
    if (this.#earliest > now) return this.#total
    let count = 0
    for (const { cost, expiry } of this.#holds.values()) if (expiry > now) count += cost
    return count
  }

  nthExpiry(n: number, now: number): number {
    const live = [...this.#holds.values()].filter(({ expiry }) => expiry > now)
    let left = n
    for (const { cost, expiry } of live.sort((a, b) => a.expiry - b.expiry)) {
      left -= cost
      if (left <= 0) return expiry
    }
    return now
  }

  lastExpiry(): number {
    if (this.#latest !== undefined) return this.#latest
    let last = 0
    for (const { expiry } of this.#holds.values()) last = Math.max(last, expiry)
    this.#latest = last
    return last
  }

  expiryOf(id: string): number {
    return this.#holds.get(id)?.expiry ?? 0
  }

  renew(id: string, expiry: number): void {
    const held = this.#holds.get(id)
    if (held === undefined || held.expiry >= expiry) return
    held.expiry = expiry
    this.isChanged = true
    this.#latest = Math.max(this.lastExpiry(), expiry)
  }

  add(id: string, cost: number, expiry: number): void {
    this.remove(id)
    this.#holds.set(id, { cost, expiry })
    this.isChanged = true
    this.#total += cost
    this.#earliest = Math.min(this.#earliest, expiry)
    this.#latest = Math.max(this.lastExpiry(), expiry)
  }

  dropExpired(now: number): void {
    if (this.#earliest > now) return
    let earliest = Number.POSITIVE_INFINITY
    for (const [id, { expiry }] of this.#holds) {
      if (expiry <= now) this.remove(id)
      else earliest = Math.min(earliest, expiry)
    }
    this.#earliest = earliest
  }

  shorten(expiry: number): void {
    for (const held of this.#holds.values()) held.expiry = Math.min(held.expiry, expiry)
    this.isChanged = true
    this.#earliest = Math.min(this.#earliest, expiry)
    this.#latest = undefined
  }

  remove(id: string): number {
    const held = this.#holds.get(id)
    if (held === undefined) return 0
    this.#holds.delete(id)
    this.isChanged = true
    this.#total -= held.cost
    if (held.expiry === this.#latest) this.#latest = undefined
    return held.cost
  }

  removeAll(): void {
    this.#holds.clear()
    this.isChanged = true
    this.#total = 0
    this.#earliest = Number.POSITIVE_INFINITY
    this.#latest = 0
  }

  entries(): [string, number, number][] {
    return [...this.#holds].map(([id, { cost, expiry }]) => [id, cost, expiry])
  }
}

/** What a row without holds looks at. */
export const NO_HOLDS: Holds = new HoldBook()
