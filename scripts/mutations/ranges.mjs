// What rules and requests may say: ranges in which the arithmetic is exact, and what an algorithm has unless told.
import { L } from './folders.mjs'

export const ranges = [
  {
    name: 'a queue has one place less',
    file: `${L}limits/grammar.ts`,
    find: 'amount, window, queue + 1)',
    replace: 'amount, window, queue)',
    test: {
      file: `${L}limits/grammar.test.ts`,
      name: 'a limit in one line 10/s queue 0 is leaky_bucket of 10',
    },
  },
  {
    name: 'smooth limits have a burst unless told',
    file: `${L}limits/grammar.ts`,
    find: 'const burst = number() ?? 1\n',
    replace: 'const burst = number() ?? amount\n',
    test: {
      file: `${L}limits/grammar.test.ts`,
      name: 'a limit in one line 10/s smooth is gcra of 10',
    },
  },
  {
    name: 'a burst may take longer than 100 years to fill',
    file: `${L}limits/limit.ts`,
    find: '  if ((limit.burst / limit.amount) * limit.window > HORIZON_US)\n    return `a burst of ${limit.burst} takes more than 100 years to fill`\n',
    replace: '',
    test: {
      file: `${L}limits/grammar.test.ts`,
      name: 'a mistake in a limit "1 per 366d burst 1000": a burst of 1000 takes more than 100 years to fill',
    },
  },
  {
    name: 'a window may be longer than a year',
    file: `${L}limits/limit.ts`,
    find: 'limit.window > YEAR_US',
    replace: 'limit.window > 10 * YEAR_US',
    test: {
      file: `${L}limits/grammar.test.ts`,
      name: 'a mistake in a limit "1 per 400d": the window 400d is not from 1s to 366d',
    },
  },
  {
    name: 'a window may be shorter than a second',
    file: `${L}limits/limit.ts`,
    find: 'limit.window < SECOND_US',
    replace: 'limit.window < 1',
    test: {
      file: `${L}limits/grammar.test.ts`,
      name: 'a mistake in a limit "1 per 500ms": the window 500ms is not from 1s to 366d',
    },
  },
  {
    name: 'an amount may be above a billion',
    file: `${L}limits/limit.ts`,
    find: ' && n <= MOST_AMOUNT',
    replace: '',
    test: {
      file: `${L}limits/grammar.test.ts`,
      name: 'a mistake in a limit "2000000000/s": the amount 2000000000 is not a whole number from 1 to 1_000_000_000',
    },
  },
  {
    name: 'a request may cost any amount',
    file: `${L}request.ts`,
    find: "wholeNumber('cost', cost, 1, MOST_COST)",
    replace: "wholeNumber('cost', cost, 1, Number.MAX_VALUE)",
    test: {
      file: `${L}request.test.ts`,
      name: 'a bad request is refused, and nothing is counted: cost is 100001; expected a whole number from 1 to 100000',
    },
  },
  {
    name: 'a request may cost any amount of a unit',
    file: `${L}request.ts`,
    find: 'wholeNumber(`costs.${unit}`, costs[unit], least, MOST_UNIT_COST)',
    replace: 'wholeNumber(`costs.${unit}`, costs[unit], least, Number.MAX_VALUE)',
    test: {
      file: `${L}request.test.ts`,
      name: 'a bad request is refused, and nothing is counted: costs.tokens is 1000000001; expected a whole number from 1 to 1000000000',
    },
  },
  {
    name: 'a shard may take longer than 100 years to fill',
    file: `${L}limits/split.ts`,
    find: '  return limitOutOfRange({ ...slowest, burst: Math.ceil(limit.burst / shards) })\n',
    replace: "  return slowest.amount < 0 ? 'never' : undefined\n",
    also: {
      find: 'import { type Algorithm, type Limit, limitOutOfRange, printLimit }',
      replace: 'import { type Algorithm, type Limit, printLimit }',
    },
    test: {
      file: `${L}limits/split.test.ts`,
      name: 'the shards of a limit that would take more than 100 years to fill are refused',
    },
  },
  {
    name: 'a shard may have less than one token',
    file: `${L}limits/split.ts`,
    find: '  if (most < shards)\n',
    replace: '  if (most < 0)\n',
    test: {
      file: `${L}limits/split.test.ts`,
      name: 'the shards of a limit of 10/s in 11: 10/s in 11 shards leaves less than 1 to a shard; 10 is the most here',
    },
  },
  {
    name: 'limits that space requests are split',
    file: `${L}limits/split.ts`,
    find: '  if (why !== undefined) return',
    replace: "  if (why === '') return",
    test: {
      file: `${L}limits/split.test.ts`,
      name: 'the shards of a limit of 10/s smooth 8 are not to be had, and it says why',
    },
  },
  {
    name: 'rules may have costs that never pass',
    file: `${L}rules/check-costs.ts`,
    find: '      .filter(({ limit }) => cost.cost > limit.burst)\n',
    replace: '      .filter(({ limit }) => cost.cost > 2 * limit.burst)\n',
    test: {
      file: `${L}rules/check-costs.test.ts`,
      name: 'a configured cost above the burst of a rule there is refused, with what would never pass',
    },
  },
  {
    name: 'nobody is warned of costs that a shard seldom has left',
    file: `${L}rules/check-costs.ts`,
    find: 'const EASE = 4\n',
    replace: 'const EASE = 1\n',
    test: {
      file: `${L}rules/read-rule.shards.test.ts`,
      name: 'the shards of a rule warn where a configured cost is much of what a shard holds',
    },
  },
  {
    name: 'a cost that never passes is said to be denied now and then',
    file: `${L}rules/check-costs.ts`,
    find: '  return cost > Math.floor(held)\n',
    replace: '  return cost > 2 * held\n',
    test: {
      file: `${L}rules/read-rule.shards.test.ts`,
      name: 'the shards of a rule warn where a configured cost is much of what a shard holds',
    },
  },
  {
    name: 'smooth limits that are written out have a burst unless told',
    file: `${L}limits/long-form.ts`,
    find: "  if (algorithm === 'gcra') burst = 1\n",
    replace: '',
    test: {
      file: `${L}limits/long-form.test.ts`,
      name: 'a limit written out {"algorithm":"gcra","amount":10,"window":"1s"} is 10/s smooth',
    },
  },
]
