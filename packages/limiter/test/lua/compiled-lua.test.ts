/**
 * The algorithms compiled to Lua answer what their TypeScript answers: random histories are played in
 * both, and every number of every answer and row must be the same double.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  atLeast,
  type Beside,
  charge,
  decide,
  emptyAt,
  grant,
  refund,
  reset,
  take,
  widthOf,
} from '../../src/algorithms/algorithm.js'
import { canRestart, restart } from '../../src/algorithms/clock-steps.js'
import { type Holds, renewHold } from '../../src/algorithms/concurrency.js'
import {
  BUCKET,
  CONCURRENCY,
  FIXED_WINDOW,
  type LimitNumbers,
  limitNumbers,
  SLIDING_COUNTER,
  SLIDING_LOG,
} from '../../src/algorithms/limit-numbers.js'
import { MARK, MARK_REST } from '../../src/algorithms/verdict.js'
import { HoldBook } from '../../src/stores/memory/side/hold-book.js'
import { LogRing } from '../../src/stores/memory/side/log-ring.js'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const START = 1_780_000_000_000_000
const S = 1_000_000

/** A history of one row: what to do, with times relative to the last and amounts relative to the limit. */
interface Step {
  readonly kind:
    | 'check'
    | 'peek'
    | 'refund'
    | 'grant'
    | 'charge'
    | 'at least'
    | 'reset'
    | 'renew'
    | 'change'
    | 'restart'
  readonly cost: number
  readonly wait: number
  readonly pick: number
}

interface History {
  readonly kind: number
  readonly amount: number
  readonly window: number
  readonly burst: number
  readonly queues: boolean
  readonly calendar: boolean
  readonly steps: readonly Step[]
}

const amounts = fc.oneof(
  fc.constantFrom(1, 2, 3, 7, 10, 60, 997, 12_000, 1_000_000, 999_999_937, 1_000_000_000),
  fc.integer({ min: 1, max: 1000 }),
)

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('check' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'peek',
        'refund',
        'grant',
        'charge',
        'at least',
        'reset',
        'renew',
        'change',
        'restart',
      ),
    },
  ),
  cost: fc.oneof(fc.integer({ min: 1, max: 5 }), amounts),
  wait: fc.oneof(fc.constantFrom(0, 1, 999, 1000), fc.double({ min: -0.2, max: 2.5, noNaN: true })),
  pick: fc.nat(1000),
})

const history: fc.Arbitrary<History> = fc
  .record({
    kind: fc.constantFrom(BUCKET, BUCKET, FIXED_WINDOW, SLIDING_COUNTER, SLIDING_LOG, CONCURRENCY),
    amount: amounts,
    window: fc.oneof(
      fc.constantFrom(S, 3 * S, 60 * S, 3600 * S, 86_400 * S, 366 * 86_400 * S, 10 * S + 3),
      fc.integer({ min: S, max: 1e12 }),
    ),
    burst: amounts,
    queues: fc.boolean(),
    calendar: fc.boolean(),
    steps: fc.array(step, { minLength: 1, maxLength: 30 }),
  })
  .filter(({ amount, burst, window }) => (burst / amount) * window < 3e15)
  .filter(({ kind, amount }) => kind !== CONCURRENCY || amount <= 1000)

/** Plays a history in TypeScript; the lines that tell Lua to do the same, and what it must print. */
function play(played: History): { lines: string[]; printed: string[] } {
  const { kind, window, queues } = played
  const burst = kind === BUCKET ? played.burst : played.amount
  const lines: string[] = []
  const printed: string[] = []
  const bounds = played.calendar && kind === FIXED_WINDOW ? calendar(window) : []
  let limit = limitNumbers(kind, played.amount, window, burst, queues)
  const use = (next: LimitNumbers) => {
    limit = next
    limit.bounds = bounds
    lines.push(
      ['limit', kind, next.amount, window, next.burst, queues ? 1 : 0, next.since, ...bounds].join(
        ' ',
      ),
    )
  }
  use(limit)
  lines.push('new')
  const row = new Float64Array(widthOf(kind))
  const beside: Beside = kind === CONCURRENCY ? new HoldBook() : new LogRing()
  const out = new Float64Array(6)
  const receipts: { mark: number; rest: number; amount: number; refunds: number }[] = []
  let refunds = 0
  let now = START
  const show = (first: number) => {
    const numbers = [first, ...out, ...row, emptyAt(row, 0, limit, beside)]
    printed.push(numbers.map(String).join(' '))
  }
  for (const { kind: what, cost, wait, pick } of played.steps) {
    now += Math.round(Math.abs(wait) < 3 ? wait * window : wait)
    const id = `h${pick % 4}`
    const n = kind === CONCURRENCY ? 1 + (cost % 3) : cost
    if (what === 'check' || what === 'peek') {
      decide(row, 0, limit, n, now, out, 0, beside, id)
      if (out[0] === 0 && what === 'check') {
        take(row, 0, limit, n, now, out, 0, beside, id)
        receipts.push({ mark: out[MARK]!, rest: out[MARK_REST]!, amount: limit.amount, refunds })
      }
      lines.push(`check ${n} ${now} ${id} ${what === 'check' ? 'take' : 'peek'}`)
      show(out[0]!)
    } else if (what === 'refund') {
      const receipt = receipts[pick % Math.max(1, receipts.length)]
      if (receipt === undefined) continue
      const { mark, rest, amount } = receipt
      const since = refunds - receipt.refunds
      lines.push(`refund ${n} ${now} ${mark} ${rest} ${amount} ${since}`)
      const given = refund(row, 0, limit, n, now, mark, rest, amount, since, beside)
      refunds += given
      show(given)
    } else if (what === 'grant') {
      lines.push(`grant ${n} ${now}`)
      show(grant(row, 0, limit, n, now, beside))
    } else if (what === 'charge') {
      lines.push(`charge ${n} ${now}`)
      show(charge(row, 0, limit, n, now, beside))
    } else if (what === 'at least') {
      const added = atLeast(row, 0, limit, n, now, beside)
      lines.push(`raise ${n} ${now}`)
      show(added)
      expect(atLeast(row, 0, limit, n, now, beside)).toBe(0)
    } else if (what === 'reset') {
      lines.push(`reset ${now}`)
      show(reset(row, 0, limit, now, beside))
    } else if (what === 'restart') {
      now -= Math.round(window * (pick % 4)) + 61 * S
      lines.push(`restart ${now}`)
      if (canRestart(limit, now)) restart(row, 0, limit, now, beside)
      show(0)
    } else if (what === 'renew') {
      if (kind !== CONCURRENCY) continue
      lines.push(`renew ${now} ${id}`)
      show(renewHold(limit, now, beside as Holds, id))
    } else {
      const amount = 1 + (pick % 50)
      if ((burst / amount) * window >= 3e15) continue
      const next = limitNumbers(kind, amount, window, kind === BUCKET ? burst : amount, queues)
      next.since = now
      use(next)
    }
  }
  return { lines, printed }
}

/** Windows of unequal length around the history. */
function calendar(window: number): number[] {
  const lengths = [0.9, 1, 1.1, 1, 0.8, 1, 1, 1, 1, 1, 1, 1]
  const bounds = [START - 12 * window]
  for (let i = 0; i < 120; i++) bounds.push(bounds[i]! + Math.round(window * lengths[i % 12]!))
  return bounds
}

function playInLua(lines: readonly string[]): string[] {
  const args = [path('./harness.lua'), path('../../lua/algorithms.lua')]
  const { stdout, stderr, status } = spawnSync('lua5.1', args, {
    input: `${lines.join('\n')}\n`,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout.split('\n').slice(0, -1)
}

describe('the algorithms compiled to Lua', () => {
  it('give the same doubles as their TypeScript on random histories', () => {
    const histories = fc.sample(history, { numRuns: 4000 })
    const all = histories.map(play)
    const lua = playInLua(all.flatMap(({ lines }) => lines))
    const expected = all.flatMap(({ printed }) => printed)
    expect(expected.length).toBeGreaterThan(20_000)
    const same = (line: string) => line.split(' ').map(Number)
    let at = 0
    for (const [i, { printed, lines }] of all.entries()) {
      for (const line of printed) {
        const [ours, theirs] = [same(line), same(lua[at] ?? '')]
        if (ours.join() !== theirs.join())
          throw new Error(
            `history ${i}: TypeScript ${ours.join()}, Lua ${theirs.join()}\n${lines.join('\n')}`,
          )
        at++
      }
    }
    expect(at).toBe(lua.length)
  })
})
