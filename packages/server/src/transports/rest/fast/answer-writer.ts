/** Whole answers as bytes: by template where there is one, else as the ordinary way has them. */
import { STATUS_CODES } from 'node:http'
import type { DecisionRecord } from '@sluice/limiter/transport'
import type { Decisions } from '../../../decisions.js'
import type { Reply } from '../../../http/route.js'
import { answerOf, statusOf } from '../../../http/wire-answer.js'
import { ANSWER_KINDS, FULL } from './answer-kinds.js'
import type { BytesOut } from './bytes-out.js'
import { Templates } from './templates.js'

const HEAD = Buffer.from('\r\nContent-Type: application/json\r\nContent-Length:         ', 'latin1')
const LENGTH_DIGITS = 8
const CLOSE = Buffer.from('\r\nConnection: close', 'latin1')
const BODY = Buffer.from('\r\n\r\n', 'latin1')
const OPEN_RESULTS = Buffer.from('{"results":[', 'latin1')
const CLOSE_RESULTS = Buffer.from(']}', 'latin1')
const COMMA = 44

export class AnswerWriter {
  readonly #decisions: Decisions
  readonly #templates: Templates
  /** Of the rules that the templates were made by. */
  #changes = -1
  /** `HTTP/1.1 200 OK` and the date, which changes once a second. */
  #ok = Buffer.alloc(0)
  #okUntil = 0

  constructor(decisions: Decisions) {
    this.#decisions = decisions
    this.#templates = new Templates(decisions.headerFamilies)
  }

  /** `include`: the bits of what was asked for besides. */
  single(out: BytesOut, decision: DecisionRecord, closes: boolean, include: number): void {
    const kind = this.#kindOf(include)
    const template = this.#templateOf(decision)
    if (template !== null) {
      const start = out.at
      const lengthAt = this.#openOk(out)
      template.writeHead(out, decision)
      const body = this.#openBody(out, closes)
      if (template.writeBody(out, decision, this.#decisions.vouchers, kind)) {
        out.digits(lengthAt, LENGTH_DIGITS, out.at - body)
        return
      }
      out.at = start
    }
    const { vouchers, headerFamilies } = this.#decisions
    const headers = decision.toHeaders(headerFamilies)
    const body = answerOf(decision, vouchers, ANSWER_KINDS[kind]!)
    this.reply(out, { status: statusOf(decision), headers, body }, closes)
  }

  batch(
    out: BytesOut,
    decisions: readonly DecisionRecord[],
    closes: boolean,
    include: number,
  ): void {
    const kind = this.#kindOf(include)
    out.reserve(1024)
    const lengthAt = this.#openOk(out)
    const body = this.#openBody(out, closes)
    out.copy(OPEN_RESULTS)
    const { vouchers } = this.#decisions
    for (let i = 0; i < decisions.length; i++) {
      const decision = decisions[i]!
      out.reserve(2)
      if (i > 0) out.byte(COMMA)
      const template = this.#templateOf(decision)
      if (template?.writeBody(out, decision, vouchers, kind) === true) continue
      const bytes = Buffer.from(JSON.stringify(answerOf(decision, vouchers, ANSWER_KINDS[kind]!)))
      out.reserve(bytes.length)
      out.copy(bytes)
    }
    out.reserve(2)
    out.copy(CLOSE_RESULTS)
    out.digits(lengthAt, LENGTH_DIGITS, out.at - body)
  }

  /** What the ordinary way answered. */
  reply(out: BytesOut, { status, headers = {}, body }: Reply, closes: boolean): void {
    const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body))
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nDate: ${new Date().toUTCString()}`
    head += `\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}`
    for (const [name, value] of Object.entries(headers)) head += `\r\n${name}: ${value}`
    if (closes) head += '\r\nConnection: close'
    out.text(`${head}\r\n\r\n`)
    out.reserve(bytes.length)
    out.copy(bytes)
  }

  #kindOf(include: number): number {
    return this.#decisions.answers === 'full' ? FULL : include
  }

  #templateOf(decision: DecisionRecord) {
    const { changes } = this.#decisions.tenants
    if (changes !== this.#changes) {
      this.#changes = changes
      this.#templates.forget()
    }
    return this.#templates.of(decision)
  }

  /** The head up to the length, whose place it answers. */
  #openOk(out: BytesOut): number {
    const now = Date.now()
    if (now >= this.#okUntil || now < this.#okUntil - 1000) {
      this.#okUntil = now - (now % 1000) + 1000
      this.#ok = Buffer.from(`HTTP/1.1 200 OK\r\nDate: ${new Date(now).toUTCString()}`, 'latin1')
    }
    out.reserve(256)
    out.copy(this.#ok)
    out.copy(HEAD)
    return out.at - LENGTH_DIGITS
  }

  /** Ends the head; answers where the body begins. */
  #openBody(out: BytesOut, closes: boolean): number {
    out.reserve(64)
    if (closes) out.copy(CLOSE)
    out.copyShort(BODY)
    return out.at
  }
}
