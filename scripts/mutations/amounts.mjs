// Amounts that change while a bucket is in use, and what is given back.
import { L, T } from './folders.mjs'

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
]
