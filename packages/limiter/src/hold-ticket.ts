/** A hold that a concurrency limit gave: renewed and released with it, whatever the rules are by then. */
import type { HoldPlace } from './stores/store.js'

export class HoldTicket {
  readonly id: string
  /** By the store's clock. */
  readonly expiresAtMs: number
  /** How long it lives unless it is renewed. */
  readonly timeoutMs: number
  /** @internal */ readonly rows: HoldPlace['rows']
  /** @internal */ readonly isDegraded: boolean

  /** @internal */
  constructor(
    id: string,
    rows: HoldPlace['rows'],
    expiresAtMs: number,
    timeoutMs: number,
    isDegraded: boolean,
  ) {
    this.id = id
    this.rows = rows
    this.expiresAtMs = expiresAtMs
    this.timeoutMs = timeoutMs
    this.isDegraded = isDegraded
  }

  toJSON(): { id: string; expiresAtMs: number } {
    return { id: this.id, expiresAtMs: this.expiresAtMs }
  }
}
