/** How faults are printed: one line, or the text with marks; nothing that a terminal acts on. */
import { describe, expect, it } from 'vitest'
import type { PlacedFault } from './placed-fault.js'
import { printFaults } from './print-faults.js'

const fault = (more: Partial<PlacedFault>): PlacedFault => ({
  path: '',
  line: 1,
  column: 1,
  length: 1,
  message: 'is bad',
  ...more,
})

describe('a printed fault', () => {
  it('is one line where nothing more is to be said', () => {
    expect(printFaults('a.yaml', 'x', [fault({})])).toBe('a.yaml:1:1: is bad\n')
  })

  it('escapes what a terminal would act on, in name, message and text alike', () => {
    const text = 'a: "\u001b[31m\u202e"\t!\r\n'
    const printed = printFaults('\u001b.yaml', text, [
      fault({ column: 5, length: 2, message: 'of \u001b\u009b\u202e', hint: '\u0007' }),
    ])
    expect(printed).toBe(`\\u001b.yaml:1:5: of \\u001b\\u009b\\u202e
    1 | a: "\ufffd[31m\ufffd" !
      |     ^^
      = \\u0007
`)
  })

  it('cuts a long line around what is meant, with the marks under it', () => {
    const text = `${'a'.repeat(500)}BAD${'b'.repeat(500)}`
    for (const column of [1, 501, 1001]) {
      const printed = printFaults('a', text, [fault({ column, length: 3, expected: 'good' })])
      const [, line, marks] = printed.split('\n')
      expect(line!.length).toBeLessThan(120)
      const at = marks!.indexOf('^')
      expect(line!.slice(at, at + 3)).toBe(text.slice(column - 1, column + 2))
      expect(marks).toMatch(/\^\^\^ expected good$/)
    }
  })

  it('marks up to the end of the line, and one character where there is none', () => {
    const ofLength = (length: number, column: number) =>
      printFaults('a', 'abc\ndef\n', [fault({ length, column, expected: 'x' })]).split('\n')[2]
    expect(ofLength(50, 2)).toBe('      |  ^^ expected x')
    expect(ofLength(0, 4)).toBe('      |    ^ expected x')
  })

  it('widens its margin for long files', () => {
    const text = `${'\n'.repeat(1_234_566)}abc`
    const printed = printFaults('a', text, [fault({ line: 1_234_567, expected: 'x' })])
    expect(printed).toBe('a:1234567:1: is bad\n1234567 | abc\n        | ^ expected x\n')
  })

  it('is coloured when asked', () => {
    expect(printFaults('a', 'x', [fault({ expected: 'y' })], { color: true })).toContain(
      '\u001b[31m^',
    )
  })
})
