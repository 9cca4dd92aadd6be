/** How deep values may be within values: reading and printing what is much deeper ends in a full stack. */

/** Nothing that is meant is nested deeper. */
export const DEEPEST = 64

/** Whether it is nested further than anybody means. */
export function isDeep(value: unknown, levels = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((inner) => isDeep(inner, levels - 1))
}

/** Values and names of one body: a batch of 1000 checks has a few tens of thousands. */
export const MOST_VALUES = 200_000

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]

/**
 * Whether JSON is nested too deep, or has so many values that parsing it would keep others waiting. It is
 * found before it is parsed, in a hundredth of the time. What is no JSON may be anything.
 */
export function isTooMuch(json: string): boolean {
  let [depth, values] = [0, 0]
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === QUOTE) {
      for (i++; i < json.length; i++) {
        const inner = json.charCodeAt(i)
        if (inner === BACKSLASH) i++
        else if (inner === QUOTE) break
      }
    } else if (code === COMMA || code === COLON) {
      if (++values > MOST_VALUES) return true
      // [ and {, then ] and }.
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > DEEPEST) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}
