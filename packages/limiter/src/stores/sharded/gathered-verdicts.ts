/** The verdicts of a rule whose cost is gathered from several shards: what they say, and as what they are answered. */
import {
  GO_AT,
  NOT_NOW,
  REMAINING,
  RESET_AT,
  SHUT,
  STATUS,
  UNCOUNTED,
  VERDICT_WIDTH,
  YES,
} from '../../algorithms/verdict.js'
import { ALLOWED, DECIDED_AT, type Verdicts, wasTaken } from '../store.js'
import { copySurplus, noteSurplus, surplusAt } from '../surplus.js'
import { gatheredAt } from './look.js'
import { isLarge, type Place } from './place.js'
import { markGathered } from './shard-mark.js'

/** What to wait where others were always faster, in microseconds. */
const PAUSE_US = 1000

function verdictsAt({ rule, at }: Place): number[] {
  return rule.whole.limits.map((_, j) => at + j * VERDICT_WIDTH)
}

export function isYes(place: Place, verdicts: Verdicts): boolean {
  return verdictsAt(place).every((at) => verdicts[at + STATUS] === YES)
}

export function isTaken(place: Place, verdicts: Verdicts): boolean {
  return verdictsAt(place).every((at) => wasTaken(verdicts, at))
}

/** Not where the store could not be asked, and the rule lets through or refuses what it cannot count. */
export function isCounted(place: Place, verdicts: Verdicts): boolean {
  return verdictsAt(place).every(
    (at) => verdicts[at + STATUS] !== UNCOUNTED && verdicts[at + STATUS] !== SHUT,
  )
}

export function copyVerdicts(place: Place, from: Verdicts, out: number[]): void {
  copySurplus(from, place.at, out, place.at, place.rule.whole.limits.length)
  for (const at of verdictsAt(place))
    for (let n = 0; n < VERDICT_WIDTH; n++) out[at + n] = from[at + n]!
}

export function presentGathered(place: Place, out: number[], id: number): void {
  const { rule, levels } = place
  for (const [j, at] of verdictsAt(place).entries()) {
    const { burst } = rule.whole.limits[j]!.numbers
    let [left, owed] = [0, 0]
    for (let shard = 0; shard < rule.count; shard++) {
      left += Math.max(0, levels.surely(shard, j, out[DECIDED_AT]!))
      owed += levels.owed(shard, j, out[DECIDED_AT]!)
      out[at + RESET_AT] = Math.max(out[at + RESET_AT]!, levels.fullAt(shard, j))
    }
    out[at + REMAINING] = left > 0 ? Math.min(burst, left) : 0 - owed
    noteSurplus(out, at, out[at + REMAINING]! - left + owed)
    markGathered(out, at, id)
  }
}

/** It was there, and others were faster. */
export function denyAll(seen: number[], places: readonly Place[]): number[] {
  const now = seen[DECIDED_AT]!
  seen[ALLOWED] = 0
  for (const place of places.filter((each) => isLarge(each) && !each.rule.whole.shadow)) {
    for (const [j, at] of verdictsAt(place).entries()) {
      seen[at + STATUS] = NOT_NOW
      const left = seen[at + REMAINING]!
      seen[at + REMAINING] = Math.min(left, place.cost - 1)
      noteSurplus(seen, at, surplusAt(seen, at) + seen[at + REMAINING]! - left)
      seen[at + GO_AT] = Math.max(now + PAUSE_US, gatheredAt(place, j, now))
    }
  }
  return seen
}
