// The breaks of `npm run test:mutations`: what each takes out, and the test that must fail.
// `isBuilt`: the test runs the built packages. `also`: a second change of the same file.
import { amounts } from './amounts.mjs'
import { arithmetic } from './arithmetic.mjs'
import { away } from './away.mjs'
import { clocks } from './clocks.mjs'
import { counterFiles } from './counter-files.mjs'
import { decisions } from './decisions.mjs'
import { exportedRows } from './exported-rows.mjs'
import { fallback } from './fallback.mjs'
import { fastPath } from './fast-path.mjs'
import { feed } from './feed.mjs'
import { grants } from './grants.mjs'
import { holders } from './holders.mjs'
import { holds } from './holds.mjs'
import { idempotency } from './idempotency.mjs'
import { leases } from './leases.mjs'
import { memoryRows } from './memory-rows.mjs'
import { ranges } from './ranges.mjs'
import { redisRows } from './redis-rows.mjs'
import { rows } from './rows.mjs'
import { shards } from './shards.mjs'
import { simulator } from './simulator.mjs'
import { slots } from './slots.mjs'
import { usage } from './usage.mjs'
import { usedLog } from './used-log.mjs'
import { usedOnce } from './used-once.mjs'
import { windows } from './windows.mjs'

export const MUTATIONS = [
  ...arithmetic,
  ...amounts,
  ...ranges,
  ...windows,
  ...rows,
  ...slots,
  ...leases,
  ...grants,
  ...holders,
  ...simulator,
  ...shards,
  ...idempotency,
  ...holds,
  ...clocks,
  ...away,
  ...fallback,
  ...redisRows,
  ...memoryRows,
  ...exportedRows,
  ...counterFiles,
  ...usedLog,
  ...usedOnce,
  ...feed,
  ...usage,
  ...fastPath,
  ...decisions,
]
