// Rows in memory: their layouts, when they are free, which go in a full store.
import { L, T } from './folders.mjs'

export const memoryRows = [
  {
    name: 'rows stay narrow though an amount has changed',
    file: `${L}stores/memory/table/layout.ts`,
    find: 'return before.isNarrow && (old === undefined || old.amount === sample.numbers.amount)',
    replace: 'return before.isNarrow && (old === undefined || sample.numbers.amount > 0)',
    test: {
      file: `${T}memory/carry-over.test.ts`,
      name: 'a change of rules keeps what was used of a bucket when its numbers change',
    },
  },
  {
    name: 'rows become narrow again',
    file: `${L}stores/memory/table/layout.ts`,
    find: 'return before.isNarrow && (old === undefined',
    replace: 'return (old === undefined',
    test: {
      file: `${T}memory/carry-over.test.ts`,
      name: 'a change of rules keeps what was used of a bucket when its numbers change',
    },
  },
  {
    name: 'rows are narrow though tiers have other amounts',
    file: `${L}stores/memory/table/layout.ts`,
    find: '  if (!family.isUniform) return false\n',
    replace: '',
    test: {
      file: `${T}memory/carry-over.test.ts`,
      name: 'a change of rules moves a subject between tiers without refilling or emptying it',
    },
  },
  {
    name: 'rows that are rebuilt forget their last write',
    file: `${L}stores/memory/table/layout.ts`,
    find: '    if (!this.startsBuckets(from)) this.touch(into, at, numbers[row + from.lastAt]!)\n',
    replace: '',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state have a row that was written, and then moved to another layout without being written',
    },
  },
  {
    name: 'rows of an earlier layout are lost',
    file: `${L}stores/memory/table/rows.ts`,
    find: '      segment.used > 0 ? segment : this.#outdated[i],',
    replace: '      segment.used > 1e9 ? segment : this.#outdated[i],',
    test: {
      file: `${T}memory/carry-over.test.ts`,
      name: 'a change of rules keeps what was used of a bucket when its numbers change',
    },
  },
  {
    name: 'rows of the layout before the last one are lost',
    file: `${L}stores/memory/table/rows.ts`,
    find: '      segment.used > 0 ? segment : this.#outdated[i],',
    replace: '      segment.used > 0 ? segment : undefined,',
    test: {
      file: `${T}memory/carry-over.test.ts`,
      name: 'a change of rules keeps what was used by keys of which none was asked for between two changes',
    },
  },
  {
    name: 'sums of refunds are forgotten of rows that are not rebuilt yet',
    file: `${L}stores/memory/table/rows.ts`,
    find: '(this.#outdated[index] ?? this.#segments[index]!).find(a, b) >= 0',
    replace: 'this.#segments[index]!.find(a, b) >= 0',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'a sum of refunds stays while its row is there, also in a layout that is not current any more',
    },
  },
  {
    name: 'sums of refunds are kept by place instead of serial',
    file: `${L}stores/memory/table/table.ts`,
    find: 'return this.refunds.of(a, b, this.layout.columns[column]!.serial)',
    replace: 'return this.refunds.of(a, b, column)',
    also: {
      find: 'this.refunds.add([this.a, this.b, serial],',
      replace: 'this.refunds.add([this.a, this.b, column],',
    },
    test: {
      file: `${T}properties/limits-that-come-and-go.test.ts`,
      name: 'more limits, or fewer leave the others as they were',
    },
  },
  {
    name: 'logs of limits that are gone are kept',
    file: `${L}stores/memory/table/rows.ts`,
    find: '      for (const { handleAt } of gone) this.#shared.side.remove(old.numbers[row + 1 + handleAt]!)\n',
    replace: '',
    test: { file: `${T}memory/compaction.test.ts`, name: 'of the logs of a limit that is gone' },
  },
  {
    name: 'a dead slot ends the search for a key',
    file: `${L}stores/memory/table/segment.ts`,
    find: '      if (x === 0 && y === 0) return -1\n',
    replace: '      if (x === 0) return -1\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store what has used most stays, however its limit counts',
    },
  },
  {
    name: 'an evicted row is emptied in place',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    segment.kill(row)\n',
    replace: '    segment.write(row, 0, 0)\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store what has used most stays, however its limit counts',
    },
  },
  {
    name: 'what has used most is evicted',
    file: `${L}stores/memory/table/rows.ts`,
    find: 'if (used < least && !this',
    replace: 'if ((used > least || victim < 0) && !this',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store what has used most stays, however its limit counts',
    },
  },
  {
    name: 'how much a window has used is measured by its end',
    file: `${L}stores/memory/table/layout.ts`,
    find: 'if (kind === FIXED_WINDOW) until += (numbers[place + 1]! / limit.amount) * window',
    replace: 'if (kind === FIXED_WINDOW) until += window',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store what has used most stays, however its limit counts',
    },
  },
  {
    name: 'a key that comes back starts from the higher of its cells',
    file: `${L}stores/memory/table/sketch.ts`,
    find: 'numbers[into] = Math.min(first[x + at]!, second[y + at]!)',
    replace: 'numbers[into] = Math.max(first[x + at]!, second[y + at]!)',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys does not let an attacker past 10/min, and denies hardly anyone else',
    },
  },
  {
    name: 'an evicted bucket lowers its cell',
    file: `${L}stores/memory/table/sketch.ts`,
    find: '  if (tat > cells[cell]!) cells[cell] = tat\n',
    replace: '  cells[cell] = tat\n',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys never admits a key more often than an unbounded store does, whatever else is asked',
    },
  },
  {
    name: 'an evicted window lowers its cell',
    file: `${L}stores/memory/table/sketch.ts`,
    find: 'cells[cell + 1] = Math.max(cells[cell + 1]!, row[at + 1]!)',
    replace: 'cells[cell + 1] = row[at + 1]!',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys never admits a key more often than an unbounded store does, whatever else is asked',
    },
  },
  {
    name: 'an evicted sliding counter lowers its cell',
    file: `${L}stores/memory/table/sketch.ts`,
    find: '  cells[cell + 2] = Math.max(count, rowCount)\n',
    replace: '  cells[cell + 2] = rowCount\n',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys never admits a key more often than an unbounded store does, whatever else is asked',
    },
  },
  {
    name: 'an evicted log lowers its cell',
    file: `${L}stores/memory/table/sketch.ts`,
    find: 'cells[cell + i] = Math.max(cells[cell + i]!, row[at + i]!)',
    replace: 'cells[cell + i] = row[at + i]!',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys never admits a key more often than an unbounded store does, whatever else is asked',
    },
  },
  {
    name: 'what an evicted bucket used is rounded down',
    file: `${L}stores/memory/table/sketch.ts`,
    find: '  const tat = width > 1 && row[at + 1]! > 0 ? row[at]! + 1 : row[at]!\n',
    replace: '  const tat = width > 0 ? row[at]! : 0\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store a key that had to go comes back with all that it has used, to the microsecond',
    },
  },
  {
    name: 'cells are not converted to the amount that came into force',
    file: `${L}stores/memory/table/sketch.ts`,
    find: '      if (column.kind === BUCKET) toAmountOf(column)\n',
    replace: '',
    test: {
      file: `${T}memory/evicted-rows.test.ts`,
      name: 'a key that had to go has used as much when slower numbers come, whose rows are laid out otherwise',
    },
  },
  {
    name: 'what evicted rows used is forgotten with their layout',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    this.sketch?.relayout(layout)\n',
    replace: '    this.sketch = null\n',
    test: {
      file: `${T}memory/evicted-rows.test.ts`,
      name: 'a key that had to go has used as much when slower numbers come, whose rows are laid out otherwise',
    },
  },
  {
    name: 'a full store leaves a rule no fair part',
    file: `${L}stores/memory/table/rows.ts`,
    find: ' && this.count > this.#fairPart())\n',
    replace: ')\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store a rule has a fair part of its rows, whatever other rules keep',
    },
  },
  {
    name: 'a store keeps more keys than its bound',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    if (this.#shared.rows > this.#shared.maxKeys && ',
    replace: '    if (this.#shared.rows > 8 * this.#shared.maxKeys && ',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys does not let an attacker past 10/min, and denies hardly anyone else',
    },
  },
  {
    name: 'a row is free as soon as it is empty',
    file: `${L}stores/memory/table/rows.ts`,
    find: 'if (layout.emptyAt(numbers, row + 1, this.#shared.side) + GRACE_US > now) return false',
    replace: 'if (layout.emptyAt(numbers, row + 1, this.#shared.side) > now) return false',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'a row that is empty of 5 per 10s fixed is kept for the minute by which the clock may step back',
    },
  },
  {
    name: 'a row is free whenever it was written',
    file: `${L}stores/memory/table/rows.ts`,
    find: '    if (isAsked && last + this.#keptUs + GRACE_US > now) return false\n',
    replace: '',
    test: {
      file: `${T}memory/carry-over.test.ts`,
      name: 'a change of rules keeps what was used where slower numbers come, and memory is given back before anyone asks',
    },
  },
  {
    name: 'a window of a time ahead is guessed from the sketch',
    file: `${L}stores/memory/table/table.ts`,
    find: '      if (kind !== BUCKET && width > 0 && time > now + GRACE_US)\n        blank.fill(0, 1 + at, 1 + at + width)\n',
    replace: '',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'in a full store a key of 5/min fixed that had to go while the clock was ahead is not denied until that time comes',
    },
  },
  {
    name: 'a guess from the sketch denies for longer than its limit could',
    file: `${L}stores/memory/consume.ts`,
    find: '    if (table.isGuess) clampGuess(table, limits, now)\n',
    replace: '',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'a key that shares what is known of another is not denied for longer than its limit could',
    },
  },
  {
    name: 'what a free row kept beside it is kept',
    file: `${L}stores/memory/table/rows.ts`,
    find: '        this.#clear(segment, row)\n        return row\n',
    replace: '        return row\n',
    test: {
      file: `${T}memory/kept-rows.test.ts`,
      name: 'a row that is empty gives its place to another, and what it kept beside it',
    },
  },
  {
    name: 'receipts are honoured whose sums of refunds had to be forgotten',
    file: `${L}stores/memory/side/refund-sums.ts`,
    find: '      this.#voidBefore = now + 1\n',
    replace: '',
    test: {
      file: `${L}stores/memory/side/refund-sums.test.ts`,
      name: 'sums of refunds that had to be forgotten leave every earlier receipt worth nothing',
    },
  },
]
