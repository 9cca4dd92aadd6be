/** Handler of `GET /v1/hot`: the busiest rows of this instance. */
import { printValue } from '@sluice/limiter/transport'
import { adviceOf } from '../hot/advice.js'
import { type HotRow, type HotRows, SAMPLED } from '../hot/hot-rows.js'
import { type Leasing, scalingOf } from '../hot/scaling.js'
import type { Handlers } from '../http/route.js'
import type { Tenants } from '../tenants.js'
import { namespaceIn } from './pages.js'

export interface HotParts {
  readonly hot: HotRows
  readonly tenants: Pick<Tenants, 'require' | 'home'>
  readonly leasing: Leasing
}

/** Rows of an answer where the query has no limit. */
const DEFAULT_ROWS = 20
/** The most characters of a value that are shown. */
const LONGEST_SHOWN = 128

export function hotHandlers({ hot, tenants, leasing }: HotParts): Handlers<'hot'> {
  return {
    hot(call) {
      const query = call.query()
      const namespace = namespaceIn(call, query, tenants.home)
      const { rules } = tenants.require(namespace).limiter
      const items = hot
        .of(namespace)
        .flatMap((row) => {
          const rule = rules.named(row.variant)
          // A rule that is gone has no rows.
          return rule === undefined ? [] : [{ row, scaling: scalingOf(rule, leasing) }]
        })
        .slice(0, query.limit ?? DEFAULT_ROWS)
        .map(({ row, scaling }) => ({
          namespace,
          rule: row.rule,
          scope: row.scope,
          value: shownValue(row),
          per_second: rounded(row.perSecond, 1),
          share: rounded(row.share, 4),
          denied_share: rounded(row.deniedShare, 4),
          leased: scaling.isLeased,
          shards: scaling.shards,
          advice: adviceOf(row, scaling),
        }))
      const window_seconds = rounded(hot.windowSeconds, 1)
      return { status: 200, body: { items, sampled: SAMPLED, window_seconds } }
    },
  }
}

/** Null for `global`, which has no value. Of secrets only the ends are shown. */
function shownValue({ scope, value }: HotRow): string | null {
  if (value === '') return null
  const shown = printValue(scope, value)
  return shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN - 1)}…` : shown
}

function rounded(number: number, digits: number): number {
  return Math.round(number * 10 ** digits) / 10 ** digits
}
