/** Plays a history in which takes are given back by their receipts, and keeps account of both. */
import type { Decision } from '../../src/index.js'
import type { Deed, History } from './histories.js'
import { Play } from './play.js'
import type { World } from './world.js'

export const FORWARD: readonly Deed[] = [
  'check',
  'wait',
  'await retry',
  'strangers',
  'refund',
  'refund',
]
export const TO_AND_FRO: readonly Deed[] = [...FORWARD, 'step back']

export interface Taken {
  readonly decision: Decision
  readonly at: bigint
  readonly cost: bigint
  given: bigint
}

export async function refund(world: World, { decision }: Taken, amount: bigint): Promise<bigint> {
  const given = await world.limiter.refund(decision, Number(amount))
  return BigInt(given!['requests'] ?? 0)
}

/** Plays a history with its refunds; answers what was taken, and what of it was given back. */
export async function playWithRefunds(history: History): Promise<{ world: World; taken: Taken[] }> {
  const play = new Play(history)
  const { world } = play
  const taken: Taken[] = []
  for (const step of history.steps) {
    if (step.does === 'refund' && taken.length > 0) {
      const take = taken[step.which % taken.length]!
      take.given += await refund(world, take, step.amount)
    }
    const decision = play.do(step)
    if (decision?.allowed === true && step.does === 'check')
      taken.push({ decision, at: world.now, cost: step.cost, given: 0n })
  }
  return { world, taken }
}
