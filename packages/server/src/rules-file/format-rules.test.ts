/** Formatting: one canonical form, the same meaning, every comment kept. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Document, isCollection, visit } from 'yaml'
import { formatRules } from './format-rules.js'
import { readRules } from './read-rules.js'

function formatted(text: string): string {
  const result = formatRules(text)
  if ('faults' in result) throw new Error(result.faults[0]!.message)
  return result.text
}

function bookOf(text: string) {
  const read = readRules(text)
  if ('faults' in read) throw new Error(read.faults[0]!.message)
  return read.rules.book
}

describe('a formatted rules file', () => {
  it('has two spaces a level, and lines where the author chose lines', () => {
    const text = `# head

version:   1
tiers: {free: [ ],   pro: [org:acme,user:42]} # who


rules:
    per-user:  # all must pass
        scope:  user
        # the two
        limits: [ 10/s,1000/h burst 2000 ]
        tiers:
            pro:
            - 50/s
            - 20k/h
    "login": {scope: ip,resource: 'POST /login',limits: 5 per 15m exact}
blocks:
- {ip: 198.51.100.0/24,until: 2026-12-31}   # testing
`
    expect(formatted(text)).toBe(`# head

version: 1
tiers: { free: [], pro: [org:acme, user:42] }  # who

rules:
  per-user:  # all must pass
    scope: user
    # the two
    limits: [10/s, 1000/h burst 2000]
    tiers:
      pro:
        - 50/s
        - 20k/h
  "login": { scope: ip, resource: 'POST /login', limits: 5 per 15m exact }
blocks:
  - { ip: 198.51.100.0/24, until: 2026-12-31 }  # testing
`)
  })

  it('breaks what is too long for a line, and leaves texts whole', () => {
    const members = Array.from({ length: 20 }, (_, i) => `user:member-${i}`)
    const long = 'word '.repeat(60).trim()
    const text = `tiers:\n  pro: [${members.join(',')}]\nblocks:\n  - user: a\n    reason: ${long}\n`
    const result = formatted(text)
    expect(result).toContain('\n      user:member-7,\n')
    expect(result).toContain(`    reason: ${long}\n`)
  })

  it('keeps anchors, quotes, numbers and a # inside a text', () => {
    const text = `scopes: &all [team]
rules:
  a: { scope: team, limits: "1/s", description: 'a #b', shadow: false }
  b:
    scope: user
    limits: &l [10/s]
    description: |
      # not a comment
      text #here
  c: { scope: ip, limits: *l }
`
    expect(formatted(text)).toBe(text)
  })

  it('has no byte order mark and no carriage returns', () => {
    expect(formatted('\ufeffversion: 1\r\nrules: {}\r\n')).toBe('version: 1\nrules: {}\n')
  })

  it('is not made of a faulty one', () => {
    expect(formatRules('rules:\n  a: { limits: 1/x }\n')).toMatchObject({
      faults: [{ message: 'scope is missing' }, { message: 'unknown unit "x"' }],
    })
  })
})

const words = fc.constantFrom(
  'a',
  'it',
  'is #1',
  'x: y',
  '"q"',
  "it's",
  '- z',
  '10',
  'true',
  '*',
  '',
)
const limits = fc.constantFrom('1/s', '10 per 5m sliding', { capacity: 5, refill_rate: '1/s' })
const rule = fc.record(
  {
    limits: fc.oneof(limits, fc.array(limits, { minLength: 1, maxLength: 3 })),
    description: words,
    shadow: fc.boolean(),
    tiers: fc.dictionary(fc.constantFrom('free', 'pro'), limits),
    resource: fc.constantFrom('/a', '*', 'GET /b/*', '/:x/y'),
  },
  { requiredKeys: ['limits'] },
)
const documents = fc.record({
  rules: fc
    .array(rule, { maxLength: 4 })
    .map((all) => Object.fromEntries(all.map((one, i) => [`r${i}`, { scope: `s${i}`, ...one }]))),
  blocks: fc.array(fc.record({ user: fc.constantFrom('a', 'b c', '#d'), reason: words }), {
    maxLength: 3,
  }),
})

/** The document as someone may have written it: any mix of lines and blocks, of indents, comments and blank lines. */
const files = fc
  .record({
    document: documents,
    flows: fc.infiniteStream(fc.boolean()),
    indent: fc.constantFrom(1, 2, 3, 4, 8),
    width: fc.constantFrom(0, 20, 40, 80),
    additions: fc.infiniteStream(fc.nat(12)),
  })
  .map(({ document, flows, indent, width, additions }) => {
    const written = new Document(document)
    visit(written, (_, node) => {
      if (isCollection(node) && node !== written.contents) node.flow = flows.next().value as boolean
    })
    const lines = written.toString({ indent, lineWidth: width }).split('\n')
    const isInText = lines.some((line) => /[|>][+-]?\d?$/.test(line))
    return lines
      .flatMap((line, i) => {
        const addition = isInText || line === '' ? 12 : additions.next().value
        if (addition === 0) return [line, `${' '.repeat(i % 7)}# note ${i}`]
        if (addition === 1) return [`# note ${i}`, '', line]
        if (addition === 2 && /[\w}\]]$/.test(line)) return [`${line}   # note ${i}`]
        if (addition === 3) return ['', '', line]
        return [line]
      })
      .join('\n')
  })
  .filter((text) => !('faults' in readRules(text)))

describe('whatever was written', () => {
  const notes = (text: string) => text.match(/# note \d+/g)?.toSorted() ?? []

  it('is the same after a second time as after the first, means the same, and keeps its comments', () => {
    fc.assert(
      fc.property(files, (text) => {
        const once = formatted(text)
        expect(formatted(once)).toBe(once)
        expect(bookOf(once)).toEqual(bookOf(text))
        expect(notes(once)).toEqual(notes(text))
      }),
      { numRuns: 500 },
    )
  })
})
