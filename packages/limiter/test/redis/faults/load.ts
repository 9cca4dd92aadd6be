/** What the instances of a drill ask, under which rules, and what those rules promise. */
import type { FailureMode } from '../../../src/rules/rule-fields.js'

/** What at most may be admitted, in microseconds: in any span, in each aligned window, or in every window. */
export type Bound =
  | {
      readonly kind: 'bucket'
      readonly burst: number
      readonly amount: number
      readonly window: number
    }
  | { readonly kind: 'aligned' | 'every'; readonly limit: number; readonly window: number }

interface Load {
  readonly mode: FailureMode
  readonly scope: 'user' | 'org'
  /** What is asked for; rules with the same one are asked together. */
  readonly resource: string
  readonly limits: readonly string[]
  readonly bounds: readonly Bound[]
}

const SECOND = 1_000_000
const bucket = (amount: number, burst = amount): Bound => ({
  kind: 'bucket',
  burst,
  amount,
  window: SECOND,
})

/** By the rule's name. The hot key asks for two to five times as much. */
export const LOAD: Readonly<Record<string, Load>> = {
  bucket: {
    mode: 'closed',
    scope: 'user',
    resource: 'bucket',
    limits: ['15/s burst 20'],
    bounds: [bucket(15, 20)],
  },
  window: {
    mode: 'closed',
    scope: 'user',
    resource: 'window',
    limits: ['30 per 2s fixed'],
    bounds: [{ kind: 'aligned', limit: 30, window: 2 * SECOND }],
  },
  log: {
    mode: 'closed',
    scope: 'user',
    resource: 'log',
    limits: ['15/s exact'],
    bounds: [{ kind: 'every', limit: 15, window: SECOND }],
  },
  pair: {
    mode: 'closed',
    scope: 'user',
    resource: 'pair',
    limits: ['20/s', '30 per 2s fixed'],
    bounds: [bucket(20), { kind: 'aligned', limit: 30, window: 2 * SECOND }],
  },
  local: {
    mode: 'local',
    scope: 'user',
    resource: 'local',
    limits: ['12/s'],
    bounds: [bucket(12)],
  },
  open: { mode: 'open', scope: 'user', resource: 'open', limits: ['12/s'], bounds: [bucket(12)] },
  /** Two rows, in a cluster in two slots. The user has room: what the org denies must not cost him. */
  roomy: {
    mode: 'closed',
    scope: 'user',
    resource: 'both',
    limits: ['20/s burst 30'],
    bounds: [bucket(20, 30)],
  },
  tight: {
    mode: 'closed',
    scope: 'org',
    resource: 'both',
    limits: ['10/s'],
    bounds: [bucket(10)],
  },
}

export const RULES = Object.fromEntries(
  Object.entries(LOAD).map(([name, { mode, scope, resource, limits }]) => [
    name,
    { scope, resource, limits, failure_mode: mode },
  ]),
)

export const ASKS = [...new Set(Object.values(LOAD).map(({ resource }) => resource))].map(
  (resource) => ({
    resource,
    scopes: Object.values(LOAD).flatMap((load) => (load.resource === resource ? load.scope : [])),
  }),
)

/** The names of the rules that a resource is decided by. */
export function rulesOf(resource: string): string[] {
  return Object.keys(LOAD).filter((name) => LOAD[name]!.resource === resource)
}
