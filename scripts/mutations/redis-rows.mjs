// How rows are kept in Redis.
import { L, LUA, T } from './folders.mjs'

export const redisRows = [
  {
    name: 'the life of a key is set with each write',
    file: `${LUA}plain.lua`,
    find: '  if sums and goes <= numbers[EXPIRES] then\n',
    replace: '  if sums and goes < 0 then\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of a busy bucket is given a new time to live only now and then',
    },
  },
  {
    name: 'a key goes before its row is empty',
    file: `${LUA}plain.lua`,
    find: '  if sums and goes <= numbers[EXPIRES] then\n',
    replace: '  if sums then\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row of a busy bucket is given a new time to live only now and then',
    },
  },
  {
    name: 'a row that a denial finds under slower rules goes too early',
    file: `${LUA}wide.lua`,
    find: '      if goesAt(rule, w, sides) + GRACE_US > w.expires then save(rule, KEYS[keysAt[i]], w, sides) end\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row that a denial finds under slower rules lives until it is empty by these',
    },
  },
  {
    name: 'a row that was written under other rules is read as under these',
    file: `${LUA}plain.lua`,
    find: '    elseif sub(value, 1, length) == rule.names and rule.sizes[#value] then\n',
    replace: '    elseif rule.sizes[#value] then\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis what is used token_bucket: a lowered or a raised limit changes nothing about what is used',
    },
  },
  {
    name: 'what other rules count in a row is dropped',
    file: `${LUA}rows.lua`,
    find: '    if other.empty + GRACE_US > now then kept[#kept + 1] = other end\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row keeps what an instance counts that has other rules for a while',
    },
  },
  {
    name: 'what was ever taken of a row is not counted',
    file: `${LUA}plain.lua`,
    find: '  numbers[TAKEN] = numbers[TAKEN] + cost\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row keeps debts and sums that no text of 14 digits holds',
    },
  },
  {
    name: 'a receipt of a row that was made anew is honoured',
    file: `${LUA}change.lua`,
    find: ' or takenAt < w.birth then return 0 end\n',
    replace: ' then return 0 end\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row that was created anew gives nothing back for what was taken before',
    },
  },
  {
    name: 'a row that lost its log goes on with its sum',
    file: `${LUA}side-keys.lua`,
    find: '      if n == 0 then w.row[limit.at + 1] = 0 end\n',
    replace: '',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row that lost its log, or a log that lost its row, starts anew',
    },
  },
  {
    name: 'a change that changes nothing is written',
    file: `${LUA}change.lua`,
    find: '  if changed == 0 then for i = first, last do w.row[i] = before[i - limit.at] end end\n',
    replace: '',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does: a grant that one limit of two takes',
    },
  },
  {
    name: 'receipts of buckets in Redis do not count what was given back before',
    file: `${L}stores/redis/decide-operation.ts`,
    find: '        if (letter === LETTER_SUMS) out[o + GIVEN_BACK] = texts.readDoubleLE(row + sumsAt + 8 * j)\n',
    replace: '',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does: a take after the clock stepped back is given back',
    },
  },
]
