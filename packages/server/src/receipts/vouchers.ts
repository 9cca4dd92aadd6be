/**
 * What a caller is given to come back with: a receipt for what was taken, a reservation, a hold. Each is
 * sealed text that any instance with the same secret can read, and receipts and reservations are honoured
 * once.
 */
import { randomBytes } from 'node:crypto'
import type { HoldTicket, Limiter, Receipt, Units } from '@sluice/limiter'
import {
  type DecisionRecord,
  printHold,
  printReceipt,
  readHold,
  readReceipt,
} from '@sluice/limiter/transport'
import { GOOD_FOR_MS, type Once } from './once.js'
import { Seal } from './seal.js'

/** What a sealed text is for; no kind passes for another. */
export const RECEIPT = 'r'
const RESERVATION = 'v'
const HOLD = 'h'

/** A receipt or reservation that came back. */
interface Voucher {
  readonly id: string
  readonly decidedAtMs: number
  readonly receipt: Receipt
}

export interface Settled {
  readonly given_back: Units
  readonly taken: Units
}

export class Vouchers {
  seal: Seal
  /** What was sealed before the secret was shared. */
  #before: Seal | null = null
  #secret: Uint8Array
  /** Every id starts with it, so that no two instances give the same. */
  readonly instance = randomBytes(6).toString('base64url')
  #count = 0
  readonly #once: Once
  /** An answer that is given again has one receipt. */
  readonly #ids = new WeakMap<object, string>()

  constructor(secret: Uint8Array, once: Once) {
    this.#secret = secret
    this.seal = new Seal(secret)
    this.#once = once
  }

  /** From now on seals with another secret; what was sealed before is still known. */
  adopt(secret: Uint8Array): void {
    if (Buffer.compare(secret, this.#secret) === 0) return
    this.#secret = secret
    this.#before = this.seal
    this.seal = new Seal(secret)
  }

  #unsealed(sealed: string): string | null {
    return this.seal.open(sealed) ?? this.#before?.open(sealed) ?? null
  }

  /** A number that no other voucher of this process has. */
  next(): number {
    return this.#count++
  }

  receiptOf(decision: DecisionRecord): string | null {
    return this.#voucherOf(RECEIPT, decision)
  }

  reservationOf(decision: DecisionRecord): string | null {
    return this.#voucherOf(RESERVATION, decision)
  }

  holdOf(hold: HoldTicket): string {
    return this.seal.close(`${HOLD};${printHold(hold)}`)
  }

  #voucherOf(kind: string, decision: DecisionRecord): string | null {
    const text = printReceipt(decision)
    return text === null ? null : this.seal.close(`${kind};${this.#idOf(decision)};${text}`)
  }

  #idOf(decision: DecisionRecord): string {
    const known = this.#ids.get(decision.verdicts)
    if (known !== undefined) return known
    const id = `${this.instance}${this.next()}`
    this.#ids.set(decision.verdicts, id)
    return id
  }

  /** Gives back what a receipt was given for: all of it, or these amounts. Null: no receipt of ours. */
  async refund(limiter: Limiter, sealed: string, amounts: Units | null): Promise<Units | null> {
    const voucher = this.#open(RECEIPT, sealed, limiter)
    if (voucher === null) return null
    return this.#honour<Units>(voucher, amounts ?? {}, () =>
      limiter.refund(voucher.receipt, amounts ?? undefined),
    )
  }

  /** Corrects a reservation to what was used. Null: no reservation of ours. */
  async settle(limiter: Limiter, sealed: string, used: Units): Promise<Settled | null> {
    const voucher = this.#open(RESERVATION, sealed, limiter)
    if (voucher === null) return null
    return this.#honour<Settled>(voucher, {}, async () => {
      const { givenBack, taken } = await limiter.settle(voucher.receipt, used)
      return { given_back: givenBack, taken }
    })
  }

  /** The hold of a text that was given for one; null: none of ours. */
  openHold(sealed: string, limiter: Limiter): HoldTicket | null {
    const text = this.#unsealed(sealed)
    if (text === null || !text.startsWith(`${HOLD};`)) return null
    return readHold(text.slice(2), limiter.rules)
  }

  #open(kind: string, sealed: string, limiter: Limiter): Voucher | null {
    const text = this.#unsealed(sealed)
    if (text === null || !text.startsWith(`${kind};`)) return null
    const end = text.indexOf(';', 2)
    const body = text.slice(end + 1)
    const decidedAtMs = Number(body.slice(0, body.indexOf(';'))) / 1000
    if (decidedAtMs < Date.now() - GOOD_FOR_MS) return null
    const receipt = readReceipt(body, limiter.rules)
    return { id: text.slice(2, end), decidedAtMs, receipt }
  }

  /** Once; the same request again gets the first answer, another one is a conflict. */
  async #honour<T>(voucher: Voucher, request: Units, work: () => Promise<T>): Promise<T> {
    const asked = JSON.stringify(Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1)))
    const first = await this.#once.run(voucher.id, voucher.decidedAtMs, async () =>
      JSON.stringify([asked, await work()]),
    )
    const [before, answer] = JSON.parse(first) as [string, T]
    if (before !== asked) throw new Conflict('it was used for other amounts')
    return answer
  }
}

/** The voucher was used before, for something else. */
export class Conflict extends Error {}
