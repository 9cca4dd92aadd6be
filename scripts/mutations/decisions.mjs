// Decisions of the project: memory, files, receipts, the feed.
import { L, S, T } from './folders.mjs'

export const decisions = [
  {
    name: 'a row with a hold is evicted',
    file: `${L}stores/memory/table/rows.ts`,
    find: ' && !this.#holds(segment, row)',
    replace: '',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys keeps a row that holds something',
    },
  },
  {
    name: 'a refund of which a part was done counts as done',
    file: `${L}stores/operation.ts`,
    find: "changed.every((one) => one === 'not_done') ? 'not_done' : 'unknown', amounts }",
    replace: "changed.includes('unknown') ? 'unknown' : null, amounts }",
    isBuilt: true,
    test: {
      file: 'packages/server/test/faults/receipts.test.ts',
      name: 'over a cluster a refund of which a part was done is not said to be not done',
    },
  },
  {
    name: 'changes leave out rows that were written before their rule had a bucket',
    file: `${L}stores/memory/export/write.ts`,
    find: '      const isWritten = isUnexported || ',
    replace: '      const isWritten = ',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state have a row that was written before its rule had its first bucket',
    },
  },
  {
    name: 'a key that had to go comes back unused',
    file: `${L}stores/memory/table/rows.ts`,
    find: '      this.sketch.fold(x, y, segment.numbers, victim + 1)\n',
    replace: '',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys never admits a key more often than an unbounded store does, whatever else is asked',
    },
  },
  {
    name: 'a receipt that was changed is believed',
    file: `${S}receipts/seal.ts`,
    find: '    return different === 0 ? text : null\n',
    replace: '    return different >= 0 ? text : null\n',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'a seal opens what it closed, and nothing that differs in a character',
    },
  },
  {
    name: 'a change of the feed follows any other',
    file: `${S}feed/follower.ts`,
    find: '      if (!isNext || digestOf(change.previous, change.edits) !== change.digest) return false\n',
    replace: '',
    test: {
      file: 'packages/server/test/feed/follower.test.ts',
      name: 'a follower is not misled by changes that are lost, doubled or out of order',
    },
  },
]
