/**
 * Whether more was admitted than a limit promises. An admission happened at one moment between `from` and
 * `to` (microseconds of the store's clock; the same where the store said when). What is reported is a
 * fault wherever in their intervals the admissions really were: a span is charged only with those that lie
 * in it as a whole. Where all are moments this finds every excess.
 */
import { CLOCK_MS, type History } from './history.js'
import { type Bound, LOAD, rulesOf } from './load.js'

export interface Admission {
  readonly from: number
  readonly to: number
}

/** The excess that is found first, in words; null if there is none. */
export function excess(admissions: readonly Admission[], bound: Bound): string | null {
  switch (bound.kind) {
    case 'aligned':
      return inAlignedWindow(admissions, bound.limit, bound.window)
    case 'every':
      return inSpan(admissions, (length) => (length < bound.window ? bound.limit : Infinity))
    case 'bucket': {
      // One microsecond for the store's whole ones.
      const { burst, amount, window } = bound
      return inSpan(admissions, (length) => burst + ((length + 1) * amount) / window)
    }
  }
}

function inAlignedWindow(
  admissions: readonly Admission[],
  limit: number,
  window: number,
): string | null {
  const counts = new Map<number, number>()
  for (const { from, to } of admissions) {
    const start = Math.floor(from / window)
    if (start === Math.floor(to / window)) counts.set(start, (counts.get(start) ?? 0) + 1)
  }
  for (const [start, count] of counts)
    if (count > limit) return `${count} in the window from ${start * window}, at most ${limit}`
  return null
}

/** `most`: how many a span of this length may have. Only spans from a `from` to a `to` need be looked at. */
function inSpan(admissions: readonly Admission[], most: (length: number) => number): string | null {
  const byEnd = [...admissions].sort((a, b) => a.to - b.to)
  for (const start of new Set(admissions.map(({ from }) => from))) {
    let count = 0
    for (const { from, to } of byEnd) {
      if (from < start) continue
      count++
      const bound = most(to - start)
      if (bound === Infinity) break
      if (count > bound)
        return `${count} within ${to - start} µs from ${start}, at most ${Math.floor(bound)}`
    }
  }
  return null
}

/**
 * Admitted by the store within what the limits promise. `cuts`: when the store lost what it had counted;
 * the time before and the time after one are taken apart.
 */
export function overAdmitted({ answers }: History, cuts: readonly number[] = []): string[] {
  const rows = new Map<string, Admission[]>()
  for (const answer of answers) {
    if (!answer.allowed || answer.degraded !== null) continue
    const { resource, key, decidedAt, askedWall } = answer
    const rules = rulesOf(resource)
    // Several rows may have been asked for in several calls, one after the other.
    const from = rules.length === 1 ? decidedAt : (askedWall - CLOCK_MS) * 1000
    const era = cuts.filter((cut) => cut * 1000 <= decidedAt).length
    if (cuts.some((cut) => from < cut * 1000 && cut * 1000 <= decidedAt)) continue
    for (const rule of rules) {
      const row = `${rule} of ${key}, era ${era}`
      add(rows, row, { from, to: decidedAt })
    }
  }
  return [...rows].flatMap(([row, admissions]) =>
    LOAD[row.split(' ')[0]!]!.bounds.flatMap((bound) => {
      const found = excess(admissions, bound)
      return found === null ? [] : `${row}: ${found}`
    }),
  )
}

function add(rows: Map<string, Admission[]>, row: string, admission: Admission): void {
  const known = rows.get(row)
  if (known === undefined) rows.set(row, [admission])
  else known.push(admission)
}

/**
 * `local` rules without the store: all instances together admit what the limit does; half as much again
 * for what the parts are estimated from, and one for each instance that its part is rounded to.
 */
export function overAdmittedLocally({ answers }: History, instances: number): string[] {
  const rows = new Map<string, Admission[]>()
  for (const { resource, key, degraded, allowed, askedWall, answeredWall } of answers) {
    if (degraded === null || !allowed || LOAD[resource]?.mode !== 'local') continue
    const at = { from: askedWall * 1000, to: answeredWall * 1000 }
    add(rows, key, at)
  }
  return [...rows].flatMap(([key, admissions]) => {
    const [bound] = LOAD['local']!.bounds
    if (bound?.kind !== 'bucket') throw new Error('expected a bucket')
    const loose = (n: number) => Math.ceil(1.5 * n) + instances
    const found = excess(admissions, {
      ...bound,
      burst: loose(bound.burst),
      amount: loose(bound.amount),
    })
    return found === null ? [] : `local of ${key} without the store: ${found}`
  })
}
