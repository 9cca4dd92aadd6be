/** Runs drawn from a seed: every kind of limit, small enough that leases and limits meet all the time. */
import type { LimitsInput } from '../../limiter/src/index.js'
import { Random } from './random.js'
import { type Plan, QUIET } from './run.js'
import type { Weather } from './server.js'

const LIMITS: readonly LimitsInput[] = [
  '200/s burst 40',
  '1000/s burst 64',
  '700/s burst 100',
  '333 per 7s burst 200',
  '300/s fixed',
  '100 per 3s fixed',
  '400/s sliding',
  '150 per 10s exact',
  '400 per 20s exact',
]

const SEVERAL: readonly LimitsInput[] = [
  ['200/s burst 40', '150 per 3s fixed'],
  ['1000/s burst 64', '600/s sliding'],
  ['500/s burst 50', '400 per 10s exact'],
]

/** Each of four shards can be leased from. */
const IN_SHARDS: readonly LimitsInput[] = [
  '1000/s burst 200',
  '400/s burst 300',
  '600/s fixed',
  '500 per 10s exact',
]

export function planOf(seed: number): Plan {
  const random = new Random(seed * 7919 + 1)
  const shards = random.chance(0.25) ? random.pick([2, 4]) : 1
  const ofOne = random.chance(0.7) ? LIMITS : SEVERAL
  const limits = random.pick<LimitsInput>(shards > 1 ? IN_SHARDS : ofOne)
  const isStormy = random.chance(0.7)
  const weather: Weather = {
    delay: random.pick([
      [100, 1500],
      [50, 300],
      [1000, 20_000],
    ] as const),
    lost: isStormy ? 0.02 : 0,
    unanswered: isStormy ? 0.03 : 0,
    refused: isStormy ? 0.01 : 0,
    doubled: 0,
    slow: isStormy ? 0.02 : 0,
  }
  const rules: Plan['rules'] = random.chance(0.3)
    ? {
        all: { scope: 'global', limits, shards },
        each: { scope: 'user', limits: '80/s burst 32', additive: true },
      }
    : { all: { scope: 'global', limits, shards } }
  const hasLog = JSON.stringify(limits).includes('exact')
  const isGusty = hasLog || random.chance(0.7)
  const hasWindows = JSON.stringify(limits).match(/fixed|sliding/) !== null
  return {
    ...QUIET,
    seed,
    rules,
    instances: random.whole(2, 6),
    perSecond: hasLog ? 700 : random.pick([300, 800, 1500, 2500]),
    onMs: hasLog ? 300 : 250,
    offMs: hasLog ? 1500 : isGusty ? random.pick([200, 600, 1200]) : 0,
    dealtEveryMs: random.pick([100, 300, 1000]),
    costs: random.pick([[1], [1], [1, 1, 1, 5], [1, 2, 3]]),
    subjects: random.pick([[{ user: 'a' }], [{ user: 'a' }, { user: 'b' }]]),
    ms: hasLog ? 15_000 : isGusty ? 3500 : 1500,
    weather,
    pauses: isStormy ? 2 : 0,
    suspensions: isStormy ? 0.5 : 0,
    deaths: isStormy ? 1 : 0,
    stands: isStormy ? 0.7 : 0,
    // The windows of a clock that steps are not those of true time.
    stepsBack: isStormy && !hasWindows ? 0.5 : 0,
    drift: 0.004,
  }
}
