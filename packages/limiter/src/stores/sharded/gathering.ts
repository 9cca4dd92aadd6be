/**
 * A cost above what a shard holds: taken from several shards, fullest first, or from none. A look at all
 * of them says how much is where; the last part is taken together with the transaction's other rules, so
 * that they and the idempotency key decide with it; what was taken before is given back if they say no.
 */
import { VERDICT_WIDTH } from '../../algorithms/verdict.js'
import type { LeasingStore } from '../leased/lease-port.js'
import { ALLOWED, DECIDED_AT, FIRST_VERDICT, type Transaction, type Verdicts } from '../store.js'
import { copySurplus } from '../surplus.js'
import {
  copyVerdicts,
  denyAll,
  isCounted,
  isTaken,
  isYes,
  presentGathered,
} from './gathered-verdicts.js'
import { look } from './look.js'
import {
  type Answered,
  answerAgain,
  ask,
  deniersOf,
  isLarge,
  type Place,
  type Places,
} from './place.js'
import { present } from './presented.js'
import type { Piece, ShardReturns } from './shard-returns.js'
import type { Patience } from './time-limit.js'

/** How often it is tried with what is left elsewhere, where others were faster. */
const MOST_ROUNDS = 3

/** What one shard gave to a place: the transaction that took it, and where its verdicts stand. */
interface Share extends Answered {
  readonly place: Place
  readonly at: number
}

export class Gathering {
  readonly #inner: LeasingStore
  readonly #places: Places
  readonly #returns: ShardReturns

  constructor(inner: LeasingStore, places: Places, returns: ShardReturns) {
    this.#inner = inner
    this.#places = places
    this.#returns = returns
  }

  async take(
    transaction: Transaction,
    places: readonly Place[],
    patience: Patience,
  ): Promise<Verdicts> {
    let seen: number[] | null = null
    // What is kept under the key is answered again, whatever is there now.
    if (transaction.idempotency !== null) {
      const verdicts = await this.#takeOfOne(transaction, places)
      if (transaction.replayOf !== null || verdicts[ALLOWED] === 1) return verdicts
      const looking = look(this.#inner, this.#places, transaction, places)
      seen = await patience.wait(looking, () => {})
      if (seen === null) return denyAll(copyOf(verdicts), places)
    }
    seen ??= await look(this.#inner, this.#places, transaction, places)
    if (!places.every((place) => isCounted(place, seen)))
      return (await patience.wait(this.#takeOfOne(transaction, places), () => {})) ?? seen
    if (seen[ALLOWED] !== 1) return seen
    const gathering = this.#gather(transaction, places, seen)
    const late = (answer: Answered | null) => {
      if (transaction.idempotency === null && answer !== null)
        this.#returns.undo(transaction, answer.verdicts)
    }
    const answer = await patience.wait(gathering, late)
    if (answer === null) return denyAll(seen, places)
    answerAgain(transaction, answer)
    return answer.verdicts
  }

  /** All of it of one shard each, which hardly any holds: a no, but for shadow rules and while the store is away. */
  async #takeOfOne(transaction: Transaction, places: readonly Place[]): Promise<Verdicts> {
    const answer = await ask(this.#inner, this.#places, transaction, places)
    if (!answerAgain(transaction, answer)) present(places, answer.verdicts)
    return answer.verdicts
  }

  /** Null: it is not there after all. */
  async #gather(
    transaction: Transaction,
    places: readonly Place[],
    seen: Verdicts,
  ): Promise<Answered | null> {
    let taken: Share[] = []
    // In shadow what is not there is only reported.
    let large = places.filter((place) => isLarge(place) && isYes(place, seen))
    try {
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const plans = new Map(large.map((place) => [place, this.#plan(place, taken, seen)]))
        large = large.filter((place) => plans.get(place)!.length > 0 || !place.rule.whole.shadow)
        if (large.some((place) => plans.get(place)!.length === 0)) return null
        const shares = large.flatMap((place) => plans.get(place)!.slice(1))
        const more = await Promise.all(shares.map((place) => this.#takeShare(place, transaction)))
        taken.push(...more.filter((share) => share !== null))
        if (more.includes(null)) continue
        const last = places.map((place) => plans.get(place)?.[0] ?? place)
        const answer = await ask(this.#inner, this.#places, transaction, last)
        if (answer.replayOf !== null) return answer
        if (answer.verdicts[ALLOWED] === 1) {
          const heads = last.map((place) => ({ ...answer, place, at: place.at }))
          const served = large.filter((place) => isTaken(place, answer.verdicts))
          const isServed = (share: Share) => served.some((place) => isOf(share, place))
          const shares = [...taken, ...heads].filter(isServed)
          taken = taken.filter((share) => !isServed(share))
          this.#present(places, served, shares, answer.verdicts, seen)
          return answer
        }
        const isShort = deniersOf(transaction, answer.verdicts).every((index) =>
          large.some((place) => place.index === index),
        )
        if (isShort) continue
        present(
          places.filter((place) => !isLarge(place)),
          answer.verdicts,
        )
        return answer
      }
      return null
    } finally {
      for (const { asked, verdicts } of taken) this.#returns.undo(asked, verdicts)
    }
  }

  /** What to take of which shard for what is still missing; empty if it should not be there. */
  #plan(place: Place, taken: readonly Share[], seen: Verdicts): Place[] {
    const { rule, levels } = place
    const given = taken.filter((share) => isOf(share, place))
    let missing = given.reduce((sum, share) => sum - share.place.cost, place.cost)
    // Of equals not always the same first: others gather too.
    const first = this.#places.draw(rule.count)
    const rooms = Array.from({ length: rule.count }, (_, i) => {
      const shard = (first + i) % rule.count
      return { shard, room: Math.floor(levels.room(shard, 1, seen[DECIDED_AT]!)) }
    }).toSorted((a, b) => b.room - a.room)
    const plan: Place[] = []
    for (const { shard, room } of rooms) {
      if (missing === 0 || room < 1) break
      plan.push({ ...place, shard, cost: Math.min(room, missing) })
      missing -= Math.min(room, missing)
    }
    return missing === 0 ? plan : []
  }

  /** Null where the shard has not so much. */
  async #takeShare(place: Place, { now }: Transaction): Promise<Share | null> {
    const { rule, value, cost } = place
    const alone = { dryRun: false, holdId: '', idempotency: null, replayOf: null, now }
    const part = { rules: [rule.whole], values: [value], costs: null, cost, ...alone }
    const own = { ...place, index: 0, at: FIRST_VERDICT }
    const answer = await ask(this.#inner, this.#places, part, [own])
    const share = { ...answer, place, at: FIRST_VERDICT }
    if (isTaken(own, answer.verdicts)) return share
    this.#returns.undo(answer.asked, answer.verdicts)
    return null
  }

  /** In place, like `present`. */
  #present(
    places: readonly Place[],
    served: readonly Place[],
    shares: readonly Share[],
    verdicts: Verdicts,
    seen: Verdicts,
  ): void {
    const out = verdicts as number[]
    const pieces = new Map(
      served.map((place) => [
        place,
        shares.filter((share) => isOf(share, place)).map((share) => pieceOf(share)),
      ]),
    )
    present(
      places.filter((place) => !isLarge(place)),
      verdicts,
    )
    for (const place of places.filter(isLarge)) {
      const gathered = pieces.get(place)
      if (gathered === undefined) copyVerdicts(place, seen, out)
      else presentGathered(place, out, this.#returns.keep(gathered))
    }
  }
}

function copyOf(verdicts: Verdicts): number[] {
  const copy = [...verdicts]
  const limits = (copy.length - FIRST_VERDICT) / VERDICT_WIDTH
  copySurplus(verdicts, FIRST_VERDICT, copy, FIRST_VERDICT, limits)
  return copy
}

function isOf(share: Share, { index }: Place): boolean {
  return share.place.index === index
}

/** With the numbers as they are now: they may be one answer with others', which is corrected in place. */
function pieceOf({ place: { rule, shard, cost }, verdicts, at }: Share): Piece {
  const left = rule.whole.limits.map(() => cost)
  return { shard, count: rule.count, verdicts: [...verdicts], at, left }
}
