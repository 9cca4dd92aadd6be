/** Everything that must hold in every drill, and what a drill says of its own fault. */
import { overAdmitted, overAdmittedLocally } from './admissions.js'
import { DEADLINE_MS, type Drilled, INSTANCES } from './drill.js'
import {
  brokenBreakers,
  decidedByOtherClocks,
  degradedWhileWell,
  deniedThoughRoomy,
  exactWhileAway,
  failedProbes,
  grown,
  late,
  neverOpened,
  nothingShown,
  type Span,
  wrongByMode,
} from './history.js'

export interface Expected {
  /** When the store lost what it had counted, by the machine's clock in milliseconds. */
  readonly cuts?: readonly number[]
  /** When the store answered nobody: long enough for every breaker to open. */
  readonly away?: Span
  /** When the store could not write. */
  readonly readOnly?: Span
  /** Nobody notices anything. */
  readonly unnoticed?: boolean
  /** A client that is quick may hide it. */
  readonly mild?: boolean
}

/** What an instance may have more than it began with: code that is compiled late, and rows that are counted locally. */
const MOST_GROWTH = 5 * 1024 * 1024
/** How long a client may take to connect again. */
const CALM_MS = 3000
const SHOWN = 5

/** By promise, what broke it; a promise that was kept is not named. */
export function findings(drilled: Drilled, expected: Expected = {}): Record<string, string[]> {
  const { history, before, fault, after } = drilled
  const { cuts, away, readOnly, unnoticed, mild } = expected
  const whole = { from: before.from, to: after.to }
  const all = {
    'nothing is thrown, lost or left over': history.errors,
    'no bound is broken': overAdmitted(history, cuts),
    'the store decides by its clock': decidedByOtherClocks(history),
    'every answer comes in time': late(history, DEADLINE_MS),
    'each rule fails by its mode': wrongByMode(history),
    'instances without the store share the limit': overAdmittedLocally(history, INSTANCES),
    'an open breaker asks nobody': brokenBreakers(history),
    'memory is flat': grown(history, MOST_GROWTH),
    'limits are reached before': nothingShown(history, before),
    'limits are reached after': nothingShown(history, after),
    'a denial takes nothing before': deniedThoughRoomy(history, before),
    'a denial takes nothing after': deniedThoughRoomy(history, after),
    'exact before': degradedWhileWell(history, before),
    'exact after': degradedWhileWell(history, after),
    'the first probe finds the store': failedProbes(history, fault.to + CALM_MS),
    unnoticed: unnoticed === true ? degradedWhileWell(history, whole) : [],
    'degraded while the store is away': away === undefined ? [] : exactWhileAway(history, away),
    'the breaker opens': away === undefined ? [] : neverOpened(history, INSTANCES),
    'nothing is taken that cannot be written':
      readOnly === undefined ? [] : exactWhileAway(history, readOnly, true),
    'the fault was felt':
      unnoticed === true || mild === true || history.answers.some((each) => isHurt(each, fault))
        ? []
        : ['nothing was degraded'],
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([promise, broken]) =>
      broken.length === 0
        ? []
        : [[promise, [...broken.slice(0, SHOWN), `${broken.length} in all`]]],
    ),
  )
}

function isHurt(
  { degraded, answeredWall }: { degraded: string | null; answeredWall: number },
  { from, to }: Span,
): boolean {
  return degraded !== null && answeredWall >= from && answeredWall <= to + 200
}
