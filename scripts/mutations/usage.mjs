// Usage, each batch once, and the heaviest rows.
import { S, ST } from './folders.mjs'

export const usage = [
  {
    name: 'a batch that comes twice is counted twice',
    file: `${S}usage/recorder.ts`,
    find: '  ON CONFLICT DO NOTHING RETURNING instance, sequence`',
    replace:
      '  ON CONFLICT (instance, sequence) DO UPDATE SET stored_at = now() RETURNING instance, sequence`',
    test: {
      file: `${ST}usage/recorder.test.ts`,
      name: "usage in 'postgres' is stored once, however often and in whatever order it comes",
    },
  },
  {
    name: 'a batch leaves the stream before it is stored',
    file: `${S}usage/stream-reader.ts`,
    find: '    if (batches.length > 0) await this.#record(batches)\n    this.#held = []\n    this.#stored = held.map(({ id }) => id)\n    await this.#finish()\n',
    replace:
      '    this.#stored = held.map(({ id }) => id)\n    await this.#finish()\n    if (batches.length > 0) await this.#record(batches)\n    this.#held = []\n',
    test: {
      file: `${ST}usage/carrying.test.ts`,
      name: 'usage over Redis is stored once though a reader dies between the commit and its word',
    },
  },
  {
    name: 'what a dead reader had taken is never stored',
    file: `${S}usage/stream-reader.ts`,
    find: '    if (this.#held.length === 0) this.#held = await this.#claim()\n',
    replace: '',
    test: {
      file: `${ST}usage/carrying.test.ts`,
      name: 'usage over Redis is stored once though a reader dies between the commit and its word',
    },
  },
  {
    name: 'a batch is sent again under another number',
    file: `${S}usage/sender.ts`,
    find: '      } catch {\n        return\n      }\n      this.#outgoing = null\n',
    replace:
      '      } catch {\n        this.#sequence++\n        this.#outgoing = { ...this.#outgoing, sequence: this.#sequence }\n        return\n      }\n      this.#outgoing = null\n',
    test: {
      file: `${ST}usage/carrying.test.ts`,
      name: 'usage over Redis is counted once though nobody heard that it had arrived',
    },
  },
  {
    name: 'what a sender gave up is not counted as lost',
    file: `${S}usage/sender.ts`,
    find: '    this.#lost += counts.decisions\n',
    replace: '',
    test: {
      file: `${ST}usage/carrying.test.ts`,
      name: 'a sender whose batches wait loses the oldest beyond its buffer, and counts exactly what it lost',
    },
  },
  {
    name: 'what waits to be sent has no bound',
    file: `${S}usage/sender.ts`,
    find: '    while (this.#bytes > this.#mostBytes && this.#waiting.length > 0) this.#drop()\n',
    replace: '',
    test: {
      file: `${ST}usage/carrying.test.ts`,
      name: 'a sender whose batches wait loses the oldest beyond its buffer, and counts exactly what it lost',
    },
  },
  {
    name: 'a batch that is refused stops the others',
    file: `${S}usage/recorder.ts`,
    find: '      await this.#recordEach(batches)\n',
    replace: '      throw error\n',
    test: {
      file: `${ST}usage/recorder.test.ts`,
      name: "usage in 'postgres' has the partitions that it needs, and makes them again",
    },
  },
  {
    name: 'the error of a row counts as its own',
    file: `${S}heaviest-rows.ts`,
    find: '    return this.#counts[place]! - this.#errors[place]!\n',
    replace: '    return this.#counts[place]!\n',
    test: {
      file: `${S}heaviest-rows.property.test.ts`,
      name: 'the heaviest rows are counted short by at most one in so many places, and their rules exactly',
    },
  },
  {
    name: 'what a row had when it lost its place is lost for its rule',
    file: `${S}heaviest-rows.ts`,
    find: '    rule.seen += this.seen(place)\n',
    replace: '',
    test: {
      file: `${S}heaviest-rows.property.test.ts`,
      name: 'the heaviest rows are counted short by at most one in so many places, and their rules exactly',
    },
  },
  {
    name: 'a new row takes any place',
    file: `${S}heaviest-rows.ts`,
    find: '        if (this.#counts[this.#next]! <= this.#smallest) return this.#next\n',
    replace: '        return this.#next++\n',
    test: {
      file: `${S}heaviest-rows.test.ts`,
      name: 'a new row takes the smallest place',
    },
  },
  {
    name: 'rows are named that had hardly more than those without a place',
    file: `${S}heaviest-rows.ts`,
    find: '    if (this.#isFull) largestUnnamed = Math.max(largestUnnamed, ascending[0]! + 1)\n',
    replace: '',
    test: {
      file: `${S}heaviest-rows.property.test.ts`,
      name: 'the heaviest rows keep the names that are asked for, within the error that is stated',
    },
  },
  {
    name: 'errors are not halved with counts',
    file: `${S}heaviest-rows.ts`,
    find: '    for (const numbers of [this.#counts, this.#errors, this.denied, this.amount])\n',
    replace: '    for (const numbers of [this.#counts, this.denied, this.amount])\n',
    test: {
      file: `${S}heaviest-rows.property.test.ts`,
      name: 'the heaviest rows keep their proportions when they are halved, and give up their places in time',
    },
  },
  {
    name: 'rows keep their places for ever',
    file: `${S}heaviest-rows.ts`,
    find: '      if (rule === null || this.#counts[place]! >= LEAST) continue\n',
    replace: '      if (rule === null || this.#counts[place]! >= 0) continue\n',
    test: {
      file: `${S}heaviest-rows.property.test.ts`,
      name: 'the heaviest rows keep their proportions when they are halved, and give up their places in time',
    },
  },
  {
    name: 'the round for the smallest place goes on after halving',
    file: `${S}heaviest-rows.ts`,
    find: '    this.#smallest = 0\n    this.#next = 0\n  }\n\n  /** Forgets all rows. */',
    replace: '  }\n\n  /** Forgets all rows. */',
    test: {
      file: `${S}heaviest-rows.test.ts`,
      name: 'after all was halved a new row takes the smallest place again',
    },
  },
  {
    name: 'replays and dry runs are counted as usage',
    file: `${S}usage/tally.ts`,
    find: '    if (decision.replayed || request.dryRun === true) return\n',
    replace: '',
    test: {
      file: `${S}usage/tally.property.test.ts`,
      name: 'a tally says what a plain count says while there are places for all',
    },
  },
  {
    name: 'rules in shadow are counted as usage',
    file: `${S}usage/tally.ts`,
    find: '      if (!rule.shadow) {\n',
    replace: '      {\n',
    test: {
      file: `${S}usage/tally.property.test.ts`,
      name: 'a tally says what a plain count says while there are places for all',
    },
  },
  {
    name: 'usage does not begin anew with each batch',
    file: `${S}usage/tally.ts`,
    find: '    this.#rows.clear()\n',
    replace: '',
    test: { file: `${S}usage/tally.test.ts`, name: 'a tally begins anew after each take' },
  },
  {
    name: 'hot rows look at every 16th decision',
    file: `${S}hot/hot-rows.ts`,
    find: '    return 1 + ((x >>> 0) % (2 * SAMPLED - 1))\n',
    replace: '    return SAMPLED\n',
    test: {
      file: `${S}hot/hot-rows.property.test.ts`,
      name: 'hot rows are found whatever rhythm they ask in',
    },
  },
  {
    name: 'hot rows keep the bodies of requests',
    file: `${S}hot/hot-rows.ts`,
    find: '(MOST_ROWS, ownText)',
    replace: '(MOST_ROWS)',
    test: {
      file: `${S}hot/hot-rows.test.ts`,
      name: 'hot rows keep the names of their subjects, not the bodies that those came in',
    },
  },
]
