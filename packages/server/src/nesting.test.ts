import fc from 'fast-check'
import { expect, it } from 'vitest'
import { boundExceeded } from './nesting.js'

/** By the value itself, sharing nothing with the scan of bytes. */
function sizeOf(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 0 }
  const inner = Object.values(value).map(sizeOf)
  const commas = Math.max(0, inner.length - 1)
  const colons = Array.isArray(value) ? 0 : inner.length
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    values: inner.reduce((sum, { values }) => sum + values, commas + colons),
  }
}

it('JSON is as deep and has as much in it as its values do, whatever its texts hold', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.string(), (value, text) => {
      const all = { [text]: value, brackets: `[{"\\${text},:` }
      const bytes = Buffer.from(JSON.stringify(all))
      const { depth, values } = sizeOf(JSON.parse(bytes.toString()))
      const bounds = { deepest: depth, mostValues: values }
      expect(boundExceeded(bytes, bounds)).toBeNull()
      expect(boundExceeded(bytes, { ...bounds, deepest: depth - 1 })).toBe('deepest')
      expect(boundExceeded(bytes, { ...bounds, mostValues: values - 1 })).toBe('mostValues')
    }),
  )
})
