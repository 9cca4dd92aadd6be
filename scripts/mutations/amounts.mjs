// Amounts that change while a bucket is in use, and what is given back.
import { L, LUA, T } from './folders.mjs'

export const amounts = [
  {
    name: 'what is used of a token is forgotten when the amount changes',
    file: `${L}algorithms/bucket.ts`,
    find: '    tat[0] = tat[0] + Math.ceil(((restT + restF / amount) * amount) / limit.amount) + 1\n',
    replace:
      '    tat[0] = tat[0] + Math.floor(((restT + restF / amount) * amount) / limit.amount)\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a bucket whose amount changes counts what is used of a token as used, rounded up',
    },
  },
  {
    name: 'limits that did not change are converted as if they had always been so',
    file: `${L}rules/succession.ts`,
    find: '    else numbers.since = same.numbers.since\n',
    replace: '',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst neither refills nor empties a bucket, by new rules',
    },
  },
  {
    name: 'limits that did not change are converted as if they had changed with the others',
    file: `${L}rules/succession.ts`,
    find: '    if (same === undefined) changed.push(numbers)\n    else',
    replace: '    changed.push(numbers)\n    if (same !== undefined)',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst neither refills nor empties a bucket, by new rules',
    },
  },
  {
    name: 'a change of amount has no time',
    file: `${L}decider.ts`,
    find: '    for (const numbers of changed) numbers.since = effect\n',
    replace: '    for (const numbers of changed) numbers.since = 0 * effect\n',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst neither refills nor empties a bucket, by new rules',
    },
  },
  {
    name: 'a refund goes by a clock that has stepped back',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  const time = Math.max(now, row[at + LAST]!)\n',
    replace: '  const time = now\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a receipt of a bucket gives what time had left of the take at the last write, also by a clock that has stepped back',
    },
  },
  {
    name: 'a bucket that is full is given back to',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  if (row[at + T]! < time || (row[at + T] === time && row[at + F] === 0)) return 0\n',
    replace: '',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a receipt of a bucket gives nothing where the bucket is full: it was forgotten, and begun anew',
    },
  },
  {
    name: 'a change of amount has the time of the instance instead of the store',
    file: `${L}stores/redis/rule-layout.ts`,
    find: 'n.since + offset)',
    replace: 'n.since)',
    test: {
      file: `${L}stores/redis/rule-layout.test.ts`,
      name: 'says by the store’s clock since when an amount holds, and nothing before that clock is known',
    },
  },
  {
    name: 'a receipt gives back again and again',
    file: `${L}receipt.ts`,
    find: '      this.#left[unit] = left - amount\n',
    replace: '',
    test: {
      file: `${T}limiter/giving-back.test.ts`,
      name: 'refund, reserve and reset gives back what a decision took, once',
    },
  },
  {
    name: 'a receipt gives back more than is left of it',
    file: `${L}receipt.ts`,
    find: 'Math.min(amountOf(amounts, unit), left)',
    replace: 'amountOf(amounts, unit)',
    test: {
      file: `${T}properties/refund.test.ts`,
      name: 'a refund by receipt gives at most what was taken, however often it is asked',
    },
  },
  {
    name: 'what was granted since a take is given back once more',
    file: `${L}algorithms/algorithm.ts`,
    find: '  if (since !== 0) return 0\n',
    replace: '',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket beside a window gives nothing of what was granted since',
    },
  },
  {
    name: 'a grant fills a bucket above its burst',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  if (n >= used) {\n    write(row, at, limit, now, 0, now)\n    return used\n  }\n',
    replace: '',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'Redis does not note what was granted',
    file: `${LUA}change.lua`,
    find: '    if given > 0 then w.sums[j] = w.sums[j] + amount end\n',
    replace: '',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket alone in its row gives nothing of what was granted since',
    },
  },
  {
    name: 'a reset in Redis leaves receipts as they were',
    file: `${LUA}change.lua`,
    find: '    w.sums[j] = w.sums[j] + RESET\n',
    replace: '',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket alone in its row gives nothing once the row was reset',
    },
  },
  {
    name: 'a receipt of a row in Redis that was made anew is honoured',
    file: `${LUA}change.lua`,
    find: '    if not w.found or takenAt < w.birth then return 0 end\n',
    replace: '    if not w.found then return 0 end\n',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket alone in its row gives nothing of a row that was made anew since',
    },
  },
  {
    name: 'a row of buckets begins at its first write, though the clock has stepped back since',
    file: `${LUA}plain.lua`,
    find: '  if now < numbers[BIRTH] then numbers[BIRTH] = now end\n',
    replace: '',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket alone in its row gives back also what was taken by a clock that had stepped back',
    },
  },
  {
    name: 'a row begins at its first write, though the clock has stepped back since',
    file: `${LUA}wide.lua`,
    find: '  w.last, w.birth = max(w.last, now), min(w.birth, now)\n',
    replace: '  w.last = max(w.last, now)\n',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket beside a window gives back also what was taken by a clock that had stepped back',
    },
  },
  {
    name: 'a row of buckets was written last by a clock that has stepped back',
    file: `${LUA}plain.lua`,
    find: '  if now > numbers[WRITTEN] then numbers[WRITTEN] = now end\n',
    replace: '  numbers[WRITTEN] = now\n',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket alone in its row gives what time had left of the take at the latest take, though the clock has stepped back',
    },
  },
  {
    name: 'a row was written last by a clock that has stepped back',
    file: `${LUA}wide.lua`,
    find: '  w.last, w.birth = max(w.last, now), min(w.birth, now)\n',
    replace: '  w.last, w.birth = now, min(w.birth, now)\n',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket beside a window gives what time had left of the take at the latest take, though the clock has stepped back',
    },
  },
  {
    name: 'a change does not write when it was made',
    file: `${LUA}change.lua`,
    find: '  if dirty then\n    w.last = max(w.last, now)\n',
    replace: '  if dirty then\n',
    test: {
      file: `${T}redis/receipts.test.ts`,
      name: 'a receipt of a bucket beside a window gives what time had left of the take at the latest change, though the clock has stepped back',
    },
  },
]
