// Clocks that step back.
import { L, LUA, T } from './folders.mjs'

export const clocks = [
  {
    name: 'memory goes on with rows of a time ahead',
    file: `${L}stores/memory/table/tables.ts`,
    find: '    if ((!isBelieved || layout.hasHolds) && isAhead(table, now)) restartRow(table, family, now)\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back 5 per 10s: after a day ahead and back, what is used is used, and no longer than that',
    },
  },
  {
    name: 'memory goes on with holds of a time ahead',
    file: `${L}stores/memory/table/tables.ts`,
    find: '      kind === CONCURRENCY && isHeldTooLong(',
    replace: '      kind === CONCURRENCY && numbers === null && isHeldTooLong(',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back a hold that was renewed then ends as one that is taken now',
    },
  },
  {
    name: 'memory honours receipts from before a step back',
    file: `${L}stores/memory/table/tables.ts`,
    find: '    table.noteRefund(column, RESET, now, latest)\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back 5 per 10s: receipts from before and from then give nothing, also when that time comes',
    },
  },
  {
    name: 'memory forgets that receipts of a time ahead are worth nothing',
    file: `${L}stores/memory/table/tables.ts`,
    find: '    table.noteRefund(column, RESET, now, latest)\n',
    replace: '    table.noteRefund(column, RESET, now)\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'a receipt of a time ahead is worth nothing when that time comes, though its row has gone meanwhile',
    },
  },
  {
    name: 'memory restarts a row at each look',
    file: `${L}stores/memory/table/tables.ts`,
    find: '  table.layout.setLast(table.numbers, table.row, now)\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back 5 per 10s: what was not used then is there',
    },
  },
  {
    name: 'a bucket is restarted with the TAT of the time ahead',
    file: `${L}algorithms/clock-steps.ts`,
    find: '  const t = row[at + T]! - (row[at + LAST]! - now)\n',
    replace: '  const t = row[at + T]!\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back 5 per 10s: after a day ahead and back, what is used is used, and no longer than that',
    },
  },
  {
    name: 'a bucket is restarted full',
    file: `${L}algorithms/clock-steps.ts`,
    find: '    row[at + T] = t\n  }\n',
    replace: '    row[at + T] = now\n  }\n',
    test: {
      file: `${T}properties/clock-steps.test.ts`,
      name: 'a clock that jumps ahead and steps back 10 per 20s: mints nothing',
    },
  },
  {
    name: 'a window is restarted empty',
    file: `${L}algorithms/clock-steps.ts`,
    find: '    if (row[at]! > latest) row[at] = startOf(limit, now)\n',
    replace:
      '    if (row[at]! > latest) {\n      row[at] = startOf(limit, now)\n      row[at + 1] = 0\n    }\n',
    test: {
      file: `${T}properties/clock-steps.test.ts`,
      name: 'a clock that jumps ahead and steps back 10 per 20s fixed: mints nothing',
    },
  },
  {
    name: 'memory restarts rows after a step of a few seconds',
    file: `${L}algorithms/clock-steps.ts`,
    find: 'export const GRACE_US = 60_000_000\n',
    replace: 'export const GRACE_US = 1_000_000\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'a row that is empty of 5 per 10s is kept for the minute by which the clock may step back',
    },
  },
  {
    name: 'a hold of a time ahead lives longer than one that is taken now',
    file: `${L}algorithms/clock-steps.ts`,
    find: '(beside as Holds).shorten(now + limit.window)',
    replace: '(beside as Holds).shorten(now + 2 * limit.window + GRACE_US)',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back 5 concurrent for 10s: after a day ahead and back, what is used is used, and no longer than that',
    },
  },
  {
    name: 'a step back is not noticed',
    file: `${L}stores/memory/store.ts`,
    find: '    else if (now < this.#latest - GRACE_US) this.#stepBack(now)\n',
    replace: '',
    test: {
      file: `${T}properties/clock-steps.test.ts`,
      name: 'a clock that jumps ahead and steps back says so once for each step back of more than a minute',
    },
  },
  {
    name: 'a step back is counted with each decision',
    file: `${L}stores/memory/store.ts`,
    find: '    this.#latest = now\n    this.clockStepsBack++\n',
    replace: '    this.clockStepsBack++\n',
    test: {
      file: `${T}properties/clock-steps.test.ts`,
      name: 'a clock that jumps ahead and steps back says so once for each step back of more than a minute',
    },
  },
  {
    name: 'Redis goes on with buckets of a time ahead',
    file: `${LUA}plain.lua`,
    find: '    if numbers[WRITTEN] > now + GRACE_US then usedKeys = first return false end\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back 5 per 10s: after a day ahead and back, what is used is used, and no longer than that',
    },
  },
  {
    name: 'Redis goes on with other rows of a time ahead',
    file: `${LUA}wide.lua`,
    find: '    restartIfAhead(rule, w, sides, KEYS[keysAt[i]])\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back 5 per 10s: after a day ahead and back, what is used is used, and no longer than that',
    },
  },
  {
    name: 'Redis gives back to rows of a time ahead',
    file: `${LUA}change.lua`,
    find: '  restartIfAhead(rule, w, sides, rowKey)\n',
    replace: '',
    test: {
      file: `${T}redis/time-ahead.test.ts`,
      name: 'a receipt from then gives nothing, also where nothing was asked since',
    },
  },
  {
    name: 'Redis restarts a row at each look',
    file: `${LUA}side-keys.lua`,
    find: '  w.birth, w.last, w.written = now, now, now\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back 5 per 10s: what was not used then is there',
    },
  },
  {
    name: 'Redis keeps windows of other variants of a time ahead',
    file: `${LUA}side-keys.lua`,
    find: '    if time <= now + GRACE_US then kept[#kept + 1] = other end\n',
    replace: '    kept[#kept + 1] = other\n',
    test: {
      file: `${T}redis/time-ahead.test.ts`,
      name: 'what another instance counts by 9/d fixed is not counted as of then',
    },
  },
  {
    name: 'Redis keeps buckets of other variants of a time ahead',
    file: `${LUA}side-keys.lua`,
    find: '      numbers[T + 1], time = max(now, numbers[T + 1] - (written - now)), 0\n',
    replace: '      time = 0\n',
    test: {
      file: `${T}redis/time-ahead.test.ts`,
      name: 'what another instance counts by 9/d is not counted as of then',
    },
  },
  {
    name: 'Redis does not say that a clock has stepped back',
    file: `${LUA}side-keys.lua`,
    find: '  stepped = true\n',
    replace: '',
    test: {
      file: `${T}redis/clock-steps.test.ts`,
      name: 'rows that Redis wrote in the time ahead are started anew once, and the reply says so',
    },
  },
  {
    name: 'Redis does not write the row that it has restarted',
    file: `${LUA}side-keys.lua`,
    find: '  if w.lease then carryLeases(w.lease, now) end\n  if w.found then save(rule, rowKey, w, sides) end\n',
    replace: '  if w.lease then carryLeases(w.lease, now) end\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back 5 per 10s: after a day ahead and back, what is used is used, and no longer than that',
    },
  },
  {
    name: 'Redis goes on with holds of a time ahead',
    file: `${LUA}side-keys.lua`,
    find: '    if limit.kind == CONCURRENCY and isHeldTooLong(limit, now, sides[j]) then ahead = true end\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back a hold that was renewed then ends as one that is taken now',
    },
  },
]
