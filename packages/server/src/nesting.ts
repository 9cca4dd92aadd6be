/** How deep values may be within values: reading and printing what is much deeper ends in a full stack. */

/** Nothing that is meant is nested deeper. */
export const DEEPEST = 64

/** Whether it is nested further than anybody means. */
export function isDeep(value: unknown, levels = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((inner) => isDeep(inner, levels - 1))
}

/** What JSON may have at most. */
export interface JsonBounds {
  /** Lists and objects within each other. */
  readonly deepest: number
  /** Values and names, in all. */
  readonly mostValues: number
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/**
 * Which bound JSON exceeds, found in its bytes before it is parsed: what is parsed takes many times their
 * room and their time. Of what is no JSON it may say anything.
 */
export function boundExceeded(
  bytes: Uint8Array,
  { deepest, mostValues }: JsonBounds,
): keyof JsonBounds | null {
  let [depth, values, isText] = [0, 0, false]
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (isText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA || byte === COLON) {
      if (++values > mostValues) return 'mostValues'
    } else if (OPENING.has(byte)) {
      if (++depth > deepest) return 'deepest'
    } else if (CLOSING.has(byte)) depth--
  }
  return null
}
