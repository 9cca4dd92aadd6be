/**
 * What the instances of a drill wrote down, and what must be true of it. Every check answers with what it
 * found wrong, in words; it asks nothing of the library. Times are milliseconds: `asked`, `answered` and
 * stalls by the instance's own clock that never goes back, walls and spans by the machine's.
 */
import { readFileSync } from 'node:fs'
import type { BreakerState } from '../../../src/stores/guarded/breaker.js'
import { LOAD, rulesOf } from './load.js'

/** By node. */
type Breakers = Readonly<Record<string, BreakerState>>

export interface Answer {
  readonly worker: number
  readonly asked: number
  readonly answered: number
  readonly askedWall: number
  readonly answeredWall: number
  readonly resource: string
  /** The key that was asked for, in every scope. */
  readonly key: string
  /** The breakers of the nodes that have its rows: just before it was asked, and once the store had been given it. */
  readonly breakers: { readonly before: Breakers; readonly after: Breakers }
  readonly allowed: boolean
  readonly degraded: string | null
  /** Microseconds of the store's clock; of several calls the last one's. */
  readonly decidedAt: number
  readonly reason: string | null
  /** The rule that denies, or has least left. */
  readonly rule: string
}

/** The loop did not turn, or the store did not answer a ping on another connection. */
interface Stall {
  readonly worker: number
  readonly of: 'loop' | 'store'
  readonly from: number
  readonly to: number
}

interface Memory {
  readonly worker: number
  readonly when: string
  readonly bytes: number
}

export interface Span {
  readonly from: number
  readonly to: number
}

export interface History {
  readonly answers: readonly Answer[]
  readonly stalls: readonly Stall[]
  readonly memory: readonly Memory[]
  readonly errors: readonly string[]
}

type Line =
  | ({ readonly is: 'answer' } & Answer)
  | ({ readonly is: 'stall' } & Stall)
  | ({ readonly is: 'memory' } & Memory)
  | { readonly is: 'error'; readonly what: string }

/** One file of lines for each instance. */
export function readHistory(files: readonly string[]): History {
  const answers: Answer[] = []
  const stalls: Stall[] = []
  const memory: Memory[] = []
  const errors: string[] = []
  for (const [worker, file] of files.entries()) {
    for (const text of readFileSync(file, 'utf8').split('\n')) {
      if (text === '') continue
      const line = JSON.parse(text) as Line
      if (line.is === 'answer') answers.push({ ...line, worker })
      else if (line.is === 'stall') stalls.push({ ...line, worker })
      else if (line.is === 'memory') memory.push({ ...line, worker })
      else errors.push(`instance ${worker}: ${line.what}`)
    }
  }
  return { answers, stalls, memory, errors }
}

/** By how much clocks that are read in whole milliseconds may differ. */
export const CLOCK_MS = 2

/** Decided by the store's clock, whatever the instance's own says. */
export function decidedByOtherClocks({ answers }: History): string[] {
  return answers.flatMap(({ worker, degraded, decidedAt, askedWall, answeredWall }) => {
    const at = decidedAt / 1000
    if (degraded !== null) return []
    if (at >= askedWall - CLOCK_MS && at <= answeredWall + CLOCK_MS) return []
    return `instance ${worker}: asked ${askedWall}, decided ${at}, answered ${answeredWall}`
  })
}

/** How long the instance had no processor between these times. */
function stalled({ stalls }: History, worker: number, from: number, to: number): number {
  let ms = 0
  for (const stall of stalls)
    if (stall.worker === worker && stall.of === 'loop')
      ms += Math.max(0, Math.min(to, stall.to) - Math.max(from, stall.from))
  return ms
}

/** Answered within the deadline, and what a busy machine adds: the margin, and all the time without the processor. */
export function late(history: History, deadlineMs: number, marginMs = 50): string[] {
  return history.answers.flatMap(({ worker, asked, answered, resource, degraded }) => {
    const took = answered - asked
    if (took <= deadlineMs + marginMs) return []
    const away = stalled(history, worker, asked - 50, answered)
    if (took <= deadlineMs + marginMs + 2 * away) return []
    return `instance ${worker}, ${resource}: ${took} ms (${degraded}), of which stalled ${away}`
  })
}

/** Nothing is said to come from a store that was away from the first moment to the last. */
export function exactWhileAway({ answers }: History, away: Span, allowedOnly = false): string[] {
  return answers.flatMap(({ worker, askedWall, answeredWall, resource, degraded, allowed }) => {
    const isInside = askedWall > away.from + CLOCK_MS && answeredWall < away.to - CLOCK_MS
    if (!isInside || degraded !== null || (allowedOnly && !allowed)) return []
    return `instance ${worker}, ${resource}: an exact answer ${askedWall - away.from} ms into it`
  })
}

/** From here on a stall makes a call miss its deadline, together with others. */
const LONG_STALL_MS = 40

/**
 * Nothing is said to be degraded while the store was well, and had been for long enough; but for a
 * deadline that was missed because the machine stood still, and a breaker that opened because of it.
 */
export function degradedWhileWell(history: History, well: Span): string[] {
  const longStalls = history.stalls.filter(({ from, to }) => to - from >= LONG_STALL_MS)
  return history.answers.flatMap((answer) => {
    const { worker, asked, answered, askedWall, answeredWall, resource, degraded } = answer
    if (degraded === null || askedWall < well.from || answeredWall > well.to) return []
    const wellSince = asked - (askedWall - well.from)
    const from = degraded === 'store_timeout' ? Math.max(asked - 150, wellSince) : wellSince
    const isExcused = longStalls.some(
      (stall) => stall.worker === worker && stall.to > from && stall.from < answered,
    )
    const mayBe = degraded !== 'store_unreachable' && degraded !== 'store_refused'
    if (isExcused && mayBe) return []
    return `instance ${worker}, ${resource}: ${degraded} ${askedWall - well.from} ms into it`
  })
}

/** Once the store is back, whoever asks it finds it: the breaker's probe does not fail, and open it again. */
export function failedProbes(history: History, over: number): string[] {
  const asked = history.answers.filter(
    ({ degraded }) => degraded !== 'breaker_open' && degraded !== 'store_returning',
  )
  return degradedWhileWell(
    { ...history, answers: asked },
    { from: over, to: Number.POSITIVE_INFINITY },
  )
}

/** Each rule by its failure mode. */
export function wrongByMode({ answers }: History): string[] {
  return answers.flatMap(({ worker, resource, degraded, allowed, reason }) => {
    const { mode } = LOAD[rulesOf(resource)[0]!]!
    let isRight = allowed || reason === 'limited'
    if (degraded !== null && mode === 'closed') isRight = !allowed && reason === 'store_down'
    if (degraded !== null && mode === 'open') isRight = allowed
    if (isRight) return []
    return `instance ${worker}, ${resource}: ${allowed ? 'allowed' : reason} (${degraded})`
  })
}

/**
 * While the breaker of a node is open nothing is sent there; while it is half-open, one probe at a time, and one
 * more where a beat was answered meanwhile: the second answer closes it.
 */
export function brokenBreakers(history: History): string[] {
  const found: string[] = []
  const probes = new Map<string, readonly Answer[]>()
  for (const answer of byTime(history)) {
    const { worker, asked, breakers, degraded } = answer
    if (degraded === 'breaker_open') continue
    for (const [node, before] of Object.entries(breakers.before)) {
      if (before === 'open' && breakers.after[node] === 'open')
        found.push(`instance ${worker}: asked ${node} at ${asked} ms though open (${degraded})`)
      if (before !== 'half_open') continue
      const own = `${worker} ${node}`
      const underWay = (probes.get(own) ?? []).filter(({ answered }) => asked < answered)
      if (underWay.length > 1)
        found.push(`instance ${worker}: a third probe of ${node} at ${asked} ms (${degraded})`)
      probes.set(own, [...underWay, answer])
    }
  }
  return found
}

/** Instances whose breaker never opened, though nothing answered them. */
export function neverOpened({ answers }: History, instances: number): string[] {
  return Array.from({ length: instances }, (_, worker) => worker)
    .filter((i) => !answers.some((each) => each.worker === i && each.degraded === 'breaker_open'))
    .map((worker) => `instance ${worker} never stopped asking`)
}

function byTime({ answers }: History): Answer[] {
  return [...answers].sort((a, b) => a.asked - b.asked)
}

/** What one rule denies costs the others nothing: the rule that has room for everybody denies nobody. */
export function deniedThoughRoomy({ answers }: History, { from, to }: Span): string[] {
  return answers.flatMap(({ worker, rule, allowed, degraded, key, askedWall, answeredWall }) => {
    if (allowed || degraded !== null || askedWall < from || answeredWall > to) return []
    return rule === 'roomy' ? `instance ${worker}: ${key} denied by roomy` : []
  })
}

/** The heap after a collection, at the end and when the load had just begun. */
export function grown({ memory }: History, mostBytes: number): string[] {
  return memory.flatMap(({ worker, when, bytes }) => {
    const start = memory.find((each) => each.worker === worker && each.when === 'start')
    if (when !== 'end' || start === undefined || bytes - start.bytes <= mostBytes) return []
    return `instance ${worker}: from ${start.bytes} to ${bytes} bytes`
  })
}

/** A drill shows something only if limits were reached, by the store, in this span. */
export function nothingShown({ answers }: History, span: Span): string[] {
  return Object.keys(LOAD).flatMap((rule) => {
    const own = answers.filter(
      ({ resource, askedWall, answeredWall, degraded }) =>
        LOAD[rule]!.resource === resource &&
        degraded === null &&
        askedWall >= span.from &&
        answeredWall <= span.to,
    )
    if (rule === 'roomy') return own.some(({ allowed }) => allowed) ? [] : `${rule}: never allowed`
    const isShown =
      own.some(({ allowed }) => allowed) && own.some((each) => each.rule === rule && !each.allowed)
    return isShown ? [] : `${rule}: not both allowed and limited`
  })
}
