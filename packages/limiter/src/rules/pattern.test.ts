/** Patterns of resources: which texts are patterns, what is wrong with others, and what is compared. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePattern, patternKey, withoutQuery } from './pattern.js'
import { PatternTrie } from './pattern-trie.js'

function matches(pattern: string, resource: string): boolean {
  const parsed = parsePattern(pattern)
  if (typeof parsed === 'string') throw new Error(`${pattern} ${parsed}`)
  const trie = new PatternTrie<true>()
  trie.getOrAdd(parsed, () => true)
  return trie.match(withoutQuery(resource)).length === 1
}

describe('a pattern', () => {
  it.each<[pattern: string, matching: string[], others: string[]]>([
    ['/a/b', ['/a/b', '/a/b?x=/a'], ['/a', '/a/b/', '/a/b/c', '/a/B', '//a/b', 'a/b', '/a/%62']],
    [
      '/a/:id',
      ['/a/1', '/a/b', '/a/:id', '/a/*', '/a/%2F'],
      ['/a', '/a/', '/a/1/', '/a/1/2', '/b/1'],
    ],
    ['/a/*', ['/a/b', '/a/b/c', '/a/', '/a//', '/a/*'], ['/a', '/', '/ab', '/A/b', 'a/b']],
    ['/:x/b', ['/a/b', '/b/b'], ['//b', '/a/b/c', '/a/c']],
    ['/*', ['/', '/a', '/a/b', '/?a'], ['', 'a', '?/a']],
    ['/', ['/', '/?a=b'], ['', '//', '/a']],
    ['*', ['', '/', '/a/b', 'api.search', '?q'], []],
    [
      'api.search',
      ['api.search', 'api.search?q'],
      ['api', 'api.search.more', '/api.search', 'API.search'],
    ],
    ['v1/:id/*', ['v1/2/3', 'v1/2/3/4', 'v1/2/'], ['v1/2', '/v1/2/3', 'v1//3']],
  ])('%s', (pattern, matching, others) => {
    expect(matching.filter((resource) => !matches(pattern, resource))).toEqual([])
    expect(others.filter((resource) => matches(pattern, resource))).toEqual([])
  })

  it.each([
    ['', 'is empty; expected a path, a name or *'],
    ['/a?x=1', 'holds a query, which is never compared'],
    ['/*/b', 'has a * before its end; only the last segment may be *'],
    ['/a*', 'has "a*"; a * stands alone in the last segment'],
    ['**', 'has "**"; a * stands alone in the last segment'],
    [':id', 'is a parameter without a path; a name is exact or *'],
    ['/a/:', 'has ":"; a parameter is : and a name'],
    ['/a/:1', 'has ":1"; a parameter is : and a name'],
    ['/a/:id.json', 'has ":id.json"; a parameter is : and a name'],
    ['/a\n', 'holds control characters'],
    [`/${'a'.repeat(2048)}`, 'is longer than 2048 characters'],
  ])('is refused where it cannot be meant: %j', (text, fault) => {
    expect(parsePattern(text)).toBe(fault)
  })

  it('has the key of every pattern that matches the same resources, and of no other', () => {
    const key = (text: string) =>
      patternKey(parsePattern(text) as Exclude<ReturnType<typeof parsePattern>, string>)
    expect(key('/a/:id')).toBe(key('/a/:name'))
    const texts = [
      '*',
      '/',
      '/*',
      '/a',
      '/a/',
      '/a/*',
      '/a/:x',
      '/:x/a',
      'a',
      '//',
      '/a/b',
      '/=a',
      '/:a',
    ]
    expect(new Set(texts.map(key)).size).toBe(texts.length)
  })

  it('of any text is a pattern or says what is wrong', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc
        .array(fc.constantFrom('/', ':', '*', 'a', 'b', '?', '_', ' ', '%2F', '\u0000', 'é'))
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parsePattern(text)
        if (typeof parsed === 'string') expect(parsed).toMatch(/^(is|has|holds) /)
        else expect(matches(text, text)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a query', () => {
  it('is all from the first question mark on', () => {
    expect(withoutQuery('/a?b?c')).toBe('/a')
    expect(withoutQuery('?')).toBe('')
    expect(withoutQuery('/a#b')).toBe('/a#b')
  })
})
