// The breaks of `npm run test:mutations`: what each takes out, and the test that must fail.
// `isBuilt`: the test runs the built packages.
import { amounts } from './amounts.mjs'
import { arithmetic } from './arithmetic.mjs'
import { away } from './away.mjs'
import { decisions } from './decisions.mjs'
import { grants } from './grants.mjs'
import { holders } from './holders.mjs'
import { idempotency } from './idempotency.mjs'
import { leases } from './leases.mjs'
import { ranges } from './ranges.mjs'
import { rows } from './rows.mjs'
import { shards } from './shards.mjs'
import { simulator } from './simulator.mjs'
import { slots } from './slots.mjs'
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
  ...away,
  ...decisions,
]
