/** A hold that a concurrency limit gave: renewed and released with it, whatever the rules are by then. */
import type { CompiledRule } from './rules/compiled-rule.js'

/** A row that holds its id. */
export interface HeldRow {
  readonly rule: CompiledRule
  readonly value: string
}

export class HoldTicket {
  readonly id: string
  /** By the store's clock. */
  readonly expiresAtMs: number
  /** How long it lives unless it is renewed. */
  readonly timeoutMs: number
  /** @internal */ readonly rows: readonly HeldRow[]
  /** @internal */ readonly isDegraded: boolean

  /** @internal */
  constructor(
    id: string,
    rows: readonly HeldRow[],
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
