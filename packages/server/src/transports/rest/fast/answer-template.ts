/**
 * Answers of yes, ready but for their numbers. A template belongs to the rules that applied and the limit
 * on top; head and body are copied whole and the digits written over spaces, which JSON and headers both
 * allow before a number. What varies in length comes last: `RateLimit` in the head, the receipt in the
 * body. Anything that is not a plain yes has no template.
 */
import {
  type CompiledRule,
  DECIDED_AT,
  DEGRADED,
  type DecisionRecord,
  FIRST_VERDICT,
  GIVEN_BACK,
  MARK,
  MARK_REST,
  policyName,
  REMAINING,
  RESET_AT,
  shortId,
  VERDICT_WIDTH,
} from '@sluice/limiter/transport'
import { RECEIPT, type Vouchers } from '../../../receipts/vouchers.js'
import type { BytesOut } from './bytes-out.js'

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const TIME = '2000-01-01T00:00:00.000Z'
const COMMA = 44
const RECEIPT_AT = '],"receipt":"'.length

/** Characters that `encodeURIComponent` leaves alone. */
const PLAIN = new Uint8Array(128)
for (const c of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()")
  PLAIN[c.charCodeAt(0)] = 1
const HEX = bytesOf('0123456789ABCDEF')

/** Where a limit's numbers go, and what its receipt says of it. */
interface LimitSlots {
  /** In the body; the widths of numbers are those of the largest that can come. */
  readonly remainingAt: number
  readonly width: number
  readonly resetAt: number
  /** `"per-user";r=` of the header. */
  readonly state: Uint8Array
  /** `,id,amount,` of the receipt. */
  readonly receipt: Uint8Array
}

interface RuleSlots {
  /** `;name,scope,unit,` of the receipt. */
  readonly receipt: Uint8Array
  readonly limits: readonly LimitSlots[]
}

/** The body up to its receipt, with the places of what varies. */
class TemplateText {
  text = ''

  add(text: string): number {
    const at = this.text.length
    this.text += text
    return at
  }
}

export class AnswerTemplate {
  readonly #body: Uint8Array
  readonly #head: Uint8Array
  readonly #remainingAt: number
  readonly #resetAt: number
  readonly #headRemainingAt: number
  readonly #headResetAt: number
  readonly #width: number
  readonly #rules: readonly RuleSlots[]
  /** Where in the body the text begins that is sealed. */
  readonly #sealedAt: number

  private constructor(decision: DecisionRecord) {
    const top = decision.top!
    const burst = top.limit.numbers.burst
    this.#width = String(burst).length
    const body = new TemplateText()
    body.add(`{"allowed":true,"limit":${burst},"remaining":`)
    this.#remainingAt = body.add(' '.repeat(this.#width))
    body.add(',"reset_at":"')
    this.#resetAt = body.add(TIME)
    body.add(
      `","retry_after":null,"delay":0,"state":"normal","reason":null,"rule":"${top.rule.name}","scope":"${top.rule.scope}","degraded":false,"degraded_reason":null,"limits":[`,
    )
    const names = new Set<string>()
    const policies: string[] = []
    this.#rules = decision.transaction.rules.map((rule, i) => ({
      receipt: bytesOf(`;${rule.name},${rule.scope},${rule.unit},`),
      limits: rule.limits.map((limit, j) => {
        if (i + j > 0) body.add(',')
        const { algorithm, amount } = limit.limit
        const seconds = limit.windowSeconds(decision.decidedAt)
        const width = String(limit.limit.burst).length
        body.add(
          `{"rule":"${rule.name}","scope":"${rule.scope}","algorithm":"${algorithm}","amount":${amount},"limit":${limit.limit.burst},"window_seconds":${seconds},"allowed":true,"remaining":`,
        )
        const remainingAt = body.add(' '.repeat(width))
        body.add(',"reset_at":"')
        const resetAt = body.add(TIME)
        body.add(`","retry_after":null,"unit":"${rule.unit}","shadow":false}`)
        const window = Math.ceil(seconds)
        const name = policyName(rule.name, window, names)
        const unit = rule.unit === 'requests' ? '' : `;qu="${rule.unit}"`
        policies.push(`"${name}";q=${amount};w=${window}${unit}`)
        return {
          remainingAt,
          width,
          resetAt,
          state: bytesOf(`${policies.length > 1 ? ', ' : ''}"${name}";r=`),
          receipt: bytesOf(`,${shortId(limit)},${limit.numbers.amount},`),
        }
      }),
    }))
    const { namespace } = decision.transaction.rules[0]!.family
    const sealed = body.add(`],"receipt":"${RECEIPT};${namespace};`) + RECEIPT_AT
    this.#sealedAt = sealed
    this.#body = bytesOf(body.text)
    const head = new TemplateText()
    head.add('\r\nX-RateLimit-Limit: ')
    head.add(`${burst}\r\nX-RateLimit-Remaining: `)
    this.#headRemainingAt = head.add(' '.repeat(this.#width))
    head.add('\r\nX-RateLimit-Reset: ')
    this.#headResetAt = head.add(' '.repeat(10))
    head.add(`\r\nRateLimit-Policy: ${policies.join(', ')}\r\nRateLimit: `)
    this.#head = bytesOf(head.text)
  }

  static of(decision: DecisionRecord): AnswerTemplate | null {
    return isTemplatable(decision.transaction.rules) ? new AnswerTemplate(decision) : null
  }

  /** The decision's own headers, after what every answer has; without the line end of the last. */
  writeHead(out: BytesOut, { verdicts, topAt }: DecisionRecord): void {
    out.reserve(this.#head.length + 64 * verdicts.length)
    const start = out.at
    out.copy(this.#head)
    const resetSeconds = Math.ceil(Math.ceil(verdicts[topAt + RESET_AT]! / 1000) / 1000)
    out.digits(start + this.#headRemainingAt, this.#width, verdicts[topAt + REMAINING]!)
    out.digits(start + this.#headResetAt, 10, resetSeconds)
    let at = FIRST_VERDICT
    const decidedAt = verdicts[DECIDED_AT]!
    for (const { limits } of this.#rules) {
      for (const { state } of limits) {
        out.copyShort(state)
        out.integer(verdicts[at + REMAINING]!)
        out.byte(59)
        out.byte(116)
        out.byte(61)
        const left = Math.ceil((verdicts[at + RESET_AT]! - decidedAt) / 1_000_000)
        out.integer(left > 0 ? left : 0)
        at += VERDICT_WIDTH
      }
    }
  }

  /** False, and nothing written, where a value cannot go into a receipt as it is. */
  writeBody(out: BytesOut, decision: DecisionRecord, vouchers: Vouchers): boolean {
    const { verdicts, topAt, transaction } = decision
    const { values, costs, cost } = transaction
    let room = this.#body.length + 128 + 64 * verdicts.length
    for (let i = 0; i < values.length; i++) room += 3 * values[i]!.length
    out.reserve(room)
    const start = out.at
    out.copy(this.#body)
    out.digits(start + this.#remainingAt, this.#width, verdicts[topAt + REMAINING]!)
    out.time(start + this.#resetAt, Math.ceil(verdicts[topAt + RESET_AT]! / 1000))
    const decidedAt = verdicts[DECIDED_AT]!
    const sealed = start + this.#sealedAt
    out.text(vouchers.instance)
    out.integer(vouchers.next())
    out.byte(59)
    out.integer(decidedAt)
    out.byte(59)
    out.byte(48)
    let at = FIRST_VERDICT
    for (let i = 0; i < this.#rules.length; i++) {
      const rule = this.#rules[i]!
      out.copyShort(rule.receipt)
      if (!writeEscaped(out, values[i]!)) {
        out.at = start
        return false
      }
      out.byte(COMMA)
      out.integer(costs === null ? cost : costs[i]!)
      for (const limit of rule.limits) {
        out.digits(start + limit.remainingAt, limit.width, verdicts[at + REMAINING]!)
        out.time(start + limit.resetAt, Math.ceil(verdicts[at + RESET_AT]! / 1000))
        out.copyShort(limit.receipt)
        out.integer(verdicts[at + MARK]! - decidedAt)
        out.byte(COMMA)
        out.integer(verdicts[at + MARK_REST]!)
        out.byte(COMMA)
        out.integer(verdicts[at + GIVEN_BACK]!)
        at += VERDICT_WIDTH
      }
    }
    out.at = vouchers.seal.closeBytes(out.bytes, sealed, out.at)
    out.byte(34)
    out.byte(125)
    return true
  }
}

/** Every number of theirs is in the verdicts, and the rest never changes. */
function isTemplatable(rules: readonly CompiledRule[]): boolean {
  return rules.every(
    ({ shadow, hasHolds, limits }) =>
      !shadow &&
      !hasHolds &&
      limits.every(
        ({ calendar, limit }) => calendar === null && limit.algorithm !== 'leaky_bucket',
      ),
  )
}

/** A plain yes: nothing warns, waits, degrades or replays. */
export function isPlainYes(decision: DecisionRecord): boolean {
  if (!decision.allowed || decision.state !== 'normal' || decision.topRule < 0) return false
  return decision.verdicts[DEGRADED] === 0 && !decision.replayed && !decision.transaction.dryRun
}

/** Found once, and called on whatever kind of string comes. */
// oxlint-disable-next-line typescript/unbound-method -- it is called on texts
const { charCodeAt } = String.prototype

function writeEscaped(out: BytesOut, value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const c = charCodeAt.call(value, i)
    if (c > 127) return false
    if (PLAIN[c] === 1) out.byte(c)
    else {
      out.byte(37)
      out.byte(HEX[c >> 4]!)
      out.byte(HEX[c & 15]!)
    }
  }
  return true
}
