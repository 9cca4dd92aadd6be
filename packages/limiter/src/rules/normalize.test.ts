import { posix } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  NORMALIZE_DEFAULTS,
  type Normalize,
  normalizePattern,
  normalizeResource,
  pathAmbiguity,
} from './normalize.js'
import { type Pattern, parsePattern, patternKey } from './pattern.js'
import { PatternTrie } from './pattern-trie.js'

const KEEP: Normalize = { ...NORMALIZE_DEFAULTS, trailingSlash: 'keep' }
const FOLD: Normalize = { ...NORMALIZE_DEFAULTS, foldCase: true }
const normal = (resource: string, settings = NORMALIZE_DEFAULTS) =>
  normalizeResource(resource, settings)

describe('a resource in its one spelling', () => {
  it.each([
    ['an encoded letter', '/api/%6cogin'],
    ['an encoded letter with an upper-case digit', '/api/%6Cogin'],
    ['repeated slashes', '//api///login'],
    ['a dot segment', '/api/./login'],
    ['two dots', '/x/../api/login'],
    ['two dots that are encoded', '/x/%2e%2E/api/login'],
    ['one dot that is encoded', '/api/%2e/login'],
    ['more dots than there are segments', '/../../api/login'],
    ['repeated slashes before two dots', '/x//../api/login'],
    ['a slash at the end', '/api/login/'],
    ['slashes at the end', '/api/login//'],
    ['a dot at the end', '/api/login/.'],
    ['a segment that is left again', '/api/login/x/..'],
    ['a query', '/api/login?a=/../b'],
    ['a fragment', '/api/login#x?y'],
  ])('is the same for %s', (_, resource) => {
    expect(normal(resource)).toBe('/api/login')
  })

  it.each([
    ['decodes once, never twice', '/%256c%2525', '/%256c%2525'],
    ['decodes nothing that decoding made', '/%%36c', '/%256c'],
    ['writes a % that begins no encoding as %25', '/100%/%zz/%a', '/100%25/%25zz/%25a'],
    ['gives encodings that stay upper-case digits', '/a%2fb%5cc%3b', '/a%2Fb%5Cc%3B'],
    ['keeps ; as it is', '/a;v=1/b', '/a;v=1/b'],
    ['keeps encodings of reserved characters', '/%40me%21', '/%40me%21'],
    ['keeps reserved characters', "/@me!$&'()*+,;=:", "/@me!$&'()*+,;=:"],
    ['decodes every unreserved character', '/%41%7a%30%2d%2e%5f%7e', '/Az0-._~'],
    [
      'encodes what is not ASCII as UTF-8',
      '/café/日本/😀',
      '/caf%C3%A9/%E6%97%A5%E6%9C%AC/%F0%9F%98%80',
    ],
    ['leaves UTF-8 that is encoded already', '/caf%c3%a9', '/caf%C3%A9'],
    ['keeps bytes that are no UTF-8', '/%c0%ae%c0%ae/x', '/%C0%AE%C0%AE/x'],
    ['encodes what may not stand in a path', '/a b"<>\\^`{|}', '/a%20b%22%3C%3E%5C%5E%60%7B%7C%7D'],
    ['writes half a surrogate pair as the replacement character', '/\ud800', '/%EF%BF%BD'],
    ['keeps dots that are part of a name', '/.well-known/...', '/.well-known/...'],
    ['keeps the root', '/', '/'],
    ['knows nothing above the root', '/a/../..', '/'],
    ['keeps upper case', '/Api', '/Api'],
  ])('%s', (_, resource, expected) => {
    expect(normal(resource)).toBe(expected)
  })

  it('keeps one slash at the end where that is asked for', () => {
    const paths = ['/a', '/a/', '/a//', '/a/.', '/a/b/..', '/', '//', '/a/..']
    expect(paths.map((path) => normal(path, KEEP))).toEqual([
      '/a',
      '/a/',
      '/a/',
      '/a/',
      '/a/',
      '/',
      '/',
      '/',
    ])
  })

  it('folds A to Z where that is asked for, and no digits of encodings', () => {
    expect(normal('/API/%4cOGIN/caf%C3%89', FOLD)).toBe('/api/login/caf%C3%89')
    expect(normal('/É', FOLD)).toBe('/%C3%89')
  })

  it.each(['api.search', 'API%2e', 'a//b/../c/', '', 'http://host/%61', '*', 'c#'])(
    'is not looked for in a name: %s',
    (name) => {
      expect(normal(name, FOLD)).toBe(name)
    },
  )

  it('drops the query of a name, as ever', () => {
    expect(normal('search?q=1')).toBe('search')
  })
})

const PIECES =
  '/ / // . .. %2e %2E %2f %5c %25 % %6 6c %6c %4C a B z ~ ; :id * @ \\ { é 😀 %c3%a9 %C3 # ?'
const pieces = fc.constantFrom(' ', ...PIECES.split(' '))
const messy = fc.array(pieces, { maxLength: 16 }).map((parts) => `/${parts.join('')}`)
const anyText = fc.oneof(messy, fc.string({ unit: 'binary' }), fc.webPath())
const settings: fc.Arbitrary<Normalize> = fc.record({
  checks: fc.boolean(),
  trailingSlash: fc.constantFrom('drop', 'keep'),
  foldCase: fc.boolean(),
})

describe('normalising any resource', () => {
  it('twice is the same as once', () => {
    fc.assert(
      fc.property(anyText, settings, (text, how) => {
        const once = normalizeResource(text, how)
        expect(normalizeResource(once, how)).toBe(once)
      }),
      { numRuns: 2000 },
    )
  })

  it('leaves a path of permitted characters and upper-case encodings, without empty or dot segments', () => {
    const segment = /^(?:[A-Za-z0-9_.~!$&'()*+,;=:@-]|%[0-9A-F]{2})+$/
    fc.assert(
      fc.property(messy, settings, (text, how) => {
        const path = normalizeResource(text, how)
        const [first, ...rest] = path.split('/')
        expect(first).toBe('')
        const last = rest.at(-1)
        const isSlashAtEnd = last === '' && (path === '/' || how.trailingSlash === 'keep')
        for (const one of isSlashAtEnd ? rest.slice(0, -1) : rest) {
          expect(one).toMatch(segment)
          expect(['.', '..']).not.toContain(one)
          for (const [, code] of one.matchAll(/%([0-9A-F]{2})/g))
            expect(String.fromCharCode(Number.parseInt(code!, 16))).not.toMatch(/[A-Za-z0-9_.~-]/)
        }
      }),
      { numRuns: 2000 },
    )
  })

  /** Spells a path differently without changing its meaning. */
  const respelled = (path: string, choices: readonly number[]) =>
    path
      .split('')
      .map((c, i) => {
        const choice = choices[i % choices.length]!
        if (c === '/') return ['/', '//', '/./', '/x/../', '/%2e/', '/y/%2E%2e//'][choice % 6]!
        const code = c.charCodeAt(0).toString(16)
        return [c, `%${code}`, `%${code.toUpperCase()}`][choice % 3]!
      })
      .join('')

  it('finds one spelling for all that mean the same, and different ones for what does not', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,5}$/)
    const path = fc.array(word, { minLength: 1, maxLength: 4 }).map((all) => `/${all.join('/')}`)
    const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(path, path, choices, (a, b, how) => {
        expect(normal(respelled(a, how))).toBe(a)
        if (a !== b) expect(normal(respelled(b, how))).not.toBe(a)
      }),
      { numRuns: 1000 },
    )
  })

  /**
   * WHATWG's URL, which shares no code with this. It differs in four things, which are kept from it here:
   * repeated slashes (it keeps them, and `..` takes an empty segment), `\` (a slash to it), which
   * characters it encodes or decodes, and a slash at the end (it keeps it).
   */
  it('resolves dot segments as WHATWG URLs do', () => {
    const segment = fc.constantFrom(
      'a',
      'b',
      'c.d',
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '.%2E',
      '...',
      'x;y',
    )
    const path = fc.array(segment, { minLength: 1, maxLength: 8 }).map((all) => `/${all.join('/')}`)
    fc.assert(
      fc.property(path, fc.boolean(), (written, hasSlash) => {
        const resource = hasSlash ? `${written}/` : written
        expect(normal(resource, KEEP)).toBe(new URL(`http://host${resource}`).pathname)
      }),
      { numRuns: 2000 },
    )
  })

  it('merges slashes and resolves dots as Node does after one decoding', () => {
    const piece = fc.constantFrom(
      '/',
      '/',
      '.',
      '..',
      '%2e',
      '%2E',
      'a',
      '%61',
      'Z',
      '%7E',
      '~',
      '%2d',
    )
    const path = fc.array(piece, { maxLength: 14 }).map((parts) => `/${parts.join('')}`)
    fc.assert(
      fc.property(path, (written) => {
        const resolved = posix.normalize(decodeURIComponent(written))
        expect(normal(written)).toBe(resolved === '/' ? '/' : resolved.replace(/\/$/, ''))
      }),
      { numRuns: 3000 },
    )
  })

  it('decodes as a whole decoding would, for paths of unreserved characters', () => {
    const coded = fc
      .array(fc.constantFrom('a', 'Z', '-', '%61', '%5F', '%7e', '%39'), {
        minLength: 1,
        maxLength: 12,
      })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(coded, (text) => {
        expect(normal(`/${text}`)).toBe(`/${decodeURIComponent(text)}`)
      }),
    )
  })

  it('makes nothing longer than nine times, whatever it is', () => {
    fc.assert(
      fc.property(anyText, settings, (text, how) => {
        expect(normalizeResource(text, how).length).toBeLessThanOrEqual(9 * text.length + 1)
      }),
    )
  })
})

describe('a path that servers read differently', () => {
  it.each([
    '/x//../login',
    '/login//..',
    '/a/%2f//%2e%2E/b',
    '/x\\..\\login',
    '/a\\b?c',
    '/a#/b',
    '/a#?b',
  ])('is named as such: %s', (path) => {
    expect(pathAmbiguity(path)).toEqual(expect.any(String))
  })

  it.each([
    '//login',
    '//x/../login',
    '/a//b',
    '/a/../b',
    '/a?b\\c',
    '/a?b#c',
    '/a%23',
    'a#b',
    '/%5C',
    'a\\b',
    'a//../b',
    '/',
  ])('is not one like %s', (path) => {
    expect(pathAmbiguity(path)).toBeUndefined()
  })

  it('is every one that WHATWG URLs and this resolve differently, and no other', () => {
    // No other segments that begin with a dot: the URL of Node 20 leaves dot segments after such a one.
    const segment = fc.constantFrom('', '', '.', '..', '%2e', '%2E.', 'a', 'b', '%61')
    const path = fc.array(segment, { minLength: 1, maxLength: 8 }).map((all) => `/${all.join('/')}`)
    fc.assert(
      fc.property(path, (written) => {
        const { pathname } = new URL(`http://host${written}`)
        const resolved = decodeURIComponent(pathname).replaceAll(/\/+/g, '/')
        const isSame = normal(written) === (resolved.replace(/\/$/, '') || '/')
        expect(pathAmbiguity(written) === undefined).toBe(isSame)
      }),
      { numRuns: 3000 },
    )
  })
})

const parse = (text: string) => parsePattern(text) as Pattern
const keyOf = (text: string, how = NORMALIZE_DEFAULTS) =>
  patternKey(normalizePattern(parse(text), how) ?? parse(text))

describe('a pattern in its one spelling', () => {
  it.each([
    ['/api/%6cogin/', '/api/login'],
    ['//a/./:id/*', '/a/:id/*'],
    ['/a/:x/../b', '/a/b'],
    ['/a/../*', '/*'],
    ['/:x/', '/:x'],
    ['/tags/c#', '/tags/c%23'],
    ['/a b', '/a%20b'],
    ['/', '/'],
  ])('%s is %s', (written, expected) => {
    expect(keyOf(written)).toBe(patternKey(parse(expected)))
  })

  it.each(['/a/:id/*', '*', 'api.search', 'a//b/', '/', '/%40me', 'A'])('%s stays', (written) => {
    expect(normalizePattern(parse(written), { ...FOLD, foldCase: false })).toBeNull()
  })

  it('keeps the slash at its end, or folds its case, as resources do', () => {
    expect(normalizePattern(parse('/a/'), KEEP)).toBeNull()
    expect(keyOf('/A/:Id/*', FOLD)).toBe(patternKey(parse('/a/:id/*')))
  })

  it('of literals is the resource of the same text', () => {
    const literal = messy.filter((text) => !/[?#*]|\/:/.test(text))
    fc.assert(
      fc.property(literal, settings, (text, how) => {
        expect(keyOf(text, how)).toBe(patternKey(parse(normalizeResource(text, how))))
      }),
      { numRuns: 1000 },
    )
  })

  it('that changes by it never matches a normalised resource as it was written', () => {
    const patterns = messy.map((text) => parsePattern(text.replaceAll('?', '')))
    fc.assert(
      fc.property(patterns, messy, settings, (pattern, text, how) => {
        if (typeof pattern === 'string' || normalizePattern(pattern, how) === null) return
        const trie = new PatternTrie<true>()
        trie.getOrAdd(pattern, () => true)
        const own = pattern.map((s) => (typeof s === 'object' ? s.literal : 'a')).join('/')
        for (const resource of [text, own])
          expect(trie.match(normalizeResource(resource, how))).toEqual([])
      }),
      { numRuns: 2000 },
    )
  })
})
