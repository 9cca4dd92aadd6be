/** Answers that are given again: this instance's own takes, whose receipts are the ones that count, and others'. */
import { TwoGenerations } from '../../rules/two-generations.js'
import { DECIDED_AT, type Transaction, type Verdicts } from '../store.js'
import { type Recalled, recallRecord } from './idempotency-record.js'
import type { Places } from './places.js'

export class Replays {
  readonly #places: Places
  readonly #own = new TwoGenerations<string, Recalled>(10_000)

  constructor(places: Places) {
    this.#places = places
  }

  /** This instance took, and the record says so. */
  note(key: string, transaction: Transaction, verdicts: Verdicts): void {
    this.#own.set(key, { transaction, verdicts })
  }

  /** The recorded answer, for a transaction that is marked as its replay. */
  answer(transaction: Transaction, key: string, record: Buffer): Verdicts {
    const recalled = recallRecord(
      record,
      this.#places.rules.get(transaction.idempotency!.namespace)!,
    )
    const own = this.#own.get(key)
    const isOwn = own?.verdicts[DECIDED_AT] === recalled.verdicts[DECIDED_AT]
    const replayed = isOwn ? own! : recalled
    ;(transaction as { replayOf: Transaction | null }).replayOf = replayed.transaction
    return replayed.verdicts
  }
}
