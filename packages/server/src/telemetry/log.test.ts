import { describe, expect, it } from 'vitest'
import { Log } from './log.js'

/** Control characters of both sets, line separators, marks that turn text around, invisible characters. */
const HOSTILE = [
  ...Array.from({ length: 0x20 }, (_, i) => i),
  ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i),
  0x61c,
  0x200e,
  0x200f,
  ...Array.from({ length: 7 }, (_, i) => 0x2028 + i),
  ...Array.from({ length: 4 }, (_, i) => 0x2066 + i),
  0xad,
  0x200b,
  0x2060,
  0xfeff,
  0xfff9,
  0xe0041,
].map((code) => String.fromCodePoint(code))

describe.each([false, true])('a line of the log, on a terminal: %s', (isTerminal) => {
  it.each(HOSTILE)('has %j escaped in its message, fields and their names', (character) => {
    const lines: string[] = []
    const log = new Log({ isTerminal, write: (line) => lines.push(line) })
    const text = `a${character}b`
    log.warn(text, { subject: text, ...(isTerminal ? {} : { [text]: text }) })
    expect(lines).toHaveLength(1)
    expect(lines[0]!.slice(0, -1)).not.toContain(character)
    expect(lines[0]!.endsWith('\n')).toBe(true)
    if (!isTerminal)
      expect(JSON.parse(lines[0]!)).toMatchObject({ msg: text, subject: text, [text]: text })
  })
})

it('has other letters as they are', () => {
  const lines: string[] = []
  new Log({ write: (line) => lines.push(line) }).info('größe 大 עברית 🙂')
  expect(lines[0]).toContain('größe 大 עברית 🙂')
})
