/** Faults in words: what was written, cut to size, and the word that was probably meant. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { didYouMean, list, nearest, printFault, quote } from './faults.js'

const FIELDS = ['scope', 'value', 'tier', 'tiers', 'resource', 'methods', 'limits', 'unit']

describe('a fault in print', () => {
  it('says where, what, and what to do', () => {
    expect(printFault({ path: 'rules.a', message: 'is bad', hint: 'mend it' })).toBe(
      'rules.a: is bad (mend it)',
    )
    expect(printFault({ path: 'rules.a', message: 'is bad' })).toBe('rules.a: is bad')
    const fault = { path: 'rules.a', message: 'is bad', expected: 'good', hint: 'mend it' }
    expect(printFault(fault)).toBe('rules.a: is bad; expected good (mend it)')
    expect(printFault({ path: '', message: 'is bad' })).toBe('is bad')
  })
})

describe('a quotation', () => {
  it('shows anything as it was written', () => {
    expect(quote('a "b"\n')).toBe('"a \\"b\\"\\n"')
    expect(quote(1.5)).toBe('1.5')
    expect(quote(null)).toBe('null')
    expect(quote([1, { a: true }])).toBe('[1,{"a":true}]')
    expect(quote(10n)).toBe('10n')
    expect(quote(undefined)).toBe('undefined')
    expect(quote(() => 1)).toBe('function')
    expect(quote(Symbol('s'))).toBe('symbol')
  })

  it('names the type of what cannot be written', () => {
    const round: unknown[] = []
    round.push(round)
    expect(quote(round)).toBe('object')
    expect(quote({ big: 1n })).toBe('object')
    const refuse = () => {
      throw new Error('no')
    }
    expect(quote({ toJSON: refuse })).toBe('object')
  })

  it('is short, of any value', () => {
    expect(quote('x'.repeat(1000))).toBe(`"${'x'.repeat(56)}...`)
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const quoted = quote(value)
        expect(typeof quoted).toBe('string')
        expect(quoted.length).toBeLessThanOrEqual(60)
      }),
    )
  })
})

describe('a list of words', () => {
  it('ends with an or', () => {
    expect(list([])).toBe('')
    expect(list(['a'])).toBe('a')
    expect(list(['a', 'b'])).toBe('a or b')
    expect(list(['a', 'b', 'c'])).toBe('a, b or c')
  })
})

describe('the nearest word', () => {
  it.each([
    ['tires', 'tiers'],
    ['scop', 'scope'],
    ['Scope', 'scope'],
    ['limit', 'limits'],
    ['vlaue', 'value'],
    ['resuorce', 'resource'],
    ['method', 'methods'],
    ['units', 'unit'],
  ])('of %s is %s', (written, meant) => {
    expect(nearest(written, FIELDS)).toBe(meant)
    expect(didYouMean(written, FIELDS)).toBe(`; did you mean "${meant}"?`)
  })

  it('is none where none is near', () => {
    for (const written of ['', 'color', 'x', 'description', 'l'.repeat(1_000_000)])
      expect(didYouMean(written, FIELDS)).toBe('')
  })

  it('of a word is the word', () => {
    for (const field of FIELDS) expect(nearest(field, FIELDS)).toBe(field)
  })

  it('is found again after one letter is lost, doubled or swapped', () => {
    const words = ['description', 'failure_mode', 'resource', 'additive', 'timezone', 'exemptions']
    fc.assert(
      fc.property(fc.constantFrom(...words), fc.nat(6), fc.nat(2), (word, at, kind) => {
        const [a, b] = [word[at]!, word[at + 1]!]
        const middle = [b, a + a + b, b + a][kind]!
        expect(nearest(word.slice(0, at) + middle + word.slice(at + 2), words)).toBe(word)
      }),
    )
  })
})
