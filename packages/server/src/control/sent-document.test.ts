import { describe, expect, it } from 'vitest'
import { parseDocument } from './sent-document.js'

const sent = (text: string | Uint8Array, deepest = 4) =>
  parseDocument({ bytes: Buffer.from(text), deepest })

describe('a document that was sent', () => {
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
