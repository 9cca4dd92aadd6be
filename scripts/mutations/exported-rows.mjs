// The state that a store in memory exports, and the changes after it.
import { L, T } from './folders.mjs'

export const exportedRows = [
  {
    name: 'rows are exported in a layout of which no head was written',
    file: `${L}stores/memory/export/write.ts`,
    find: '    while (table.layout.signature !== table.exportedLayout) {\n',
    replace: "    if (table.exportedLayout === '') {\n",
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state have a row that was written, and then moved to another layout without being written',
    },
  },
  {
    name: 'rows that are rebuilt twice are not in the changes',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    rebuilt.isUnexported = old.isUnexported || layout',
    replace: '    rebuilt.isUnexported = layout',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state have a row that was moved to a layout with a bucket, and to another one',
    },
  },
  {
    name: 'a row is freed before its last write is exported',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    return !this.#isUnexported(segment, row)\n  }\n',
    replace: '    return true\n  }\n',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state say that a row is gone where nothing could be given back to it since',
    },
  },
  {
    name: 'a row is freed before the release of its hold is exported',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    return layout.hasHolds && this.#books(segment, row).some(({ isChanged }) => isChanged)\n',
    replace: '    return false\n',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state have a hold that was released before others came',
    },
  },
  {
    name: 'a row is evicted before its last write is exported, and nothing says so',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    if (this.#evictOne(a, b, newcomer, !isTracked) || !isTracked) return\n    if (this.#evictOne(a, b, newcomer, true)) this.#shared.isTracked = false\n',
    replace: '    this.#evictOne(a, b, newcomer, true)\n',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state let nobody past 5/min by flooding a full store and waiting for its restart',
    },
  },
  {
    name: 'changes are exported after changes that were not read to their end',
    file: `${L}stores/memory/export/store-state.ts`,
    find: '    shared.isExportFinished = false\n',
    replace: '',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state are refused after changes that were not read to their end',
    },
  },
  {
    name: 'a store waits for ever for an export',
    file: `${L}stores/memory/table/tables.ts`,
    find: '        if (++shared.roundsSinceExport >= MOST_ROUNDS) shared.isTracked = false\n',
    replace: '',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state are not waited for by a store from which none are taken any more',
    },
  },
  {
    name: 'a write at an earlier time is not in the changes',
    file: `${L}stores/memory/table/table.ts`,
    find: '    if (now < this.writtenFrom) this.writtenFrom = now\n',
    replace: '    if (this.writtenFrom === Number.POSITIVE_INFINITY) this.writtenFrom = now\n',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state have a write at an earlier time than another',
    },
  },
  {
    name: 'rows are freed while they are waited for by an export',
    file: `${L}stores/memory/table/table.ts`,
    find: '    return Math.min(this.writtenFrom, this.exportingFrom)\n',
    replace: '    return this.writtenFrom\n',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state have rows that were reset, though others came while they were read',
    },
  },
  {
    name: 'the release of a hold is not in the changes',
    file: `${L}stores/memory/table/tables.ts`,
    find: '    this.#shared.holdsChanged = true\n',
    replace: '',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state have the holds that were released, though that writes no row',
    },
  },
  {
    name: 'sums of refunds are not in the changes',
    file: `${L}stores/memory/side/refund-sums.ts`,
    find: '    this.#changed.add(key)\n',
    replace: '',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state have what was given back, so that older receipts give nothing twice',
    },
  },
  {
    name: 'changes are imported though some before them are missing',
    file: `${L}stores/memory/export/read.ts`,
    find: '    } else if (follows !== this.#number || seed',
    replace: '    } else if (seed',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state are refused where one of them is missing, or comes twice',
    },
  },
  {
    name: 'changes of another state are imported',
    file: `${L}stores/memory/export/read.ts`,
    find: ' || seed.join() !== this.seed.join()) {',
    replace: ') {',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state are not of another state',
    },
  },
  {
    name: 'two whole states are imported one after the other',
    file: `${L}stores/memory/export/read.ts`,
    find: "      if (this.#number >= 0) throw damaged('two whole states follow each other')\n",
    replace: '',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state are refused where one of them is missing, or comes twice',
    },
  },
  {
    name: 'a state is imported that ends early',
    file: `${L}stores/memory/export/read.ts`,
    find: "    if (this.#number < 0 || this.#isInside) throw damaged('it ends early')\n",
    replace: '',
    test: {
      file: `${T}memory/snapshot.test.ts`,
      name: 'a memory store refuses a state that is empty',
    },
  },
  {
    name: 'a state is imported whose checksum is wrong',
    file: `${L}stores/memory/export/piece.ts`,
    find: "  if (head.kind === 'end' && head.checksum !== before) throw damaged('the checksum is wrong')\n",
    replace: '',
    test: {
      file: `${T}memory/snapshot.test.ts`,
      name: 'a memory store refuses a state with one byte changed',
    },
  },
  {
    name: 'a piece of version 2 is imported whose checksum is wrong',
    file: `${L}stores/memory/export/piece.ts`,
    find: "  if (crc32(content) !== lengths.readUInt32BE(4)) throw damaged('a checksum is wrong')\n",
    replace: '',
    test: {
      file: `${T}memory/version-2.test.ts`,
      name: 'a state of version 2 is not read if a byte of it was changed, or its end is missing',
    },
  },
  {
    name: 'a state of an unknown version is imported',
    file: `${L}stores/memory/export/read.ts`,
    find: '    if (version !== VERSION && version !== VERSION_BEFORE)\n      throw damaged(`it is of version ${version}, not ${VERSION}`)\n',
    replace: '',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'a state of a version that is not known is refused, and says of which it is',
    },
  },
  {
    name: 'a state is imported into a store that was used',
    file: `${L}stores/memory/export/store-state.ts`,
    find: '    if (byFamily.size > 0)\n',
    replace: '    if (byFamily.size > 1e9)\n',
    test: {
      file: `${T}memory/snapshot.test.ts`,
      name: 'a memory store refuses to import after it was used',
    },
  },
  {
    name: 'a whole state has nothing of keys that had to go',
    file: `${L}stores/memory/export/write.ts`,
    find: '  if (sketch === null) return\n',
    replace: '  if (sketch !== undefined) return\n',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'a whole state has what was used by keys that had to go',
    },
  },
  {
    name: 'a state of version 2 is read without its sketch',
    file: `${L}stores/memory/export/version-2-tables.ts`,
    find: '    this.#moveSketch(earlier, layout, into)\n',
    replace: '',
    test: {
      file: `${T}memory/version-2.test.ts`,
      name: 'a state of version 2 says what it said to the release that wrote it, and no less of keys that had to go',
    },
  },
  {
    name: 'a state of version 2 is read without its sums of refunds',
    file: `${L}stores/memory/export/version-2-tables.ts`,
    find: '    into.refunds.takeOver(',
    replace: '    if (layout.columns.length < 0) into.refunds.takeOver(',
    test: {
      file: `${T}memory/version-2.test.ts`,
      name: 'a state of version 2 says what it said to the release that wrote it, and no less of keys that had to go',
    },
  },
  {
    name: 'a rule that is gone is in the state that is restored',
    file: `${L}stores/memory/export/read.ts`,
    find: '      if (keys.has(key)) continue\n',
    replace: '      if (keys.size >= 0) continue\n',
    test: {
      file: `${T}memory/exported-rows.test.ts`,
      name: 'changes exported after a whole state have nothing of a rule that is gone, also when it comes back',
    },
  },
]
