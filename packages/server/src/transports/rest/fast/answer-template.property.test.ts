import { createLimiter, memoryStore, type RuleInput } from '@sluice/limiter'
import type { DecisionRecord } from '@sluice/limiter/transport'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Decisions } from '../../../decisions.js'
import { answerOf, statusOf } from '../../../http/wire-answer.js'
import { OnceInMemory } from '../../../receipts/once.js'
import { Vouchers } from '../../../receipts/vouchers.js'
import { Tenant, Tenants } from '../../../tenants.js'
import { ANSWER_KINDS, FULL } from './answer-kinds.js'
import { AnswerWriter } from './answer-writer.js'
import { BytesOut } from './bytes-out.js'
import { Templates } from './templates.js'

const limits = fc.constantFrom(
  '10/s',
  '3 per 10s',
  '1000/h burst 2000',
  '1M/d',
  '999999999 per 7d',
  '100 per 5m sliding',
  '20 per 15m exact',
  '7/min fixed',
  '10/s smooth',
  '5/s smooth 3',
  '10/s queue 5',
  '9 per calendar month in Europe/Berlin',
  '4 concurrent for 60s',
  '10 per 1500ms',
)
const rules = fc.array(
  fc.record({
    scope: fc.constantFrom('user', 'org', 'ip', 'global'),
    limits: fc.uniqueArray(limits, { minLength: 1, maxLength: 3 }),
    additive: fc.boolean(),
    shadow: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    unit: fc.constantFrom('requests', 'requests', 'tokens'),
  }),
  { minLength: 1, maxLength: 3 },
)
const values = fc.constantFrom(
  'ada',
  '42',
  "o'brien",
  'a b/c',
  '%41',
  'ünïcode',
  'x'.repeat(300),
  '~.-_!*()',
)
const requests = fc.array(
  fc.record({
    user: values,
    org: values,
    ip: fc.constantFrom('10.0.0.1', '2001:db8::1'),
    cost: fc.integer({ min: 1, max: 4 }),
    after: fc.constantFrom(0, 0, 0, 1, 250.25, 1000, 86_400_000),
  }),
  { minLength: 1, maxLength: 12 },
)

/** What the bytes of an answer say. */
function parsed(bytes: Buffer) {
  const text = bytes.toString()
  const [head, body] = text.split('\r\n\r\n') as [string, string]
  const [statusLine, ...lines] = head.split('\r\n') as [string, ...string[]]
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: JSON.parse(body),
    length: Buffer.byteLength(body),
  }
}

/** Two receipts for the same take differ in their number. */
function withoutNumber(vouchers: Vouchers, body: Record<string, unknown>) {
  const { receipt, ...rest } = body
  if (receipt === null || receipt === undefined) return body
  const opened = vouchers.seal.open(receipt as string)
  expect(opened).not.toBeNull()
  return { ...rest, receipt: opened!.replace(/^r;default;[^;]*;/, '') }
}

describe('answers by template', () => {
  it('mean what ordinary answers mean', () => {
    let templated = 0
    const everyTemplate = new Templates(['x-ratelimit', 'draft-11'])
    const kinds = fc.nat(ANSWER_KINDS.length - 1)
    const property = fc.property(rules, requests, kinds, (list, history, kind) => {
      const named: Record<string, RuleInput> = {}
      for (const [i, rule] of list.entries())
        named[`rule-${i}`] = {
          ...rule,
          resource: `/r${'*'.repeat(0)}`,
          additive: true,
        }
      let now = 1_790_000_000_000.5
      const limiter = createLimiter({ rules: named, clock: () => now })
      const vouchers = new Vouchers({
        secret: Buffer.alloc(16, 7),
        once: new OnceInMemory(),
        now: Date.now,
      })
      const decisionsOf = (answers: 'lean' | 'full') =>
        new Decisions({
          tenants: new Tenants(memoryStore()),
          vouchers,
          observer: { decided: () => undefined, took: () => undefined },
          headerFamilies: ['x-ratelimit', 'draft-11'],
          answers,
        })
      const decisions = decisionsOf(kind === FULL ? 'full' : 'lean')
      const tenant = new Tenant('default', limiter)
      const writer = new AnswerWriter(decisions)
      const ordinarily = (decision: DecisionRecord) =>
        JSON.parse(JSON.stringify(answerOf(decision, vouchers, ANSWER_KINDS[kind]!)))
      const out = new BytesOut(64)
      const made: DecisionRecord[] = []
      for (const { user, org, ip, cost, after } of history) {
        now += after
        const request = {
          subject: { user, org, ip },
          resource: '/r',
          costs: { requests: cost, tokens: cost * 7 },
        }
        const decision = decisions.decide(tenant, request) as DecisionRecord
        made.push(decision)
        if (everyTemplate.of(decision) !== null) templated++
        writer.single(out, decision, false, kind)
        const { status, headers, body, length } = parsed(out.taken())
        const { Date: _date, 'Content-Type': type, 'Content-Length': said, ...own } = headers
        expect([status, type, Number(said)]).toEqual([
          statusOf(decision),
          'application/json',
          length,
        ])
        expect(own).toEqual(decision.toHeaders())
        const ordinary = ordinarily(decision)
        expect(Object.keys(body)).toEqual(Object.keys(ordinary))
        expect(withoutNumber(vouchers, body)).toEqual(withoutNumber(vouchers, ordinary))
      }
      writer.batch(out, made, true, kind)
      const batch = parsed(out.taken())
      expect(batch.headers['Connection']).toBe('close')
      expect(Number(batch.headers['Content-Length'])).toBe(batch.length)
      const expected = made.map(ordinarily)
      expect(
        batch.body.results.map((one: Record<string, unknown>) => withoutNumber(vouchers, one)),
      ).toEqual(expected.map((one) => withoutNumber(vouchers, one)))
    })
    fc.assert(property, { numRuns: 400 })
    expect(templated).toBeGreaterThan(200)
  })
})

describe('digits and times', () => {
  it('are written as texts have them', () => {
    const out = new BytesOut(128)
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.boolean(), (value, isNegative) => {
        out.at = 0
        out.integer(isNegative ? -value : value)
        expect(out.taken().toString('latin1')).toBe(
          String(isNegative && value > 0 ? -value : value === 0 && isNegative ? 0 : value),
        )
      }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => {
        out.bytes.fill(' ')
        out.bytes.write('2000-01-01T00:00:00.000Z', 'latin1')
        out.time(0, ms)
        expect(out.bytes.toString('latin1', 0, 24)).toBe(new Date(ms).toISOString())
      }),
    )
  })
})
