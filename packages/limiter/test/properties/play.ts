/** Plays a history on a limiter alone, for promises that need no oracle. */
import type { Decision } from '../../src/index.js'
import type { Admission } from './bounds.js'
import { most } from './fraction.js'
import { type Deed, type History, type Step, steppedBack } from './histories.js'
import { limitOf } from './limits.js'
import { LAST_EXACT, World } from './world.js'

/** What `play` knows how to do: nothing is ever given back. */
export const ASKING = [
  'check',
  'wait',
  'await retry',
  'step back',
  'strangers',
] as const satisfies Deed[]

export class Play {
  readonly world: World
  readonly admissions: Admission[] = []
  #latest: bigint
  #retryAt: bigint | null = null

  constructor({ spec, start }: Pick<History, 'spec' | 'start'>) {
    this.world = new World(limitOf(spec), start)
    this.#latest = start
  }

  /** The decision, where the step is a check. */
  do(step: Step): Decision | undefined {
    const { world } = this
    let decision: Decision | undefined
    if (step.does === 'check') decision = this.#check(step.cost)
    else if (step.does === 'wait') world.wait(step.us)
    else if (step.does === 'await retry') this.#awaitRetry(step.off)
    else if (step.does === 'step back') world.now = steppedBack(world.now, this.#latest, step.us)
    else if (step.does === 'strangers') world.welcomeStrangers(step.count)
    this.#latest = most(this.#latest, world.now)
    return decision
  }

  #check(cost: bigint): Decision {
    const { world } = this
    const decision = world.check(cost)
    if (decision.allowed) this.admissions.push({ at: world.now, cost })
    else if (decision.retryAfterMs === null) this.#retryAt = null
    else this.#retryAt = world.now + BigInt(decision.retryAfterMs) * 1000n
    return decision
  }

  #awaitRetry(off: bigint): void {
    if (this.#retryAt === null || this.#retryAt > LAST_EXACT) return
    this.world.now = most(this.world.now, this.#retryAt + off)
  }
}

/** Plays all of it; `then` sees every decision at its time. */
export function play(
  history: History,
  then: (world: World, decision: Decision, cost: bigint) => void = () => {},
): Play {
  const played = new Play(history)
  for (const step of history.steps) {
    const decision = played.do(step)
    if (decision !== undefined && step.does === 'check') then(played.world, decision, step.cost)
  }
  return played
}
