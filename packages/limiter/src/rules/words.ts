/** The names and values that rules and requests are made of: what is well-formed, and what else is wrong with them. */
import { type Cidr, parseCidr, printIp } from './ip-address.js'

export const LONGEST_VALUE = 1024

export const SCOPE = /^[a-z][a-z0-9_]{0,31}$/
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(@[A-Za-z0-9][A-Za-z0-9_.-]{0,63})?$/
export const TIER = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
export const UNIT = /^[a-z][a-z0-9_]{0,31}$/
export const METHOD = /^[A-Za-z][A-Za-z-]{0,31}$/
export const NAMESPACE = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/

export const BUILT_IN_SCOPES = ['user', 'api_key', 'ip', 'org', 'global'] as const

/** In characters, of which some are two units of a JavaScript string. */
export const lengthOf = (text: string): number => Array.from(text).length

export function hasControlCharacters(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c < 32 || c === 127) return true
  }
  return false
}

/** Characters that show the text after them in another order: a reader sees something else than is there. */
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/

/** What is wrong with a line that people read; undefined if nothing is. */
export function lineFault(text: string): string | undefined {
  if (hasControlCharacters(text))
    return 'holds control characters, such as a line break; write it in one line'
  if (text.trim() === '') return 'has only spaces; leave it out'
  if (BIDI_CONTROLS.test(text))
    return 'holds characters that change the order in which text is shown (U+202A to U+202E, U+2066 to U+2069)'
  return text.isWellFormed() ? undefined : 'holds half a surrogate pair'
}

/** Found once, and called on whatever kind of string comes: this is read for every value of a request. */
// oxlint-disable-next-line typescript/unbound-method -- it is called on texts
const { charCodeAt } = String.prototype

/** What is wrong with a text that names someone; undefined if nothing is. */
export function valueFault(value: string): string | undefined {
  const length = value.length
  if (length === 0) return 'is empty'
  if (length > LONGEST_VALUE) return `is longer than ${LONGEST_VALUE} characters`
  let all = 0
  for (let i = 0; i < length; i++) {
    const c = charCodeAt.call(value, i)
    if (c < 32 || c === 127) return 'holds control characters'
    all |= c
  }
  if (all > 127 && !value.isWellFormed()) return 'holds half a surrogate pair'
  return undefined
}

/** A value as rules compare it: of `ip` the canonical address, or a network. */
export function readValue(scope: string, value: string): string | Cidr | { fault: string } {
  const fault = valueFault(value)
  if (fault !== undefined) return { fault }
  if (scope !== 'ip') return value
  const cidr = parseCidr(value)
  if (cidr === undefined) return { fault: `${JSON.stringify(value)} is not an address or a CIDR` }
  if ('hint' in cidr) return { fault: `${JSON.stringify(value)} is not a network; ${cidr.hint}` }
  const single = cidr.bits === (cidr.version === 4 ? 32 : 128)
  return single ? printIp(cidr) : cidr
}

const TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** Milliseconds since the epoch; NaN where it is no time, or a day that does not exist. */
export function parseTime(text: unknown): number {
  const match = typeof text === 'string' ? TIME.exec(text) : null
  if (match === null) return Number.NaN
  const day = Date.parse(match[1]!)
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(match[1]!)) return Number.NaN
  return Date.parse(match[0])
}
