import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNestedDeeper, parseDocument } from './sent-document.js'

const sent = (text: string | Uint8Array, deepest = 4) =>
  parseDocument({ bytes: Buffer.from(text), deepest })

/** By the values themselves, sharing nothing with the scan of bytes. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

describe('a document that was sent', () => {
  it('is as deep as its lists and objects, whatever its texts hold', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.string(), (value, text) => {
        const all = { [text]: value, brackets: `[{"\\${text}` }
        const bytes = Buffer.from(JSON.stringify(all))
        const depth = depthOf(all)
        expect(isNestedDeeper(bytes, depth)).toBe(false)
        expect(isNestedDeeper(bytes, depth - 1)).toBe(true)
      }),
    )
  })

  it('is refused in words where it is none', () => {
    expect(sent('{"rules":{}}')).toEqual({ rules: {} })
    expect(sent('[[[[[]]]]]')).toEqual({
      unreadable: 'the document is nested more than 4 deep; --document-depth allows more',
    })
    for (const [text, why] of [
      ['{', 'not JSON'],
      ['', 'not JSON'],
      ['[]', 'is a list'],
      ['3', 'is 3'],
      [Buffer.from([0x7b, 0xff]), 'not UTF-8'],
    ] as const)
      expect(sent(text)).toEqual({ unreadable: expect.stringContaining(why) })
  })
})
