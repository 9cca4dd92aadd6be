/** A rules file: all faults at once, each at its place, and YAML's own in our words. */
import { describe, expect, it } from 'vitest'
import { printFaults } from './print-faults.js'
import { readRules } from './read-rules.js'

function said(text: string): string {
  const read = readRules(text)
  return 'faults' in read ? printFaults('sluice.yaml', text, read.faults) : 'good'
}

/** Place and message of each fault. */
function faultsOf(text: string): string[] {
  const read = readRules(text)
  if (!('faults' in read)) return []
  return read.faults.map(
    ({ line, column, length, message }) => `${line}:${column}+${length} ${message}`,
  )
}

const rule = (fields: string) => `rules:\n  a: { scope: user, ${fields} }\n`

describe('a rules file with faults', () => {
  it('is refused with all of them, in its order, with the text that is wrong', () => {
    const text = `version: 1
timezone: Europe/Berlin
defaults: { failure_mode: local }
tiers:
  free: []
rules:
  hello: { scope: user, resource: /hello, limits: 3 per 10s }
  # all must pass
  per-user:
    scope: user
    resource: /v1/*
    limits: [10/s, 1000/mon]
  search:
    scope: user
    resource: GET /v1/search
    limits: 100 per 5m sliding
  keys:
    scope: api_key
    tires: {}
    limits: { capacity: 2000, refill_rate: 500/s }
`
    expect(said(text)).toBe(`sluice.yaml:12:25: unknown unit "mon"
   12 |     limits: [10/s, 1000/mon]
      |                         ^^^ expected s, min, h, d or w
      = a month has no fixed length: "1000 per calendar month" or "1000 per 30d"
sluice.yaml:19:5: unknown field "tires" in rule keys; did you mean "tiers"?
`)
  })

  it.each([
    ['plain', 'limits: 10/mon', '2:32+3'],
    ['single quotes', "limits: '10/mon'", '2:33+3'],
    ['double quotes', 'limits: "10/mon"', '2:33+3'],
    ['escapes', 'limits: "1\\x30/mon"', '2:36+3'],
    ['long escapes', 'limits: "1\\u0030\\/mon"', '2:39+3'],
    ['doubled quotes', "limits: '10 per ''mon'", '2:37+5'],
    ['wide characters before it', 'description: 🌊, limits: 10/mon', '2:48+3'],
  ])('points at the part of a text that is wrong, in %s', (_, fields, place) => {
    expect(faultsOf(rule(fields))[0]).toMatch(new RegExp(`^${place.replace('+', '\\+')} `))
  })

  it.each([
    ['a value', rule('limits: 10/s, shadow: perhaps'), '2:43+7 "perhaps" is not true or false'],
    [
      'a missing field, at the name above',
      'rules:\n  a:\n    limits: 10/s\n',
      '2:3+1 scope is missing',
    ],
    ['an unknown name', 'rulez: {}\n', '1:1+5 unknown field "rulez"; did you mean "rules"?'],
    [
      'a name that holds dots and brackets',
      'rules:\n  a.b[0].c: { scope: user, limits: 1/s, x: 1 }\n  c.d: { scope: ip, limits: 1/x }\n',
      '2:3+8 the name "a.b[0].c" is not letters, digits, _ . - (and @tier), at most 100',
      '2:41+1 unknown field "x" in rule a.b[0].c',
      '3:31+1 unknown unit "x"',
    ],
    [
      'a rule like another',
      'rules:\n  a: { scope: user, limits: 1/s }\n  b:\n    scope: user\n    limits: 2/s\n',
      '3:3+1 b governs the same requests as a; put the limits into one rule, or make one additive',
    ],
    [
      'a tier of a rule like another',
      'rules:\n  a: { scope: user, limits: 1/s, tiers: { pro: 2/s } }\n  a@pro: { scope: user, tier: pro, limits: 3/s }\n',
      '3:3+5 this name is taken by a tier of another rule',
      '3:3+5 a@pro governs the same requests as a@pro; put the limits into one rule, or make one additive',
    ],
    [
      'a cost that can never pass, under the name it was written',
      'rules:\n  a: { scope: user, limits: 5/s }\ncosts:\n  POST|GET /x: 6\n',
      '4:16+1 POST|GET /x costs 6 requests, and a (5/s) never admits more than 5 at once',
    ],
    [
      'an item of a list',
      'blocks:\n  - user:a\n  - nobody\n',
      '3:5+6 "nobody" is not a scope:value',
    ],
    [
      'an object in a list',
      'blocks:\n  - { user: a, org: b }\n',
      '2:5+19 expected one scope with its value, and until and reason if need be',
    ],
    ['a number for a text', 'blocks:\n  - user: 42\n', '2:11+2 42 is not a text'],
    [
      'what an alias stands for',
      'rules:\n  a: { scope: user, limits: &l [1/s, 2/x] }\n  b: { scope: ip, limits: *l }\n',
      '2:40+1 unknown unit "x"',
      '2:40+1 unknown unit "x"',
    ],
    ['a document of another kind', '- a\n', '1:1+3 ["a"] is not a rules document'],
    ['a text', 'hello\n', '1:1+5 "hello" is not a rules document'],
  ])('points at %s', (_, text, ...faults) => {
    expect(faultsOf(text)).toEqual(faults)
  })

  it('says at most a thousand, and how many more there are', () => {
    const rules = Array.from({ length: 1200 }, (_, i) => `  r${i}: { scope: s${i}, limits: 1/x }\n`)
    const faults = faultsOf(`rules:\n${rules.join('')}`)
    expect(faults).toHaveLength(1001)
    expect(faults.at(-1)).toBe('1001:34+0 200 more faults after this')
  })
})

describe('what YAML refuses is said in our words', () => {
  it.each([
    [
      'a bare * as a value',
      'rules:\n  a:\n    resource: *\n',
      '3:15+1 a bare * means something else in YAML',
    ],
    [
      'a bare * between braces',
      rule('resource: *, limits: 1/s'),
      '2:31+1 a bare * means something else in YAML',
    ],
    ['a bare * as a name', 'costs:\n  *: 2\n', '2:3+1 a bare * means something else in YAML'],
    [
      'a pattern after a bare *',
      rule('resource: */x, limits: 1/s'),
      '2:31+3 a bare * means something else in YAML',
    ],
    ['a tab', 'rules:\n\ta: 1\n', '2:1+1 a tab in the indentation'],
    [
      'a crooked indent',
      'rules:\n  a:\n    scope: user\n   limits: 10/s\n',
      '4:4+7 indented unlike the fields above',
    ],
    ['a name written twice', 'version: 1\nversion: 1\n', '2:1+7 "version" is written twice'],
    ['a quote left open', 'namespace: "abc\nrules: {}\n', '1:12+1 a " is not closed'],
    ['a single quote left open', "namespace: 'abc\n", "1:12+1 a ' is not closed"],
    ['a bracket left open', 'scopes: [a, b\nrules: {}\n', '1:14+0 a [ is not closed'],
    ['a brace left open', 'defaults: { ipv6_prefix: 64\nrules: {}\n', '1:28+0 a { is not closed'],
    ['a bracket too many', 'scopes: ]\n', '1:9+1 unexpected "]"'],
    [
      'a colon in a text',
      'blocks:\n  - user: a\n    reason: card: testing\n',
      '3:13+13 a second ": " in one line',
    ],
    ['a colon without a space', 'version:1\nrules: {}\n', '1:1+9 no ": " in this line'],
    ['a value with fields under it', 'rules: a\n  b: 1\n', '1:8+1 a value, and fields under it'],
    [
      'a missing comma',
      'defaults: { failure_mode: open ipv6_prefix: 64 }\n',
      '1:27+21 no comma between two fields',
    ],
    ['an unknown escape', 'namespace: "\\q"\n', '1:13+1 unknown escape \\q'],
    ['a reserved character', 'namespace: @a\n', '1:12+1 a text that starts with @ needs quotes'],
    [
      'a second document',
      'version: 1\n---\nversion: 1\n',
      '2:1+3 a second document; a rules file is one',
    ],
    ['a tag', 'namespace: !secret a\n', '1:20+1 a tag "!secret"; a rules file has none'],
    [
      'a tag of YAML',
      'namespace: !!binary aGk=\n',
      '1:21+4 a tag "!!binary"; a rules file has none',
    ],
    [
      'a merge key',
      'rules:\n  a: &a { scope: user, limits: 1/s }\n  b:\n    <<: *a\n    scope: ip\n    limits: 1/s\n',
      '4:5+2 merge keys (<<) are not part of a rules file',
    ],
    ['an anchor that holds itself', 'scopes: &a [*a]\n', '1:13+2 an alias that stands for itself'],
    ['a list as a name', 'rules:\n  ? [a]\n  : 1\n', '2:5+3 a name that is not a text'],
    ['nothing', '', '1:1+0 the file is empty'],
    ['nothing but a comment', '# rules\n', '1:1+0 the file is empty'],
  ])('%s', (_, text, ...faults) => {
    expect(faultsOf(text)).toEqual(faults)
  })

  it('refuses a deep nest', () => {
    const nest = `scopes: ${'['.repeat(100)}${']'.repeat(100)}\n`
    expect(faultsOf(nest)).toContain('1:73+72 nested too deeply')
  })

  it('stops at a nest that no stack holds', () => {
    expect(faultsOf(`scopes: ${'['.repeat(50_000)}`)).toHaveLength(1)
  })

  it('does not follow aliases that stand for aliases into billions', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (const [name, of] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih'])
      lines.push(`${name}: &${name} [${Array(10).fill(`*${of}`).join(', ')}]`)
    expect(faultsOf(lines.join('\n'))).toContainEqual(
      expect.stringMatching(/aliases that stand for more than a rules file may hold/),
    )
  })
})

describe('a good rules file', () => {
  it.each([
    ['with a byte order mark', `\ufeff${rule('limits: 1/s')}`],
    ['with CRLF', rule('limits: 1/s').replaceAll('\n', '\r\n')],
    ['in JSON', '{"rules": {"a": {"scope": "user", "limits": ["1/s"]}}}'],
    [
      'with an alias',
      'rules:\n  a: { scope: user, limits: &l 1/s }\n  b: { scope: ip, limits: *l }\n',
    ],
    ['with a day without quotes', 'blocks:\n  - { user: a, until: 2026-12-31 }\n'],
    ['with a name that is a number', 'tiers: { 1: [user:a] }\n'],
    ['with a text told to be one', 'blocks:\n  - user: !!str 42\n'],
    ['with __proto__ as a value', 'tiers: { pro: ["user:__proto__"] }\n'],
  ])('is read %s', (_, text) => {
    expect(said(text)).toBe('good')
  })

  it('is warned about what is not in force yet', () => {
    expect(readRules(rule('limits: 1/s, reach: global'))).toMatchObject({
      warnings: ['rules.a.reach is not in force yet'],
    })
  })
})
