/** Calendar windows start where a zone's days, weeks and months do. */
import assert from 'node:assert/strict'
import { DAY_MS } from '../limits/duration.js'
import type { LimitText } from '../limits/limit-text.js'
import { ADA, type Chapter, type Open } from './trial.js'

interface Case {
  readonly limit: LimitText
  readonly at: string
  readonly ends: string
  readonly next: string
}

const CASES: readonly Case[] = [
  {
    limit: '3 per calendar day',
    at: '2026-05-28T20:26:40Z',
    ends: '2026-05-29T00:00:00Z',
    next: '2026-05-30T00:00:00Z',
  },
  {
    limit: '3 per calendar day in Europe/Berlin',
    at: '2026-03-29T00:30:00Z',
    ends: '2026-03-29T22:00:00Z',
    next: '2026-03-30T22:00:00Z',
  },
  {
    limit: '3 per calendar week in Asia/Kathmandu',
    at: '2026-05-28T20:26:40Z',
    ends: '2026-05-31T18:15:00Z',
    next: '2026-06-07T18:15:00Z',
  },
  {
    limit: '3 per calendar month in America/New_York',
    at: '2026-02-10T12:00:00Z',
    ends: '2026-03-01T05:00:00Z',
    next: '2026-04-01T04:00:00Z',
  },
]

const ends = CASES.map(({ limit, at, ends, next }) => [
  `${limit}: ends to the millisecond where the calendar says`,
  async (open: Open) => {
    const trial = open(limit)
    trial.now = Date.parse(at)
    const decision = await trial.take({ ...ADA, cost: 3 })
    assert.equal(decision.resetAtMs, Date.parse(ends))
    trial.now = Date.parse(ends) - 1
    assert.equal((await trial.deny(ADA)).retryAfterMs, 1)
    trial.now = Date.parse(ends)
    assert.equal((await trial.take(ADA)).resetAtMs, Date.parse(next))
    assert.deepEqual(await trial.left(ADA), [2])
  },
])

export const calendars: Chapter = {
  ...Object.fromEntries(ends),

  'a window that has passed is forgotten, however long ago': async (open) => {
    const trial = open(['3 per calendar month', '2 per calendar day'])
    await trial.take({ ...ADA, cost: 2 })
    trial.now += 400 * DAY_MS
    assert.deepEqual(await trial.left(ADA), [3, 2])
    await trial.take(ADA)
    assert.deepEqual(await trial.left(ADA), [2, 1])
  },

  'a clock that steps back over midnight stays in the later day': async (open) => {
    const trial = open('3 per calendar day')
    trial.now = Date.parse('2026-05-28T23:59:40Z')
    await trial.take(ADA)
    trial.now = Date.parse('2026-05-29T00:00:20Z')
    await trial.take({ ...ADA, cost: 3 })
    trial.now = Date.parse('2026-05-28T23:59:30Z')
    assert.equal((await trial.deny(ADA)).retryAfterMs, DAY_MS + 30_000)
  },
}
