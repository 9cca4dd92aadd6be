/** The trie against a look at every pattern, one segment after the other. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Pattern, parsePattern, patternKey } from './pattern.js'
import { PatternTrie } from './pattern-trie.js'

/** How specific each kind of segment is: the lower the more. */
function rankOf(segment: string): number {
  return segment === '*' ? 2 : segment.startsWith(':') ? 1 : 0
}

function bruteMatch(pattern: string, resource: string): boolean {
  const wanted = pattern.split('/')
  const given = resource.split('/')
  for (const [i, segment] of wanted.entries()) {
    if (segment === '*') return given.length > i
    if (i >= given.length) return false
    if (segment.startsWith(':') ? given[i] === '' : segment !== given[i]) return false
  }
  return wanted.length === given.length
}

function moreSpecific(a: string, b: string): number {
  const [x, y] = [a.split('/'), b.split('/')]
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const difference = rankOf(x[i]!) - rankOf(y[i]!)
    if (difference !== 0) return difference
  }
  return 0
}

function parse(text: string): Pattern {
  const pattern = parsePattern(text)
  if (typeof pattern === 'string') throw new Error(`${text} ${pattern}`)
  return pattern
}

function trieOf(patterns: readonly string[]): PatternTrie<string> {
  const trie = new PatternTrie<string>()
  for (const pattern of patterns) trie.getOrAdd(parse(pattern), () => pattern)
  return trie
}

const segments = fc.constantFrom('a', 'b', 'A', '', ':x', ':y')
const patterns = fc
  .record({
    rooted: fc.boolean(),
    segments: fc.array(segments, { maxLength: 4 }),
    rest: fc.boolean(),
  })
  .map(({ rooted, segments, rest }) => [
    ...(rooted ? [''] : []),
    ...segments,
    ...(rest ? ['*'] : []),
  ])
  .map((parts) => parts.join('/'))
  .filter((text) => typeof parsePattern(text) !== 'string')
const resources = fc
  .array(fc.constantFrom('a', 'b', 'A', 'c', '', ':x', '*'), { maxLength: 6 })
  .map((parts) => parts.join('/'))
  .chain((text) => fc.constantFrom(text, `/${text}`))

describe('the trie', () => {
  it('finds every pattern that matches, most specific first, as a look at all of them does', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(patterns, { maxLength: 25, selector: (text) => patternKey(parse(text)) }),
        fc.array(resources, { minLength: 1, maxLength: 8 }),
        (patterns, resources) => {
          const trie = trieOf(patterns)
          for (const resource of resources) {
            const matching = patterns.filter((pattern) => bruteMatch(pattern, resource))
            expect(trie.match(resource)).toEqual(matching.sort(moreSpecific))
          }
        },
      ),
      { numRuns: 1500 },
    )
  })

  it('puts a literal before a parameter before the rest, from the left', () => {
    const patterns = ['*', '/*', '/:x/*', '/:x/:y', '/:x/b', '/a/*', '/a/:y', '/a/b']
    expect(trieOf(patterns).match('/a/b')).toEqual(patterns.toReversed())
  })

  it('files patterns that mean the same in one place', () => {
    const trie = trieOf(['/a/:id'])
    expect(trie.getOrAdd(parse('/a/:name'), () => 'other')).toBe('/a/:id')
    expect(trie.getOrAdd(parse('/a/*'), () => 'other')).toBe('other')
  })

  it('answers any resource whatever', () => {
    const trie = trieOf(['*', '/*', '/:a/:b/:c', '/constructor', '/__proto__/*'])
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (resource) => {
        expect(trie.match(resource)).toContain('*')
      }),
    )
    for (const part of ['/', 'a', '/a', ':/', '*'])
      expect(trie.match(part.repeat(20_000))).toContain('*')
    expect(trie.match('constructor')).toEqual(['*'])
    expect(trie.match('/__proto__/x')).toEqual(['/__proto__/*', '/*', '*'])
  })

  it('visits no node twice, so that patterns cannot be made that take forever', () => {
    const depth = 18
    const every = Array.from({ length: 200 }, (_, i) =>
      Array.from({ length: depth }, (_, bit) => ((i >> (bit % 8)) & 1 ? 'a' : ':x')).join('/'),
    )
    const trie = trieOf(every.map((text) => `/${text}`))
    expect(trie.match('/a'.repeat(depth)).length).toBe(new Set(every).size)
    expect(trie.match(`${'/a'.repeat(depth)}/b`)).toEqual([])
  })
})
