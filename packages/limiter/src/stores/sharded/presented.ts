/** A shard's answer as the whole rule's: what is left is the sum, and the take says where it was taken. */
import {
  GO_AT,
  NOT_NOW,
  REMAINING,
  RESET_AT,
  STATUS,
  VERDICT_WIDTH,
} from '../../algorithms/verdict.js'
import { DECIDED_AT, DEGRADED, remainingIn, type Verdicts, wasTaken } from '../store.js'
import { noteSurplus } from '../surplus.js'
import type { Place } from './place.js'
import { markShard } from './shard-mark.js'

/** In place: the store below may answer with the same numbers again, and they are one receipt. */
export function present(places: readonly Place[], verdicts: Verdicts): void {
  const out = verdicts as number[]
  for (const place of places) {
    if (out[DEGRADED] === 0) sumUp(place, out)
    for (const [j] of place.rule.whole.limits.entries()) {
      const at = place.at + j * VERDICT_WIDTH
      if (wasTaken(out, at)) markShard(out, at, place.shard, place.rule.count)
    }
  }
}

/** What is left is this shard's, and what the others should have. What shards owe is used besides. */
function sumUp({ rule, levels, shard, tried, at: from, cost }: Place, out: number[]): void {
  const now = out[DECIDED_AT]!
  // Of those that were asked just now: what others have taken since is not known of the rest.
  // One that has said yes to somebody else meanwhile denies no longer, and names no time.
  const named = tried.map((each) => levels.deniedUntil(each)).filter((until) => until > now)
  const earliest = Math.min(...named)
  for (const [j, { numbers }] of rule.whole.limits.entries()) {
    const at = from + j * VERDICT_WIDTH
    let left = remainingIn(out, at)
    let owed = left - out[at + REMAINING]!
    for (let other = 0; other < rule.count; other++) {
      if (other === shard) continue
      left += Math.max(0, Math.floor(levels.level(other, j, now)))
      owed += levels.owed(other, j, now)
      out[at + RESET_AT] = Math.max(out[at + RESET_AT]!, levels.fullAt(other, j))
    }
    const most = out[at + STATUS] === NOT_NOW ? Math.min(numbers.burst, cost - 1) : numbers.burst
    out[at + REMAINING] = left > 0 ? Math.min(left, most) : 0 - owed
    noteSurplus(out, at, out[at + REMAINING]! - left + owed)
    if (out[at + STATUS] === NOT_NOW) out[at + GO_AT] = Math.min(out[at + GO_AT]!, earliest)
  }
}
