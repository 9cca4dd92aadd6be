/** Histories that memory and Redis once answered differently, each for a reason of its own. */
import type { Algorithm } from '../../src/index.js'
import { DAY, HOUR, type LimitSpec, MINUTE, SECOND, YEAR } from '../properties/limits.js'
import type { AnyLimit, Ask, Change, History, RuleSpec, Step } from './random-history.js'

function limit(algorithm: Algorithm, amount: bigint, window: bigint, burst = amount): LimitSpec {
  return { algorithm, amount, window, burst }
}

const DAILY: AnyLimit = { algorithm: 'calendar', amount: 1n, calendar: 'day', timezone: 'UTC' }

function rule(limits: readonly AnyLimit[], more: Partial<RuleSpec> = {}): RuleSpec {
  return { scope: 'user', shadow: false, unit: 'requests', limits, pro: null, ...more }
}

const ADA: Ask = { subject: { user: 'ada' }, costs: { requests: 1 }, holdId: 'h0' }
const CHECK: Step = { does: 'check', ask: ADA }
const RESERVE: Step = { does: 'reserve', ask: ADA }
const GRANT: Step = { does: 'grant', ask: ADA }
const RESET: Step = { does: 'reset', subject: ADA.subject, rule: null }
const STEP_BACK: Step = { does: 'step back', us: 1n }

function checkOf(requests: number, more: Partial<Ask> = {}): Step {
  return { does: 'check', ask: { ...ADA, costs: { requests }, ...more } }
}
function wait(us: bigint): Step {
  return { does: 'wait', us }
}
function refund(which: number): Step {
  return { does: 'refund', which, amount: null }
}
function settle(requests: number): Step {
  return { does: 'settle', which: 0, used: { requests } }
}
function change(what: Change): Step {
  return { does: 'change rules', rule: 0, what }
}

function history(rules: readonly RuleSpec[], ...steps: Step[]): History {
  return { rules, start: 3_456_000_000_000n, steps }
}

const BUCKET = limit('token_bucket', 1n, SECOND)
const HOURLY = limit('token_bucket', 1n, HOUR)
const COUNTER = limit('sliding_window_counter', 1n, SECOND)

export const FOUND: Readonly<Record<string, History>> = {
  'a take after the clock stepped back is given back': history(
    [rule([limit('leaky_bucket', 2n, YEAR)])],
    CHECK,
    STEP_BACK,
    refund(0),
    CHECK,
    refund(1),
  ),
  'a tier that is a million times slower': history(
    [rule([limit('token_bucket', 1_581_157n, YEAR)], { pro: [1n, 1n, 1n] })],
    checkOf(2, { tier: 'pro' }),
    checkOf(2),
    CHECK,
  ),
  'what writes one bucket and not its sibling, before a change of tier': history(
    [rule([BUCKET, limit('leaky_bucket', 1n, SECOND)], { pro: [1n, 2n, 1n] })],
    { does: 'reserve', ask: { ...ADA, tier: 'pro' } },
    settle(2),
    wait(501n),
    GRANT,
    CHECK,
  ),
  'a reset of what has long been empty': history(
    [rule([DAILY, BUCKET], { shadow: true })],
    CHECK,
    wait(3n * DAY),
    RESET,
  ),
  'debt of another day than the last check’s': history(
    [rule([DAILY, HOURLY])],
    RESERVE,
    wait(2n * DAY),
    settle(2),
    CHECK,
  ),
  'a grant that one limit of two takes': history(
    [rule([COUNTER, HOURLY])],
    CHECK,
    wait(2n * SECOND),
    GRANT,
    STEP_BACK,
    CHECK,
  ),
  'a reset that finds one limit of two in use': history(
    [rule([COUNTER, limit('gcra', 1n, SECOND)])],
    CHECK,
    wait(2n * SECOND),
    RESET,
    STEP_BACK,
    CHECK,
  ),
  'shadow limits that take one after the other': history(
    [
      rule([limit('sliding_window_log', 13n, SECOND), BUCKET], {
        shadow: true,
        pro: [1n, 1n, 1n],
      }),
    ],
    checkOf(13),
    STEP_BACK,
    CHECK,
    refund(1),
  ),
  'a sibling’s take between a bucket’s change of amount and its next write': history(
    [
      rule([limit('token_bucket', 8n, HOUR, 1n), limit('fixed_window', 1n, SECOND)], {
        shadow: true,
      }),
    ],
    RESERVE,
    settle(2),
    change({ change: 'amount', limit: 0, amount: 1n }),
    wait(450n * SECOND),
    RESERVE,
    { does: 'grant', ask: { ...ADA, costs: { requests: 2 } } },
  ),
  'a reset after a limit is gone': history(
    [rule([BUCKET, limit('sliding_window_counter', 1n, YEAR)])],
    CHECK,
    change({ change: 'remove limit', limit: 1 }),
    wait(SECOND),
    RESET,
  ),
  'a bucket that is new in an older row, refunded after a step back': history(
    [rule([limit('sliding_window_log', 2n, HOUR)], { pro: [1n, 1n, 1n] })],
    CHECK,
    STEP_BACK,
    refund(0),
    change({ change: 'add limit', spec: BUCKET, place: 0 }),
    CHECK,
    refund(1),
    CHECK,
  ),
  'a bucket that is new in an older row, converted after a step back': history(
    [rule([limit('concurrency', 2n, SECOND)], { pro: [1n, 1n, 1n] })],
    CHECK,
    STEP_BACK,
    change({ change: 'add limit', spec: limit('leaky_bucket', 3n, HOUR, 2n), place: 0 }),
    CHECK,
    wait(MINUTE),
    checkOf(1, { holdId: 'h2', dryRun: true, tier: 'pro' }),
  ),
}
