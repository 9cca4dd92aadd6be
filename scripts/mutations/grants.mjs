// What stores grant of leases, and until when.
import { L, LUA, SIM, T } from './folders.mjs'

export const grants = [
  {
    name: 'more than an eighth of what is left is leased',
    file: `${L}algorithms/leases.ts`,
    find: 'Math.min(want, Math.floor(left / 8), room)',
    replace: 'Math.min(want, left, room)',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases allows an eighth of what is left, and a quarter of the burst in all',
    },
  },
  {
    name: 'what is leased already does not count towards the quarter',
    file: `${L}algorithms/leases.ts`,
    find: '  const room = Math.floor(limit.burst / 4) - leasedOut(lease)\n',
    replace: '  const room = Math.floor(limit.burst / 4) - 0 * leasedOut(lease)\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases allows an eighth of what is left, and a quarter of the burst in all',
    },
  },
  {
    name: 'a single token is leased',
    file: `${LUA}wide.lua`,
    find: '  return n < 2 and 0 or n\n',
    replace: '  return n\n',
    test: { file: `${T}redis/lease-reports.test.ts`, name: 'fewer than two are not leased' },
  },
  {
    name: 'a reset forgets what is leased out of a bucket',
    file: `${LUA}change.lua`,
    find: '  w.otherColumns = {}\n  return used\n',
    replace: '  w.otherColumns = {}\n  w.lease = nil\n  return used\n',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'what is leased of a bucket stays out when its row is reset',
    },
  },
  {
    name: 'another amount of the row refills what is leased',
    file: `${LUA}rows.lua`,
    find: '    for _, other in ipairs(otherColumns) do settleOther(other, w) end\n',
    replace: '',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'variants of a rule, which share its row do not refill what is leased of another while they are asked for themselves',
    },
  },
  {
    name: 'a log that was leased is stamped at the time again',
    file: `${LUA}rows.lua`,
    find: '  setLead(rule, w.lease)\n',
    replace: '  setLead(rule, false)\n',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'variants of a rule, which share its row leave the log of another in order',
    },
  },
  {
    name: 'a lease lives for a period longer than it is counted',
    file: `${L}algorithms/leases.ts`,
    find: '  return (lease[PERIOD]! + 2) * LEASE_PERIOD\n',
    replace: '  return (lease[PERIOD]! + 3) * LEASE_PERIOD\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more through than the limit',
    },
  },
  {
    name: 'a lease ends later than the window of a sliding counter',
    file: `${L}algorithms/leases.ts`,
    find: '  if (kind === SLIDING_COUNTER) return Math.min(end, mark + limit.window)\n',
    replace: '  if (kind === SLIDING_COUNTER) return end\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more of a window through than the limit, while the clock steps',
    },
  },
  {
    name: 'what is out when the clock steps back is forgotten before its holders stop',
    file: `${L}algorithms/leases.ts`,
    find: '  lease[PERIOD] = Math.floor(now / LEASE_PERIOD) + 1\n',
    replace: '  lease[PERIOD] = Math.floor(now / LEASE_PERIOD) - 1\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases keeps what is out when the clock steps back for as long as a holder may spend it, and no longer than another period',
    },
  },
  {
    name: 'a window starts empty when the clock steps back far',
    file: `${L}algorithms/clock-steps.ts`,
    find: '    if (row[at]! > latest) row[at] = startOf(limit, now)\n',
    replace: '    if (row[at]! > latest) row[at] = 0\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more of a window through than the limit, while the clock steps',
    },
  },
  {
    name: 'two counters start empty when the clock steps back far',
    file: `${L}algorithms/sliding-counter.ts`,
    find: '  row[at + COUNT] = row[at + COUNT]! + row[at + BEFORE]!\n',
    replace: '  row[at + COUNT] = 0\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more of a window through than the limit, while the clock steps',
    },
  },
  {
    name: 'as much as is left can be leased of a window that ends early',
    file: `${L}algorithms/leases.ts`,
    find: '  return Math.max(0, Math.min(want, Math.floor(left / 8), room))\n',
    replace: '  return Math.max(0, Math.min(want, left, 8 * room))\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst let at most a quarter more through where a step back ends the window of a lease early',
    },
  },
  {
    name: 'tokens that a report gives back stay taken',
    file: `${LUA}wide.lua`,
    find: '    w.taken = w.taken - back\n',
    replace: '',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'a report leaves as taken what was spent: other instances compute their part from it',
    },
  },
  {
    name: 'a bucket is not settled under the amount that its leases were granted under',
    file: `${L}algorithms/leases.ts`,
    find: '    settleTo(row, at, limitNumbers(BUCKET, amount, limit.window, 1, false), x)\n',
    replace: '    if (x < 0) return\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a bucket whose amount changes after its leases have ended refills from their end to the change at the old rate',
    },
  },
  {
    name: 'a log with leases goes by its last stamp',
    file: `${L}algorithms/sliding-log.ts`,
    find: '  const time = Math.max(now, row[at + SEEN]!)\n  measure(limit, entries, time)\n  const used',
    replace:
      '  const n = entries.count()\n  const time = n > 0 ? Math.max(now, entries.stamp(n - 1)) : now\n  measure(limit, entries, time)\n  const used',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a log with stamps in the future, as leases leave them goes by the time, and not by its last stamp',
    },
  },
]
