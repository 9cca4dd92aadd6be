/**
 * What a history of answers says of a limit. A request was admitted at one moment between `sentAt` and
 * `answeredAt`; a span is charged only with those that lie in it as a whole, so whatever is found here was
 * too much wherever in between they were.
 */
import type { Answered } from './lease-load.js'

/** When it was sent and when it was answered, in milliseconds. */
export type Admission = Pick<Answered, 'sentAt' | 'answeredAt'>

export interface Bucket {
  readonly perSecond: number
  readonly burst: number
}

/** Reading a clock may take so long, and the store's microseconds are whole ones. */
const CLOCK_MS = 0.01

/**
 * By how much the worst span [a, b] has more than burst + rate·(b − a); not above 0 where every span is
 * within it. Only spans that begin with a sending and end with an answer need be looked at: any other can
 * be made shorter without losing anybody.
 *
 * Let N(a, b) be the number of those sent at a or later and answered by b. Admissions are gone through by
 * answer, so that b is the answer at hand, and a tree over them, sorted by sending, keeps for every a
 * N(a, b) + rate·a: its leaf has weight 1 once it was answered, and what a leaf is worth is its rate·a and
 * the weights from it to the right. The best of a node is the better of its right half's and of its left
 * half's plus the whole weight of the right. The root's best − rate·b − burst is therefore the exact excess
 * of the worst span that ends at b: O(n log n) in all, and the same number as looking at every pair.
 */
export function bucketExcess(admissions: readonly Admission[], bucket: Bucket): number {
  const perMs = bucket.perSecond / 1000
  const bySending = admissions.toSorted((a, b) => a.sentAt - b.sentAt)
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, bySending.length)))
  const weight = new Float64Array(2 * size)
  const best = new Float64Array(2 * size).fill(Number.NEGATIVE_INFINITY)
  let worst = Number.NEGATIVE_INFINITY
  const byAnswer = [...bySending.entries()].toSorted(([, a], [, b]) => a.answeredAt - b.answeredAt)
  for (const [place, { sentAt, answeredAt }] of byAnswer) {
    let node = size + place
    weight[node] = 1
    best[node] = 1 + perMs * sentAt
    for (node >>= 1; node > 0; node >>= 1) {
      const [left, right] = [2 * node, 2 * node + 1]
      weight[node] = weight[left]! + weight[right]!
      best[node] = Math.max(best[right]!, best[left]! + weight[right]!)
    }
    worst = Math.max(worst, best[1]! - perMs * (answeredAt + CLOCK_MS) - bucket.burst)
  }
  return worst
}

/** A history's store time: at least and at most so many milliseconds ahead of its own. */
export interface StoreTime {
  readonly least: number
  readonly most: number
}

/** For each aligned window, by the store's clock: those that certainly lie in it, and those that may. */
export function windowCounts(
  admissions: readonly Admission[],
  windowMs: number,
  { least, most }: StoreTime,
): Map<number, { certain: number; possible: number }> {
  const counts = new Map<number, { certain: number; possible: number }>()
  for (const { sentAt, answeredAt } of admissions) {
    const first = Math.floor((sentAt + least) / windowMs)
    const last = Math.floor((answeredAt + most) / windowMs)
    for (let window = first; window <= last; window++) {
      const { certain, possible } = counts.get(window) ?? { certain: 0, possible: 0 }
      counts.set(window, {
        certain: certain + (first === last ? 1 : 0),
        possible: possible + 1,
      })
    }
  }
  return counts
}

/**
 * How many of these one strict limiter would have let through. When each of them came is known only
 * roughly: by their sending and by their answer it is reckoned apart, and the smaller one is taken.
 */
export function idealUse(asked: readonly Admission[], bucket: Bucket): number {
  const bySending = asked.map(({ sentAt }) => sentAt)
  const byAnswer = asked.map(({ answeredAt }) => answeredAt)
  return Math.min(admittedBy(bucket, bySending), admittedBy(bucket, byAnswer))
}

function admittedBy({ perSecond, burst }: Bucket, times: readonly number[]): number {
  let [level, last, admitted] = [burst, Number.POSITIVE_INFINITY, 0]
  for (const at of times.toSorted((a, b) => a - b)) {
    level = Math.min(burst, level + (Math.max(0, at - last) * perSecond) / 1000)
    last = at
    if (level < 1) continue
    level--
    admitted++
  }
  return admitted
}
