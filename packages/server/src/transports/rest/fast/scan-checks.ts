/**
 * Reads the plain bodies of checks from a text of one-byte characters, many times quicker than parsing.
 * What it accepts, the ordinary reader accepts too, and reads alike; whatever it does not accept is left
 * to that one, so that meaning lives in one place. Accepted: known fields once each, strings of printable
 * ASCII without escapes, whole numbers, spaces between tokens. Nothing is decided while scanning: a bad
 * check at the end of a batch must find nothing counted.
 */
import type { Limiter, Request } from '@sluice/limiter'
import { isPlainIpv4 } from '@sluice/limiter/transport'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92
const OPEN = 123
const CLOSE = 125
const OPEN_LIST = 91
const CLOSE_LIST = 93
const SPACE = 32

const LONGEST_VALUE = 1024
const LONGEST_RESOURCE = 2048
const MOST_SCOPES = 16
const TIER = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

/** The fields that are known here; each has a bit. */
const SUBJECT = 1
const RESOURCE = 2
const METHOD = 4
const COST = 8
const TIER_FIELD = 16
const NAMESPACE = 32

export class CheckScanner {
  readonly #limiter: Limiter
  #text = ''
  #at = 0
  #rules: Limiter['rules'] | null = null
  #scopes: readonly string[] = []

  constructor(limiter: Limiter) {
    this.#limiter = limiter
  }

  /** The one check of a body; null: not for this reader. */
  single(text: string): Request | null {
    this.#begin(text)
    const request = this.#check()
    this.#skip()
    return request !== null && this.#at === text.length ? request : null
  }

  /** Reads `{"checks":[…]}` into `into`; false: not for this reader. */
  batch(text: string, into: Request[], most: number): boolean {
    this.#begin(text)
    if (!this.#take(OPEN) || !this.#word('checks') || !this.#take(COLON) || !this.#take(OPEN_LIST))
      return false
    this.#skip()
    if (text.charCodeAt(this.#at) === CLOSE_LIST) this.#at++
    else
      for (;;) {
        const request = into.length < most ? this.#check() : null
        if (request === null) return false
        into.push(request)
        if (this.#take(COMMA)) continue
        if (this.#take(CLOSE_LIST)) break
        return false
      }
    if (!this.#take(CLOSE)) return false
    this.#skip()
    return this.#at === text.length
  }

  #begin(text: string): void {
    this.#text = text
    this.#at = 0
    if (this.#rules === this.#limiter.rules) return
    this.#rules = this.#limiter.rules
    this.#scopes = [...this.#rules.scopes].filter((scope) => scope !== 'global')
  }

  #skip(): void {
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at++
  }

  /** Whether this character comes next, spaces aside; then it is behind. */
  #take(character: number): boolean {
    this.#skip()
    if (this.#text.charCodeAt(this.#at) !== character) return false
    this.#at++
    return true
  }

  /** Whether this word in quotes comes next. */
  #word(word: string): boolean {
    if (!this.#take(QUOTE) || !this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    if (this.#text.charCodeAt(this.#at) !== QUOTE) return false
    this.#at++
    return true
  }

  /** The text in quotes that comes next; null where it is empty, too long, or not plain. */
  #string(longest: number): string | null {
    if (!this.#take(QUOTE)) return null
    const text = this.#text
    const start = this.#at
    let at = start
    for (; ; at++) {
      const c = text.charCodeAt(at)
      if (c === QUOTE) break
      // Past the end it is NaN, which no comparison holds for.
      if (!(c >= 32 && c < 127) || c === BACKSLASH) return null
    }
    this.#at = at + 1
    const length = at - start
    return length === 0 || length > longest ? null : text.substring(start, at)
  }

  /** One of these words in quotes: the word itself, so that nothing is made. */
  #oneOf(words: readonly string[]): string | null {
    if (!this.#take(QUOTE)) return null
    const text = this.#text
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!
      const end = this.#at + word.length
      if (text.charCodeAt(end) !== QUOTE || !text.startsWith(word, this.#at)) continue
      this.#at = end + 1
      return word
    }
    return null
  }

  #number(): number {
    this.#skip()
    let value = 0
    const start = this.#at
    for (; ; this.#at++) {
      const digit = this.#text.charCodeAt(this.#at) - 48
      if (!(digit >= 0 && digit <= 9)) break
      value = value * 10 + digit
    }
    const digits = this.#at - start
    const next = this.#text.charCodeAt(this.#at)
    if (next !== COMMA && next !== CLOSE && next !== SPACE) return 0
    return digits === 0 || digits > 6 || this.#text.charCodeAt(start) === 48 ? 0 : value
  }

  #field(): number {
    if (!this.#take(QUOTE)) return 0
    switch (this.#text.charCodeAt(this.#at)) {
      case 115:
        return this.#named('subject"', SUBJECT)
      case 114:
        return this.#named('resource"', RESOURCE)
      case 109:
        return this.#named('method"', METHOD)
      case 99:
        return this.#named('cost"', COST)
      case 116:
        return this.#named('tier"', TIER_FIELD)
      case 110:
        return this.#named('namespace"', NAMESPACE)
      default:
        return 0
    }
  }

  #named(rest: string, bit: number): number {
    if (!this.#text.startsWith(rest, this.#at)) return 0
    this.#at += rest.length
    return bit
  }

  #check(): Request | null {
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
          if (cost === 0 || cost > 100_000) return null
          break
        case TIER_FIELD:
          tier = this.#string(64)
          if (tier === null || !TIER.test(tier)) return null
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
