/**
 * Reads the plain bodies of checks from their bytes, many times quicker than parsing. What it accepts,
 * the ordinary reader accepts too, and reads alike; whatever it does not accept is left to that one, so
 * that meaning lives in one place. Accepted: known fields once each, strings of printable ASCII without
 * escapes, whole numbers, spaces between tokens. Nothing is decided while scanning: a bad check at the
 * end of a batch must find nothing counted.
 *
 * Bytes are looked at one by one, never the characters of a string: strings come in many shapes, and a
 * loop over those costs three times as much.
 */
import { INCLUDES, type Include } from '@sluice/contract'
import type { Limiter, Request } from '@sluice/limiter'
import {
  isPlainIpv4,
  LONGEST_RESOURCE,
  LONGEST_VALUE,
  MOST_COST,
  TIER,
} from '@sluice/limiter/transport'
import { INCLUDE_BITS } from './answer-kinds.js'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92
const OPEN = 123
const CLOSE = 125
const OPEN_LIST = 91
const CLOSE_LIST = 93
const SPACE = 32

const MOST_SCOPES = 16

/** A text and its bytes with the closing quote. */
interface Word {
  readonly text: string
  readonly bytes: Uint8Array
}

const wordOf = (text: string): Word => ({ text, bytes: Buffer.from(`${text}"`, 'latin1') })
const wordsOf = (texts: Iterable<string>): Word[] => [...texts].map(wordOf)

const METHODS = wordsOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/** The fields that are known here; each has a bit. */
const SUBJECT = 1
const RESOURCE = 2
const METHOD = 4
const COST = 8
const TIER_FIELD = 16
const NAMESPACE = 32
const INCLUDE = 64
const FIELDS = {
  subject: wordOf('subject').bytes,
  resource: wordOf('resource').bytes,
  method: wordOf('method').bytes,
  cost: wordOf('cost').bytes,
  tier: wordOf('tier').bytes,
  namespace: wordOf('namespace').bytes,
  include: wordOf('include').bytes,
  checks: wordOf('checks').bytes,
}

/** The fields that are read here; each is one of the contract's, as a test says. */
export const SCANNED_FIELDS = Object.keys(FIELDS)

const INCLUDE_WORDS = wordsOf(INCLUDES)

export class CheckScanner {
  readonly #limiter: Limiter
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0
  /** The same bytes as a text, to cut values from; and where in the bytes it begins. */
  #text = ''
  #textAt = 0
  #rules: Limiter['rules'] | null = null
  #scopes: readonly Word[] = []
  /** What the answer of the last body is to have besides, in bits. */
  include = 0

  constructor(limiter: Limiter) {
    this.#limiter = limiter
  }

  /** The one check of a body; null: not for this reader. */
  single(bytes: Buffer, start: number, end: number): Request | null {
    this.#begin(bytes, start, end)
    const request = this.#check(true)
    return request !== null && this.#isOver() ? request : null
  }

  /** Reads `{"checks":[…],"include":[…]}` into `into`; false: not for this reader. */
  batch(bytes: Buffer, start: number, end: number, into: Request[], most: number): boolean {
    this.#begin(bytes, start, end)
    let hasChecks = false
    let hasInclude = false
    if (!this.#take(OPEN)) return false
    do {
      if (!this.#take(QUOTE)) return false
      if (!hasChecks && this.#takes(FIELDS.checks)) {
        hasChecks = true
        if (!this.#take(COLON) || !this.#checks(into, most)) return false
      } else if (!hasInclude && this.#takes(FIELDS.include)) {
        hasInclude = true
        if (!this.#take(COLON) || !this.#readInclude()) return false
      } else return false
    } while (this.#take(COMMA))
    return hasChecks && this.#take(CLOSE) && this.#isOver()
  }

  #checks(into: Request[], most: number): boolean {
    if (!this.#take(OPEN_LIST)) return false
    if (this.#take(CLOSE_LIST)) return true
    do {
      const request = into.length < most ? this.#check(false) : null
      if (request === null) return false
      into.push(request)
    } while (this.#take(COMMA))
    return this.#take(CLOSE_LIST)
  }

  /** A list of known words. */
  #readInclude(): boolean {
    if (!this.#take(OPEN_LIST)) return false
    if (this.#take(CLOSE_LIST)) return true
    do {
      const word = this.#oneOf(INCLUDE_WORDS)
      if (word === null) return false
      this.include |= INCLUDE_BITS[word as Include]
    } while (this.#take(COMMA))
    return this.#take(CLOSE_LIST)
  }

  #begin(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#text = bytes.toString('latin1', start, end)
    this.#textAt = start
    this.include = 0
    if (this.#rules === this.#limiter.rules) return
    this.#rules = this.#limiter.rules
    this.#scopes = wordsOf(this.#rules.scopes).filter(({ text }) => text !== 'global')
  }

  /** The next byte that is no space; 0 at the end. */
  #next(): number {
    const bytes = this.#bytes
    const end = this.#end
    let at = this.#at
    while (at < end && bytes[at] === SPACE) at++
    this.#at = at
    return at < end ? bytes[at]! : 0
  }

  #isOver(): boolean {
    this.#next()
    return this.#at === this.#end
  }

  /** Whether this byte comes next, spaces aside; then it is behind. */
  #take(byte: number): boolean {
    if (this.#next() !== byte) return false
    this.#at++
    return true
  }

  /** Whether just these bytes come next; then they are behind. */
  #takes(word: Uint8Array): boolean {
    const bytes = this.#bytes
    const at = this.#at
    const length = word.length
    if (at + length > this.#end) return false
    for (let i = 0; i < length; i++) if (bytes[at + i] !== word[i]) return false
    this.#at = at + length
    return true
  }

  /** The text in quotes that comes next; null where it is empty, too long, or not plain. */
  #string(longest: number): string | null {
    if (!this.#take(QUOTE)) return null
    const bytes = this.#bytes
    const end = this.#end
    const start = this.#at
    let at = start
    while (at < end) {
      const byte = bytes[at]!
      if (byte === QUOTE) break
      if (byte < 32 || byte > 126 || byte === BACKSLASH) return null
      at++
    }
    const length = at - start
    if (at >= end || length === 0 || length > longest) return null
    this.#at = at + 1
    return this.#text.substring(start - this.#textAt, at - this.#textAt)
  }

  /** One of these words in quotes: the word itself, so that nothing is made. */
  #oneOf(words: readonly Word[]): string | null {
    if (!this.#take(QUOTE)) return null
    for (let i = 0; i < words.length; i++) if (this.#takes(words[i]!.bytes)) return words[i]!.text
    return null
  }

  #number(): number {
    this.#next()
    const bytes = this.#bytes
    const start = this.#at
    let value = 0
    while (this.#at < this.#end) {
      const digit = bytes[this.#at]! - 48
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
      this.#at++
    }
    const digits = this.#at - start
    const next = this.#at < this.#end ? bytes[this.#at]! : 0
    if (next !== COMMA && next !== CLOSE && next !== SPACE) return 0
    return digits === 0 || digits > 6 || bytes[start] === 48 ? 0 : value
  }

  #field(): number {
    if (!this.#take(QUOTE)) return 0
    switch (this.#at < this.#end ? this.#bytes[this.#at]! : 0) {
      case 115:
        return this.#takes(FIELDS.subject) ? SUBJECT : 0
      case 114:
        return this.#takes(FIELDS.resource) ? RESOURCE : 0
      case 109:
        return this.#takes(FIELDS.method) ? METHOD : 0
      case 99:
        return this.#takes(FIELDS.cost) ? COST : 0
      case 116:
        return this.#takes(FIELDS.tier) ? TIER_FIELD : 0
      case 110:
        return this.#takes(FIELDS.namespace) ? NAMESPACE : 0
      case 105:
        return this.#takes(FIELDS.include) ? INCLUDE : 0
      default:
        return 0
    }
  }

  /** `isSingle`: it may say what its answer is to have besides. */
  #check(isSingle: boolean): Request | null {
    if (!this.#take(OPEN)) return null
    let seen = 0
    let subject: Record<string, string> | null = null
    let resource: string | null = null
    let method: string | null = null
    let tier: string | null = null
    let cost = 0
    do {
      const field = this.#field()
      if (field === 0 || (seen & field) !== 0 || !this.#take(COLON)) return null
      seen |= field
      switch (field) {
        case SUBJECT:
          subject = this.#subject()
          if (subject === null) return null
          break
        case RESOURCE:
          resource = this.#string(LONGEST_RESOURCE)
          if (resource === null) return null
          break
        case METHOD:
          method = this.#oneOf(METHODS)
          if (method === null) return null
          break
        case COST:
          cost = this.#number()
          if (cost === 0 || cost > MOST_COST) return null
          break
        case TIER_FIELD:
          tier = this.#string(64)
          if (tier === null || !TIER.test(tier)) return null
          break
        case INCLUDE:
          if (!isSingle || !this.#readInclude()) return null
          break
        default:
          if (this.#string(64) !== this.#rules!.namespace) return null
      }
    } while (this.#take(COMMA))
    if (!this.#take(CLOSE) || subject === null) return null
    return requestOf(subject, resource, method, cost, tier)
  }

  #subject(): Record<string, string> | null {
    if (!this.#take(OPEN)) return null
    const subject: Record<string, string> = {}
    if (this.#take(CLOSE)) return subject
    let count = 0
    do {
      const scope = this.#oneOf(this.#scopes)
      if (scope === null || !this.#take(COLON)) return null
      const value = this.#string(LONGEST_VALUE)
      if (value === null || subject[scope] !== undefined || ++count > MOST_SCOPES) return null
      if (scope === 'ip' && !isPlainIpv4(value) && !this.#isAddress(value)) return null
      subject[scope] = value
    } while (this.#take(COMMA))
    return this.#take(CLOSE) ? subject : null
  }

  #isAddress(ip: string): boolean {
    try {
      this.#limiter.validate({ subject: { ip } })
      return true
    } catch {
      return false
    }
  }
}

/** Literals, so that the common requests have one shape each. */
function requestOf(
  subject: Record<string, string>,
  resource: string | null,
  method: string | null,
  cost: number,
  tier: string | null,
): Request {
  if (cost === 0 && tier === null && resource !== null)
    return method === null ? { subject, resource } : { subject, resource, method }
  const request: Record<string, unknown> = { subject }
  if (resource !== null) request['resource'] = resource
  if (method !== null) request['method'] = method
  if (cost !== 0) request['cost'] = cost
  if (tier !== null) request['tier'] = tier
  return request
}
