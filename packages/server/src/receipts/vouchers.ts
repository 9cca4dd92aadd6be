/**
 * What a caller is given to come back with: a receipt for what was taken, a reservation, a hold. Each is
 * sealed text that any instance with the same secret can read, good in one namespace, and receipts and
 * reservations are honoured once: whichever of the two comes first for one take.
 */
import { randomBytes } from 'node:crypto'
import type { HoldTicket, Limiter, Receipt, Units } from '@sluice/limiter'
import {
  type DecisionRecord,
  type NotConfirmed,
  printHold,
  printReceipt,
  readHold,
  readReceipt,
} from '@sluice/limiter/transport'
import { GOOD_FOR_MS, NotDone, type Once, OutcomeUnknown } from './once.js'
import { Seal } from './seal.js'

/** What a sealed text is for; no kind passes for another. */
export const RECEIPT = 'r'
const RESERVATION = 'v'
const HOLD = 'h'

/** A receipt or reservation that came back. */
interface Voucher {
  readonly kind: string
  readonly id: string
  readonly decidedAtMs: number
  readonly receipt: Receipt
}

export interface Settled {
  readonly given_back: Units
  readonly taken: Units
}

export interface VouchersParts {
  /** 16 bytes. */
  readonly secret: Uint8Array
  readonly once: Once
  /** Milliseconds since the epoch, by the clock that decides. */
  readonly now: () => number
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
  readonly #now: () => number
  /** An answer that can be given again has one receipt. */
  readonly #ids = new WeakMap<object, string>()

  constructor({ secret, once, now }: VouchersParts) {
    this.#secret = secret
    this.seal = new Seal(secret)
    this.#once = once
    this.#now = now
  }

  /** From now on seals with another secret; what was sealed before is still known. */
  adopt(secret: Uint8Array): void {
    if (Buffer.compare(secret, this.#secret) === 0) return
    this.#secret = secret
    this.#before = this.seal
    this.seal = new Seal(secret)
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
    const { namespace } = hold.rows[0]!.rule.family
    return this.seal.close(`${HOLD};${namespace};${printHold(hold)}`)
  }

  #voucherOf(kind: string, decision: DecisionRecord): string | null {
    const text = printReceipt(decision)
    if (text === null) return null
    const { namespace } = decision.transaction.rules[0]!.family
    return this.seal.close(`${kind};${namespace};${this.#idOf(decision)};${text}`)
  }

  #idOf({ transaction, answer }: DecisionRecord): string {
    if (transaction.idempotency === null) return `${this.instance}${this.next()}`
    const known = this.#ids.get(answer.numbers)
    if (known !== undefined) return known
    const id = `${this.instance}${this.next()}`
    this.#ids.set(answer.numbers, id)
    return id
  }

  /** Gives back what a receipt was given for: all of it, or these amounts. Null: no receipt of ours. */
  async refund(limiter: Limiter, sealed: string, amounts: Units | null): Promise<Units | null> {
    const voucher = this.#open(RECEIPT, limiter, sealed)
    if (voucher === null) return null
    const nothing = Object.fromEntries(Object.keys(voucher.receipt.left).map((unit) => [unit, 0]))
    return this.#honour<Units>(voucher, amounts ?? {}, async (receipt) => {
      const refunded = done(await limiter.changes.refund(receipt, amounts ?? undefined))
      return { ...(amounts === null ? nothing : {}), ...refunded }
    })
  }

  /** Corrects a reservation to what was used. Null: no reservation of ours. */
  async settle(limiter: Limiter, sealed: string, used: Units): Promise<Settled | null> {
    const voucher = this.#open(RESERVATION, limiter, sealed)
    if (voucher === null) return null
    return this.#honour<Settled>(voucher, {}, async (receipt) => {
      const { givenBack, taken } = done(await limiter.changes.settle(receipt, used))
      return { given_back: givenBack, taken }
    })
  }

  /** The hold of a text that was given for one; null: none of ours. */
  openHold(limiter: Limiter, sealed: string): HoldTicket | null {
    const text = this.#unsealed(HOLD, limiter, sealed)
    return text === null ? null : readHold(text, limiter.rules)
  }

  /** The namespace that a text was sealed for; null: not sealed here. */
  namespaceOf(sealed: string): string | null {
    return this.#opened(sealed)?.split(';', 2)[1] ?? null
  }

  #opened(sealed: string): string | null {
    return this.seal.open(sealed) ?? this.#before?.open(sealed) ?? null
  }

  /** What follows the kind and the namespace; null: not sealed here, or for something else. */
  #unsealed(kind: string, { rules }: Limiter, sealed: string): string | null {
    const text = this.#opened(sealed)
    const start = `${kind};${rules.namespace};`
    return text?.startsWith(start) === true ? text.slice(start.length) : null
  }

  #open(kind: string, limiter: Limiter, sealed: string): Voucher | null {
    const text = this.#unsealed(kind, limiter, sealed)
    if (text === null) return null
    const end = text.indexOf(';')
    const body = text.slice(end + 1)
    const decidedAtMs = Number(body.slice(0, body.indexOf(';'))) / 1000
    if (decidedAtMs < this.#now() - GOOD_FOR_MS) return null
    const receipt = readReceipt(body, limiter.rules)
    return { kind, id: text.slice(0, end), decidedAtMs, receipt }
  }

  /** Once; the same request again gets the first answer, another one is a conflict. */
  async #honour<T>(
    { kind, id, decidedAtMs, receipt }: Voucher,
    request: Units,
    work: (receipt: Receipt) => Promise<T>,
  ): Promise<T> {
    const amounts = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1))
    const asked = JSON.stringify([kind, amounts])
    const isOwn = id.startsWith(this.instance)
    const number = isOwn ? Number(id.slice(this.instance.length)) : null
    const given = { at: decidedAtMs, number, count: this.#count }
    const first = await this.#once.run(id, given, async () =>
      JSON.stringify([asked, await work(receipt)]),
    )
    const [before, answer] = JSON.parse(first) as [string, T]
    if (before !== asked) throw new Conflict('it was used before, for something else')
    return answer
  }
}

/** What was changed; throws where nothing was, or where that is not known. */
function done<T>(result: T | NotConfirmed): T {
  if (result === 'not_done') throw new NotDone('the store cannot be asked')
  if (result === 'unknown')
    throw new OutcomeUnknown('the store did not answer in time; it may have been done')
  return result
}

/** The voucher was used before, for something else. */
export class Conflict extends Error {}
