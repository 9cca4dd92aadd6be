/** What is read from a history: by the tree and by looking at every pair it is the same. */
import { describe, expect, it } from 'vitest'
import {
  type Admission,
  type Bucket,
  bucketExcess,
  idealUse,
  windowCounts,
} from './lease-bounds.js'

const BUCKET: Bucket = { perSecond: 100, burst: 5 }

/** A generator of numbers below 1 that can be run again. */
function lottery(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function history(seed: number): Admission[] {
  const next = lottery(seed)
  return Array.from({ length: 1 + Math.floor(40 * next()) }, () => {
    const sentAt = Math.floor(200 * next())
    return { sentAt, answeredAt: sentAt + Math.floor(60 * next() ** 3) }
  })
}

function worstPair(admissions: readonly Admission[], { perSecond, burst }: Bucket): number {
  const spans = admissions.flatMap(({ sentAt: from }) =>
    admissions.map(({ answeredAt: to }) => {
      const inside = admissions.filter(
        ({ sentAt, answeredAt }) => sentAt >= from && answeredAt <= to,
      )
      const most = burst + (perSecond * (to - from)) / 1000
      return inside.length === 0 ? Number.NEGATIVE_INFINITY : inside.length - most
    }),
  )
  return Math.max(...spans)
}

describe('the excess over a bucket', () => {
  it('is that of the worst pair of a sending and an answer', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const admissions = history(seed)
      // A clock's own uncertainty is forgiven.
      const forgiven = worstPair(admissions, BUCKET) - bucketExcess(admissions, BUCKET)
      expect(forgiven, `seed ${seed}`).toBeCloseTo(0.001, 6)
    }
  })

  it('is none where nothing was admitted', () => {
    expect(bucketExcess([], BUCKET)).toBe(Number.NEGATIVE_INFINITY)
  })

  it('forgives what may have been before or after', () => {
    const long = Array.from({ length: 20 }, () => ({ sentAt: 0, answeredAt: 1000 }))
    expect(bucketExcess(long, BUCKET)).toBeLessThan(0)
    const short = long.map(() => ({ sentAt: 0, answeredAt: 10 }))
    expect(bucketExcess(short, BUCKET)).toBeCloseTo(20 - 5 - 1, 2)
  })
})

describe('the counts of windows', () => {
  it('tell what certainly lies in one from what may', () => {
    const admissions = [
      { sentAt: 10, answeredAt: 20 },
      { sentAt: 95, answeredAt: 98 },
      { sentAt: 99, answeredAt: 101 },
    ]
    const counts = windowCounts(admissions, 100, { least: 0, most: 5 })
    expect([...counts]).toEqual([
      [0, { certain: 1, possible: 3 }],
      [1, { certain: 0, possible: 2 }],
    ])
  })
})

describe('what one strict limiter would let through', () => {
  it('is its burst at once and its rate after', () => {
    const at = (time: number) => ({ sentAt: time, answeredAt: time })
    const asked = [...Array.from({ length: 10 }, () => at(0)), at(5), at(10), at(15), at(20)]
    expect(idealUse(asked, BUCKET)).toBe(5 + 2)
  })
})
