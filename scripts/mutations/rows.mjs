// Rows: all limits or none, receipts, the store's clock, how rows are kept in Redis.
import { L, LUA, S, T } from './folders.mjs'

export const rows = [
  {
    name: 'memory takes from limits that pass although another denies',
    file: `${L}stores/memory/consume.ts`,
    find: '  if (allowed && !transaction.dryRun) takeAll(transaction, out)\n',
    replace: '  if (!transaction.dryRun) takeAll(transaction, out)\n',
    test: {
      file: `${T}properties/several-limits.test.ts`,
      name: 'several limits at once take from all or from none, and the numbers on top are those of the right one',
    },
  },
  {
    name: 'Redis takes from limits that pass although another denies',
    file: `${LUA}plain.lua`,
    find: '  if allowed and not dry then\n',
    replace: '  if not dry then\n',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a dry run takes',
    file: `${LUA}wide.lua`,
    find: '    if other or dry then\n',
    replace: '    if other then\n',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a rule in shadow denies',
    file: `${L}stores/memory/consume.ts`,
    find: '      if (out[o + STATUS] !== YES && !rule.shadow) allowed = false\n',
    replace: '      if (out[o + STATUS] !== YES) allowed = false\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store shadow rules a shadow limit that would deny lets pass, and is not charged',
    },
  },
  {
    name: 'slots keep what they took for a request that another slot denied',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '  if (!allowed) giveBack(slots, answers)\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores a cluster the Redis store over a cluster all or nothing a limit that denies keeps other rules from being taken from, whichever it is',
    },
  },
  {
    name: 'slots keep what they took for a request that failed elsewhere',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '  giveBack(slots, answers)\n  throw failed.reason\n',
    replace: '  throw failed.reason\n',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs what another row took before the breaker opened is given back',
    },
  },
  {
    name: 'slots that are asked one by one keep what they took for a request that failed elsewhere',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '    giveBack(slots, answers)\n    throw failure\n',
    replace: '    throw failure\n',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs what another row took near the limit is given back',
    },
  },
  {
    name: 'a bucket takes a cost above its burst',
    file: `${L}algorithms/bucket.ts`,
    find: 'limit, MOST_OVER)\n  }\n  if (cost > limit.mostCost) {\n',
    replace: 'limit, MOST_OVER)\n  }\n  if (cost > 2 * limit.mostCost) {\n',
    also: {
      find: '  out[o + RESET_AT] = t\n  if (cost > limit.mostCost) {\n',
      replace: '  out[o + RESET_AT] = t\n  if (cost > 2 * limit.mostCost) {\n',
    },
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a dry run over memory takes',
    file: `${L}stores/memory/consume.ts`,
    find: '  if (allowed && !transaction.dryRun) takeAll(transaction, out)\n',
    replace: '  if (allowed) takeAll(transaction, out)\n',
    test: {
      file: `${T}properties/every-algorithm.test.ts`,
      name: 'token_bucket is changed by no dry run',
    },
  },
  {
    name: 'Redis decides by the clock of the caller',
    file: `${L}stores/redis/store-clock.ts`,
    find: '    return this.#testTime === null ? 0 : this.#testTime()\n',
    replace: '    return this.#testTime === null ? this.#asked : this.#testTime()\n',
    test: {
      file: `${T}redis/instances.test.ts`,
      name: 'an instance whose clock is wrong decides by the server’s and says how far it is off: an hour ahead',
    },
  },
  {
    name: 'numbers are written as Lua prints them',
    file: `${LUA}side-keys.lua`,
    find: "  local words, score = {}, format('%.0f', expiry)\n",
    replace: '  local words, score = {}, tostring(expiry)\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row keeps numbers of more than 14 digits as they are',
    },
  },
  {
    name: 'a key that holds something else fails the whole call',
    file: `${LUA}plain.lua`,
    find: '    if not done then\n      local isTransaction',
    replace: '    if not done then\n      error(problem)\n      local isTransaction',
    test: {
      file: `${T}redis/failure-modes.test.ts`,
      name: 'a key that holds something else fails whoever asks for it, and nobody who travels in the same call',
    },
  },
  {
    name: 'receipts from before a change of amount are honoured',
    file: `${L}algorithms/bucket-changes.ts`,
    find: 'row[at + AMOUNT] !== amount || limit.amount !== amount || since < 0',
    replace: 'since < 0',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst leaves receipts from before worth nothing',
    },
  },
  {
    name: 'memory does not note what receipts gave back',
    file: `${L}stores/memory/store.ts`,
    find: '    if (given > 0 && numbers.kind === BUCKET) table.noteRefund(column, given, now)\n',
    replace: '',
    test: {
      file: `${T}properties/refund.test.ts`,
      name: 'a refund by receipt gives nothing of what time has repaid sooner because another take was given back',
    },
  },
  {
    name: 'memory does not note what was granted',
    file: `${L}stores/memory/store.ts`,
    find: '    if (given > 0) table.noteRefund(column, amount, now)\n',
    replace: '',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'a reset in memory leaves receipts as they were',
    file: `${L}stores/memory/store.ts`,
    find: '    for (const column of family.columns.keys()) table.noteRefund(column, RESET, now)\n',
    replace: '',
    test: {
      file: `${T}properties/grants-and-resets.test.ts`,
      name: 'a reset makes everything available, and leaves older receipts worth nothing',
    },
  },
  {
    name: 'Redis does not note what receipts gave back',
    file: `${LUA}change.lua`,
    find: '    if limit.kind == BUCKET then w.sums[j] = w.sums[j] + given end\n',
    replace: '',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a leaky bucket takes back a take that is not its newest',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  if (limit.queues && (row[at + T] !== mark || row[at + F] !== markRest)) return 0\n',
    replace: '',
    test: {
      file: `${T}properties/leaky-bucket.test.ts`,
      name: 'leaky_bucket gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'a row of buckets goes when it is empty, without a minute of grace',
    file: `${LUA}plain.lua`,
    find: '  goes = goes + 1 + GRACE_US\n',
    replace: '  goes = goes + 1\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of 5 per 10s lives until it is empty, and a minute or two',
    },
  },
  {
    name: 'a row of windows goes when it is empty, without a minute of grace',
    file: `${LUA}rows.lua`,
    find: '  local goes = goesAt(rule, w, sides) + GRACE_US\n',
    replace: '  local goes = goesAt(rule, w, sides)\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of 5 per 10s fixed that is written again and again never goes within a minute after it is empty',
    },
  },
  {
    name: 'a log does not live as long as its row',
    file: `${LUA}rows.lua`,
    find: "    call('PEXPIRE', beside.key, life)\n",
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of 5 per 10s exact lives until it is empty, and a minute or two',
    },
  },
  {
    name: 'a dry run of buckets over Redis takes',
    file: `${LUA}plain.lua`,
    find: '  if allowed and not dry then\n',
    replace: '  if allowed then\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a denial and a dry run change not a byte where all limits are buckets',
    },
  },
  {
    name: 'a denial writes a row',
    file: `${LUA}wide.lua`,
    find: '      keepLonger(i, rule)\n',
    replace: '      save(rule, KEYS[keysAt[i]], opened[i], sidesOfRow[i])\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a denial and a dry run change not a byte, nor any time to live',
    },
  },
  {
    name: 'memory charges a shadow limit that denies',
    file: `${L}stores/memory/consume.ts`,
    find: '      if (out[o + STATUS] !== YES) continue\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store what is used a shadow limit that is full or in debt says so, and lets pass',
    },
  },
  {
    name: 'Redis charges a shadow limit that denies',
    file: `${LUA}wide.lua`,
    find: '    if out[at + STATUS + 1] == YES then\n',
    replace: '    if out[at + STATUS + 1] ~= NEVER then\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis what is used a shadow limit that is full or in debt says so, and lets pass',
    },
  },
  {
    name: 'doctor does not say that Redis drops keys',
    file: `${S}cli/doctor/redis-findings.ts`,
    find: "  if (policy !== 'noeviction')\n",
    replace: "  if (policy === '')\n",
    test: {
      file: 'packages/server/test/cli/doctor.test.ts',
      name: 'a Redis that is well is said to be',
    },
  },
  {
    name: 'a row of buckets goes before it is empty for slower numbers',
    file: `${LUA}plain.lua`,
    find: '      if limit.slowdown > 1 then t = slower(t, limit) end\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of buckets lives until it is empty for the slowest variant of its rule',
    },
  },
  {
    name: 'a row of windows goes before it is empty for slower numbers',
    file: `${LUA}rows.lua`,
    find: '    if limit.slowdown > 1 and empty > now then empty = slower(empty, limit) end\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of buckets and windows lives until it is empty for the slowest variant of its rule',
    },
  },
  {
    name: 'a row goes before it is empty for the numbers that deny',
    file: `${LUA}wide.lua`,
    find: '      keepLonger(i, rule)\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row lives longer after a denial by slower numbers than it was written under',
    },
  },
  {
    name: 'a denial over Redis trims a log',
    file: `${LUA}wide.lua`,
    find: '      keepLonger(i, rule)\n',
    replace:
      '      for _, beside in pairs(sidesOfRow[i]) do if beside.dropOldest then beside:dropOldest(1) end end\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a denial and a dry run change not a byte, nor any time to live',
    },
  },
]
