/** Random histories of several subjects under several rules that change: for asking two limiters the same. */
import * as fc from 'fast-check'
import type { CalendarUnit } from '../../src/index.js'
import { STARTS, stepsBack } from '../properties/histories.js'
import {
  buckets,
  DAY,
  HOUR,
  type LimitSpec,
  MINUTE,
  plainLimits,
  SECOND,
  smallLimits,
  YEAR,
} from '../properties/limits.js'

export interface CalendarSpec {
  readonly algorithm: 'calendar'
  readonly amount: bigint
  readonly calendar: CalendarUnit
  readonly timezone: string
}

export type AnyLimit = LimitSpec | CalendarSpec

export interface RuleSpec {
  readonly scope: 'user' | 'org' | 'global'
  readonly shadow: boolean
  readonly unit: 'requests' | 'tokens'
  readonly limits: readonly AnyLimit[]
  /** What `pro` has instead of each limit's amount; null: the rule has no such tier. */
  readonly pro: readonly bigint[] | null
}

export interface Ask {
  readonly subject: { readonly user?: string; readonly org?: string }
  readonly costs: { readonly requests?: number; readonly tokens?: number }
  readonly holdId: string
  readonly dryRun?: boolean
  readonly tier?: string
  readonly idempotencyKey?: string
}

export type Change =
  | { readonly change: 'amount'; readonly limit: number; readonly amount: bigint }
  | { readonly change: 'burst'; readonly limit: number; readonly burst: bigint }
  | { readonly change: 'add limit'; readonly spec: AnyLimit; readonly place: number }
  | { readonly change: 'remove limit'; readonly limit: number }
  | { readonly change: 'tier'; readonly pro: readonly bigint[] | null }
  | { readonly change: 'shadow'; readonly shadow: boolean }
  | { readonly change: 'override'; readonly amount: bigint; readonly forUs: bigint }
  | { readonly change: 'add rule'; readonly spec: RuleSpec }
  | { readonly change: 'remove rule' }

/** `which` is a place among those there are. */
export type Step =
  | { readonly does: 'check'; readonly ask: Ask }
  /** In one turn of the event loop. */
  | { readonly does: 'check many'; readonly asks: readonly Ask[] }
  | { readonly does: 'ask again'; readonly which: number }
  | { readonly does: 'wait'; readonly us: bigint }
  | { readonly does: 'await retry'; readonly off: bigint }
  | { readonly does: 'step back'; readonly us: bigint }
  | { readonly does: 'refund'; readonly which: number; readonly amount: number | null }
  | { readonly does: 'grant'; readonly ask: Ask }
  | { readonly does: 'reset'; readonly subject: Ask['subject']; readonly rule: number | null }
  | { readonly does: 'reserve'; readonly ask: Ask }
  | { readonly does: 'settle'; readonly which: number; readonly used: Ask['costs'] }
  | { readonly does: 'renew' | 'release'; readonly which: number }
  | { readonly does: 'renew by id' | 'release by id'; readonly ask: Ask }
  | { readonly does: 'change rules'; readonly rule: number; readonly what: Change }

export interface History {
  readonly rules: readonly RuleSpec[]
  readonly start: bigint
  readonly steps: readonly Step[]
}

const CALENDARS: fc.Arbitrary<CalendarSpec> = fc.record({
  algorithm: fc.constant('calendar'),
  amount: fc.bigInt(1n, 12n),
  calendar: fc.constantFrom('day', 'week', 'month'),
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/Sao_Paulo'),
})

/** Mostly limits that a few requests fill; some at the ends of the stated ranges. */
const LIMITS: fc.Arbitrary<AnyLimit> = fc.oneof(
  { weight: 10, arbitrary: smallLimits() },
  { weight: 2, arbitrary: smallLimits(['concurrency']) },
  { weight: 1, arbitrary: CALENDARS },
  { weight: 1, arbitrary: buckets('token_bucket') },
  { weight: 1, arbitrary: buckets('gcra') },
  { weight: 1, arbitrary: buckets('leaky_bucket') },
  { weight: 1, arbitrary: plainLimits('sliding_window_counter') },
  { weight: 1, arbitrary: plainLimits('sliding_window_log') },
  { weight: 1, arbitrary: plainLimits('fixed_window') },
)

const AMOUNTS = fc.bigInt(1n, 20n)
const PRO = fc.option(fc.array(AMOUNTS, { minLength: 3, maxLength: 3 }))

const RULES: fc.Arbitrary<RuleSpec> = fc.record({
  scope: fc.constantFrom('user', 'user', 'org', 'global'),
  shadow: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  unit: fc.constantFrom('requests', 'requests', 'tokens'),
  limits: fc.array(LIMITS, { minLength: 1, maxLength: 3 }),
  pro: PRO,
})

const SUBJECTS: fc.Arbitrary<Ask['subject']> = fc
  .record(
    { user: fc.constantFrom('ada', 'ada', 'bob|{:%'), org: fc.constantFrom('acme', 'Ümläut') },
    { requiredKeys: [] },
  )
  .map((subject) => ({ ...subject }))

const COST = fc.oneof(
  { weight: 5, arbitrary: fc.constant(1) },
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 13 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000 }) },
)
const COSTS: fc.Arbitrary<Ask['costs']> = fc
  .record({ requests: COST, tokens: COST }, { requiredKeys: ['requests'] })
  .map((costs) => ({ ...costs }))

const ASKS: fc.Arbitrary<Ask> = fc
  .record(
    {
      subject: SUBJECTS,
      costs: COSTS,
      holdId: fc.constantFrom('h0', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7'),
      dryRun: fc.constantFrom(true, false),
      tier: fc.constantFrom('pro', 'none'),
      idempotencyKey: fc.constantFrom('k0', 'k1', 'k2'),
    },
    { requiredKeys: ['subject', 'costs', 'holdId'] },
  )
  .chain((ask) =>
    // Most requests have none of the rarer fields.
    fc.nat({ max: 9 }).map((keep) => {
      const { subject, costs, holdId, ...rare } = ask
      if (keep < 5) return { subject, costs, holdId }
      return { subject, costs, holdId, ...rare }
    }),
  )

const CHANGES: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      change: fc.constant('amount'),
      limit: fc.nat({ max: 3 }),
      amount: AMOUNTS,
    }),
  },
  fc.record({ change: fc.constant('burst'), limit: fc.nat({ max: 3 }), burst: AMOUNTS }),
  fc.record({ change: fc.constant('add limit'), spec: LIMITS, place: fc.nat({ max: 3 }) }),
  fc.record({ change: fc.constant('remove limit'), limit: fc.nat({ max: 3 }) }),
  fc.record({ change: fc.constant('tier'), pro: PRO }),
  fc.record({ change: fc.constant('shadow'), shadow: fc.boolean() }),
  fc.record({
    change: fc.constant('override'),
    amount: AMOUNTS,
    forUs: fc.bigInt(0n, HOUR),
  }),
  fc.record({ change: fc.constant('add rule'), spec: RULES }),
  fc.record({ change: fc.constant('remove rule') }),
)

const WAITS = fc.oneof(
  fc.constantFrom(0n, 1n, 999n, 1000n, SECOND, MINUTE, 5n * MINUTE, HOUR),
  fc.bigInt(0n, 10n * SECOND),
  fc.bigInt(0n, 10n * MINUTE),
  fc.bigInt(0n, DAY),
)

const which = fc.nat({ max: 30 })
const does = <D extends Step['does']>(...deeds: D[]) => fc.constantFrom(...deeds)
const orNull = (most: number): fc.Arbitrary<number | null> => fc.option(fc.nat({ max: most }))
const STEPS: readonly { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 24, arbitrary: fc.record({ does: does('check'), ask: ASKS }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: does('check many'),
      asks: fc.array(ASKS, { minLength: 2, maxLength: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: does('ask again'), which }) },
  { weight: 8, arbitrary: fc.record({ does: does('wait'), us: WAITS }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: does('wait'), us: fc.bigInt(0n, YEAR) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: does('await retry'),
      off: fc.constantFrom(-1000n, -1n, 0n, 0n, 1n),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: does('step back'), us: stepsBack() }) },
  {
    weight: 4,
    arbitrary: fc.record({ does: does('refund'), which, amount: orNull(12) }),
  },
  { weight: 2, arbitrary: fc.record({ does: does('grant'), ask: ASKS }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: does('reset'),
      subject: SUBJECTS,
      rule: orNull(3),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: does('reserve'), ask: ASKS }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: does('settle'),
      which,
      used: fc.record({ requests: fc.nat({ max: 30 }), tokens: fc.nat({ max: 30 }) }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: does('renew', 'release'), which }) },
  { weight: 1, arbitrary: fc.record({ does: does('renew by id', 'release by id'), ask: ASKS }) },
]

/** `changes`: how often the rules change, out of about 60. */
export function histories(changes: number): fc.Arbitrary<History> {
  const change = fc.record({
    does: does('change rules'),
    rule: fc.nat({ max: 3 }),
    what: CHANGES,
  })
  return fc.record({
    rules: fc.array(RULES, { minLength: 1, maxLength: 3 }),
    // Calendar windows start after the epoch.
    start: STARTS.map((start) => start + 40n * DAY),
    steps: fc.array(fc.oneof(...STEPS, { weight: changes, arbitrary: change }), {
      minLength: 1,
      maxLength: 40,
      size: 'max',
    }),
  })
}
