/** What a rule tells callers whom it denies. */
import { describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../../src/decision-record.js'
import { denialMessage } from '../../src/describe.js'
import { createLimiter, type Decision, type RuleInput, RuleSet } from '../../src/index.js'

const MESSAGE = 'Please wait a moment, or ask for a higher limit.'
function limiterOf(rule: object, more: object = {}) {
  const few = { scope: 'user', limits: '1/h', message: MESSAGE, ...rule } as RuleInput
  return createLimiter({ rules: { few }, ...more })
}
const told = (decision: Decision) => denialMessage(decision as unknown as DecisionRecord)
const ADA = { subject: { user: 'ada' } }

describe('the message of a rule', () => {
  it('is told to callers whom it denies, in the problem too', async () => {
    const limiter = limiterOf({})
    await limiter.check(ADA)
    const denied = await limiter.check(ADA)
    expect(told(denied)).toBe(MESSAGE)
    if (denied.allowed) throw new Error('it was allowed')
    expect(await denied.toResponse().json()).toMatchObject({ detail: MESSAGE, status: 429 })
  })

  it('is told where a cost never passes', async () => {
    expect(told(await limiterOf({}).check({ ...ADA, cost: 2 }))).toBe(MESSAGE)
  })

  it('says what each shard holds where a cost is above that', async () => {
    const limiter = limiterOf({ limits: '80/h', shards: 8, message: undefined })
    const decision = await limiter.check({ ...ADA, cost: 11 })
    expect(told(decision)).toBe(
      'few allows user ada 80/h; a cost above 10 never passes: that is what each of 8 shards holds',
    )
    expect(String(decision)).toContain(
      'a cost above 10 never passes: that is what each of 8 shards',
    )
    expect(
      told(await limiterOf({ limits: '80/h', message: undefined }).check({ ...ADA, cost: 81 })),
    ).toBe('few allows user ada 80/h; a cost above 80 never passes')
  })

  it('is that of the rule that denies, of its tiers and overrides too', async () => {
    const limiter = limiterOf(
      { limits: '5/h', tiers: { pro: '1/h' } },
      {
        overrides: [{ scope: 'user', value: 'bob', rule: 'few', limits: '1/h' }],
        tiers: { pro: ['user:ada'] },
      },
    )
    for (const subject of [{ user: 'ada' }, { user: 'bob' }]) {
      await limiter.check({ subject })
      expect(told(await limiter.check({ subject }))).toBe(MESSAGE)
    }
  })

  it('gives way to the reason where a block refuses, and where a rule states none', async () => {
    const limiter = limiterOf({}, { blocks: [{ user: 'mallory', reason: 'card testing' }] })
    expect(told(await limiter.check({ subject: { user: 'mallory' } }))).toContain('card testing')
    const plain = createLimiter({ rules: { few: { scope: 'user', limits: '1/h' } } })
    await plain.check(ADA)
    expect(told(await plain.check(ADA))).toContain('few allows user ada 1/h')
  })

  it('has at most 500 characters, and none that a terminal acts on', () => {
    const faultOf = (message: unknown) => {
      try {
        RuleSet.compile({ rules: { a: { scope: 'user', limits: '1/s', message } as RuleInput } })
        return null
      } catch (error) {
        return (error as Error).message.split('\n')[1]!.trim()
      }
    }
    expect(faultOf('x'.repeat(500))).toBeNull()
    expect(faultOf('😀'.repeat(500))).toBeNull()
    expect(faultOf('x'.repeat(501))).toBe('rules.a.message: is longer than 500 characters')
    expect(faultOf('')).toBe('rules.a.message: is empty; leave it out')
    expect(faultOf('a\u001b[31m')).toBe(
      'rules.a.message: holds control characters, such as a line break; write it in one line',
    )
    for (const blank of [' ', ' \u00a0 ', '\u3000'])
      expect(faultOf(blank)).toBe('rules.a.message: has only spaces; leave it out')
    expect(faultOf('a\ud800')).toBe('rules.a.message: holds half a surrogate pair')
    expect(faultOf(5)).toBe('rules.a.message: 5 is not a text')
  })

  it('has no characters that show it in another order than it is', () => {
    const isRead = (message: string) => {
      try {
        RuleSet.compile({ rules: { a: { scope: 'user', limits: '1/s', message } } })
        return true
      } catch (error) {
        expect(String(error)).toMatch(/change the order in which text is shown/)
        return false
      }
    }
    const refused = new Set([
      0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
    ])
    for (let code = 0x2000; code < 0x2100; code++)
      expect([code, isRead(`a${String.fromCharCode(code)}b`)]).toEqual([code, !refused.has(code)])
    // Text that runs from right to left needs none of them.
    expect(isRead('חזור מאוחר יותר')).toBe(true)
  })
})
