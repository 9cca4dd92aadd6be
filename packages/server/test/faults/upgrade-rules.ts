/** One rule for each algorithm and way of counting. Their windows are long: during a test nothing refills. */

interface CountedRule {
  readonly limits: readonly (string | object)[]
  readonly more?: object
  /** What one subject may have. */
  readonly limit: number
  /** Whether all that was given back can be taken again at once. A bucket may keep a part of it, and a denial asks three shards of four. */
  readonly isWhole: boolean
}

const WINDOW_DAYS = 30
const LIMIT = 40

function counted(limits: CountedRule['limits'], more: Partial<CountedRule> = {}): CountedRule {
  return { limits, limit: LIMIT, isWhole: false, ...more }
}

export const COUNTED: Readonly<Record<string, CountedRule>> = {
  token: counted([`${LIMIT} per ${WINDOW_DAYS}d`]),
  gcra: counted([{ algorithm: 'gcra', amount: LIMIT, window: `${WINDOW_DAYS}d`, burst: LIMIT }]),
  // One request passes at once, the others wait in the queue.
  leaky: counted([`${LIMIT} per ${WINDOW_DAYS}d queue ${LIMIT - 1}`]),
  fixed: counted([`${LIMIT} per ${WINDOW_DAYS}d fixed`], { isWhole: true }),
  sliding: counted([`${LIMIT} per ${WINDOW_DAYS}d sliding`], { isWhole: true }),
  exact: counted([`${LIMIT} per ${WINDOW_DAYS}d exact`], { isWhole: true }),
  calendar: counted([`${LIMIT} per calendar month`], { isWhole: true }),
  several: counted([`${LIMIT} per ${WINDOW_DAYS}d`, `${LIMIT} per ${WINDOW_DAYS}d fixed`]),
  shards: counted([`${LIMIT} per ${WINDOW_DAYS}d fixed`], { more: { shards: 4 } }),
  leases: counted([`${LIMIT} per ${WINDOW_DAYS}d`], { more: { lease: 'on' } }),
}

export const HOLDS = 5

/** The rules document. Resource and rule have the same name. */
export function upgradeDocument(): object {
  const rules = Object.entries(COUNTED).map(([name, { limits, more }]) => [
    name,
    { scope: 'user', resource: `/${name}`, limits, ...more },
  ])
  return {
    rules: {
      ...Object.fromEntries(rules),
      holds: { scope: 'user', resource: '/holds', limits: [`${HOLDS} concurrent for 60s`] },
      changing: { scope: 'user', resource: '/changing', limits: ['100/h'] },
    },
    costs: { '/costly': 5 },
    default_rule: { scope: 'user', limits: ['1000 per 30d fixed'] },
  }
}

/** How many windows a test that ran between these times could see: nearly always one. Times in milliseconds. */
export function windowsBetween(startMs: number, endMs: number): number {
  const windowMs = WINDOW_DAYS * 86_400_000
  const windows = Math.floor(endMs / windowMs) - Math.floor(startMs / windowMs)
  const months = new Date(endMs).getUTCMonth() === new Date(startMs).getUTCMonth() ? 0 : 1
  return 1 + Math.max(windows, months)
}
