/**
 * Answers of allowed requests, ready but for their numbers. A template belongs to the rules that applied and
 * the limit on top. It is made of the contract's table of fields. Head and body are copied whole and the
 * digits written over spaces, which JSON and headers both allow before a number. What varies in length comes
 * last: `RateLimit` in the head, the receipt in the body. Only a plain yes has a template.
 */
import {
  type AnswerKind,
  DECISION_FIELDS,
  LIMIT_FIELDS,
  limitFieldsOf,
  plainFields,
  printDecisionField,
  type Slot,
} from '@sluice/contract'
import {
  type CompiledRule,
  type DecisionRecord,
  policyName,
  shortId,
} from '@sluice/limiter/transport'
import { RECEIPT, type Vouchers } from '../../../receipts/vouchers.js'
import { ANSWER_KINDS } from './answer-kinds.js'
import type { BytesOut } from './bytes-out.js'
import { type NumberPlace, TemplateText, writeNumbers } from './template-text.js'

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const COMMA = 44
const QUOTE = 34
const CLOSE = 125

/** Characters that `encodeURIComponent` leaves alone. */
const PLAIN = new Uint8Array(128)
for (const c of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()")
  PLAIN[c.charCodeAt(0)] = 1
const HEX = bytesOf('0123456789ABCDEF')

/** What a rule's part of a receipt says: `;name,scope,unit,`, and of each limit `,id,amount,`. */
interface RuleReceipt {
  readonly rule: Uint8Array
  readonly limits: readonly Uint8Array[]
}

export class AnswerTemplate {
  readonly #head: Head
  readonly #isSharded: boolean
  /** By the number of their kind; made when they are first needed. */
  readonly #bodies: (Body | undefined)[] = []

  private constructor(decision: DecisionRecord) {
    this.#head = new Head(decision)
    this.#isSharded = decision.transaction.rules.some(({ family }) => family.shards > 1)
  }

  static of(decision: DecisionRecord): AnswerTemplate | null {
    return isTemplatable(decision.transaction.rules) ? new AnswerTemplate(decision) : null
  }

  /** False if `used` cannot be derived from `remaining`: one of several shards is in debt. */
  fits({ answer }: DecisionRecord): boolean {
    return !(this.#isSharded && answer.hasSurplus)
  }

  /** The decision's own headers, after what every answer has; without the line end of the last. */
  writeHead(out: BytesOut, decision: DecisionRecord): void {
    this.#head.write(out, decision)
  }

  /** `kind` is a number of ANSWER_KINDS. False, and nothing written, where a value cannot go into a receipt as it is. */
  writeBody(out: BytesOut, decision: DecisionRecord, vouchers: Vouchers, kind: number): boolean {
    let body = this.#bodies[kind]
    if (body === undefined) {
      body = new Body(decision, vouchers, ANSWER_KINDS[kind]!)
      this.#bodies[kind] = body
    }
    return body.write(out, decision, vouchers)
  }
}

class Head {
  readonly #text: Uint8Array
  readonly #remainingAt: number
  readonly #resetAt: number
  readonly #width: number
  /** `"per-user";r=` of each limit. */
  readonly #states: readonly Uint8Array[]

  constructor(decision: DecisionRecord) {
    const burst = decision.top!.limit.numbers.burst
    const names = new Set<string>()
    const policies: string[] = []
    const states: Uint8Array[] = []
    for (const { rule, limit } of decision.answer.each()) {
      const window = Math.ceil(limit.windowSeconds(decision.decidedAt))
      const name = policyName(rule.name, window, names)
      const unit = rule.unit === 'requests' ? '' : `;qu="${rule.unit}"`
      policies.push(`"${name}";q=${limit.limit.amount};w=${window}${unit}`)
      states.push(bytesOf(`${policies.length > 1 ? ', ' : ''}"${name}";r=`))
    }
    this.#states = states
    this.#width = String(burst).length
    const head = new TemplateText()
    head.add(`\r\nX-RateLimit-Limit: ${burst}\r\nX-RateLimit-Remaining: `)
    this.#remainingAt = head.add(' '.repeat(this.#width))
    head.add('\r\nX-RateLimit-Reset: ')
    this.#resetAt = head.add(' '.repeat(10))
    head.add(`\r\nRateLimit-Policy: ${policies.join(', ')}\r\nRateLimit: `)
    this.#text = bytesOf(head.text)
  }

  write(out: BytesOut, { answer, topIndex }: DecisionRecord): void {
    const states = this.#states
    out.reserve(this.#text.length + 512 * (1 + states.length))
    const start = out.at
    out.copy(this.#text)
    const resetSeconds = Math.ceil(Math.ceil(answer.resetAt(topIndex) / 1000) / 1000)
    out.digits(start + this.#remainingAt, this.#width, answer.difference(topIndex))
    out.digits(start + this.#resetAt, 10, resetSeconds)
    const { decidedAt } = answer
    for (let i = 0; i < states.length; i++) {
      out.copyShort(states[i]!)
      out.integer(answer.difference(i))
      out.byte(59)
      out.byte(116)
      out.byte(61)
      const left = Math.ceil((answer.resetAt(i) - decidedAt) / 1_000_000)
      out.integer(left > 0 ? left : 0)
    }
  }
}

class Body {
  readonly #text: Uint8Array
  readonly #places: readonly NumberPlace[]
  /** Null where the answer has no receipt. */
  readonly #receipts: readonly RuleReceipt[] | null
  /** Where the text begins that is sealed. */
  readonly #sealedAt: number

  constructor(decision: DecisionRecord, vouchers: Vouchers, kind: AnswerKind) {
    const body = new TemplateText()
    let hasReceipt = false
    for (const [i, name] of plainFields(kind).entries()) {
      if (name === 'receipt') {
        hasReceipt = true
        continue
      }
      body.add(`${i === 0 ? '{' : ','}"${name}":`)
      const { slot } = DECISION_FIELDS[name] as { slot?: Slot }
      if (slot !== undefined) body.addPlace(slot, decision.limit!, decision.topIndex)
      else if (name === 'limits') addLimits(body, decision, kind)
      else body.add(JSON.stringify(printDecisionField(name, decision, { ...kind, vouchers })))
    }
    this.#sealedAt = hasReceipt ? body.add(',"receipt":"') + ',"receipt":"'.length : 0
    this.#receipts = hasReceipt ? receiptsOf(decision) : null
    const { namespace } = decision.transaction.rules[0]!.family
    body.add(hasReceipt ? `${RECEIPT};${namespace};` : '}')
    this.#text = bytesOf(body.text)
    this.#places = body.places
  }

  write(out: BytesOut, decision: DecisionRecord, vouchers: Vouchers): boolean {
    const receipts = this.#receipts
    out.reserve(this.#text.length + (receipts === null ? 0 : receiptRoom(decision)))
    const start = out.at
    out.copy(this.#text)
    writeNumbers(out, start, this.#places, decision.answer)
    if (
      receipts === null ||
      writeReceipt(out, decision, vouchers, receipts, start + this.#sealedAt)
    )
      return true
    out.at = start
    return false
  }
}

function addLimits(body: TemplateText, decision: DecisionRecord, kind: AnswerKind): void {
  body.add('[')
  for (const [i, limit] of decision.limits.entries()) {
    for (const [j, name] of limitFieldsOf(kind.isFull).entries()) {
      body.add(`${j > 0 ? ',' : i === 0 ? '{' : ',{'}"${name}":`)
      const { slot, print } = LIMIT_FIELDS[name]
      if (slot === undefined) body.add(JSON.stringify(print(limit)))
      else body.addPlace(slot, limit.limit, i)
    }
    body.add('}')
  }
  body.add(']')
}

function receiptsOf({ transaction }: DecisionRecord): RuleReceipt[] {
  return transaction.rules.map(({ name, scope, unit, limits }) => ({
    rule: bytesOf(`;${name},${scope},${unit},`),
    limits: limits.map((limit) => bytesOf(`,${shortId(limit)},${limit.numbers.amount},`)),
  }))
}

/** The most bytes that a receipt can have. */
function receiptRoom({ answer }: DecisionRecord): number {
  const { values } = answer.transaction
  let room = 128 + 512 * (1 + answer.size)
  for (let i = 0; i < values.length; i++) room += 3 * values[i]!.length
  return room
}

/** From its sealed part to the end of the body. False where a value cannot go into a receipt as it is. */
function writeReceipt(
  out: BytesOut,
  { answer }: DecisionRecord,
  vouchers: Vouchers,
  receipts: readonly RuleReceipt[],
  sealedAt: number,
): boolean {
  const { values, costs, cost } = answer.transaction
  const { decidedAt } = answer
  out.text(vouchers.instance)
  out.integer(vouchers.next())
  out.byte(59)
  out.integer(decidedAt)
  out.byte(59)
  out.byte(48)
  let limit = 0
  for (let i = 0; i < receipts.length; i++) {
    const { rule, limits } = receipts[i]!
    out.copyShort(rule)
    if (!writeEscaped(out, values[i]!)) return false
    out.byte(COMMA)
    out.integer(costs === null ? cost : costs[i]!)
    for (let j = 0; j < limits.length; j++, limit++) {
      out.copyShort(limits[j]!)
      out.integer(answer.mark(limit) - decidedAt)
      out.byte(COMMA)
      out.integer(answer.markRest(limit))
      out.byte(COMMA)
      out.integer(answer.givenBack(limit))
    }
  }
  out.at = vouchers.seal.closeBytes(out.bytes, sealedAt, out.at)
  out.byte(QUOTE)
  out.byte(CLOSE)
  return true
}

/** Every number of theirs is in the answer, and the rest never changes. */
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
  return !decision.degraded && !decision.replayed && !decision.transaction.dryRun
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
