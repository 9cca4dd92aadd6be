// Rules in shards.
import { L, T } from './folders.mjs'

export const shards = [
  {
    name: 'each shard has the whole amount, rounded up',
    file: `${L}limits/split.ts`,
    find: '  const part = (whole: number) => Math.floor((whole + shard) / shards)\n',
    replace: '  const part = (whole: number) => Math.ceil((whole + shard) / shards)\n',
    test: {
      file: `${T}shards/algorithms.property.test.ts`,
      name: '60 per 10s exact in shards never admits more than it promises, and admits at the time that it names',
    },
  },
  {
    name: 'a take is not given back to the shard that it was taken from',
    file: `${L}stores/sharded/shard-changes.ts`,
    find: '    if (mark === null) return [refund]\n',
    replace: '    if (mark === null || mark.count > 0) return [refund]\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards gives a take back to the shard that it was taken from, also on another instance by text',
    },
  },
  {
    name: 'a shard takes a cost above its burst',
    file: `${L}rules/compiled-rule.ts`,
    find: '        numbers.mostCost = Math.floor(numbers.burst / family.shards)\n',
    replace: '        numbers.mostCost = numbers.burst\n',
    test: {
      file: `${T}shards/algorithms.property.test.ts`,
      name: '60 per 10s burst 40 in shards never admits more than it promises, and admits at the time that it names',
    },
  },
  {
    name: 'a take whose first answer came too late does not say of which shard it is',
    file: `${L}stores/sharded/shard-answers.ts`,
    find: '  markShards(answer)\n  if (answer.isReplay) return answer.as(wholeOf(answer.transaction))\n',
    replace:
      '  if (answer.isReplay) return answer.as(wholeOf(answer.transaction))\n  markShards(answer)\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards gives back what a first answer took that came too late, from the shard that it was taken from',
    },
  },
  {
    name: 'no other shard is asked where one denies',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: 'more < MOST_MORE',
    replace: 'more < 0',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards says what is left of all shards, and never more than the limit',
    },
  },
  {
    name: 'what another shard takes too late is kept',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: '        if (transaction.idempotency === null) this.#giveBack(answer)',
    replace: '        if (transaction.idempotency !== null) this.#giveBack(answer)',
    test: {
      file: `${T}shards/one-deadline.test.ts`,
      name: 'what another shard answers too late is given back, and the denial is given in time',
    },
  },
  {
    name: 'a receipt of other shards than there are is believed',
    file: `${L}stores/sharded/shard-changes.ts`,
    find: 'Math.floor((take.takenUnder + shard) / count)',
    replace: 'Math.floor((take.takenUnder + shard) / rule.count)',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards gives nothing back to other shards than there were',
    },
  },
  {
    name: 'a cost above what a shard holds is explained by the burst',
    file: `${L}describe.ts`,
    find: '  return `a cost above ${mostCost} never passes${why}`\n',
    replace: '  return `a cost above ${burst} never passes${why}`\n',
    test: {
      file: `${T}rules/message.test.ts`,
      name: 'the message of a rule says what each shard holds where a cost is above that',
    },
  },
  {
    name: 'one shard is drawn',
    file: `${L}stores/sharded/shard-choice.ts`,
    find: 'levels.room(x, cost, now) >= levels.room(y, cost, now) ? x : y',
    replace: 'levels.room(x, cost, now) >= 0 * y ? x : x',
    test: {
      file: `${L}stores/sharded/shard-choice.test.ts`,
      name: 'a shard is chosen from two that are drawn, the one with more left, whichever is drawn first',
    },
  },
  {
    name: 'the emptier of two shards is asked',
    file: `${L}stores/sharded/shard-choice.ts`,
    find: 'levels.room(x, cost, now) >= levels.room(y, cost, now) ? x : y',
    replace: 'levels.room(x, cost, now) < levels.room(y, cost, now) ? x : y',
    test: {
      file: `${L}stores/sharded/shard-choice.test.ts`,
      name: 'a shard is chosen from two that are drawn, the one with more left, whichever is drawn first',
    },
  },
  {
    name: 'the first shard is preferred',
    file: `${L}stores/sharded/shard-choice.ts`,
    find: '    return Math.floor(this.#random() * count)\n',
    replace: '    return Math.floor(this.#random() * 0 * count)\n',
    test: {
      file: `${L}stores/sharded/shard-choice.test.ts`,
      name: 'a shard is chosen from two that are drawn, the one with more left, whichever is drawn first',
    },
  },
  {
    name: 'a shard is as full as it was seen last',
    file: `${L}stores/sharded/row-levels.ts`,
    find: '    return ((fullAt - 1 - now) * this.#part',
    replace: '    return ((fullAt - 1 - Math.min(now, 0 * fullAt)) * this.#part',
    test: {
      file: `${L}stores/sharded/row-levels.test.ts`,
      name: 'a shard of a bucket that owes repays with time',
    },
  },
  {
    name: 'what is being taken from a shard is still expected there',
    file: `${L}stores/sharded/row-levels.ts`,
    find: '    if (this.#numbers[row + SEEN_AT] !== 0) this.#numbers[row + EXPECTED]! += cost\n',
    replace: '    if (cost < 0) this.#numbers[row + EXPECTED]! += cost\n',
    test: {
      file: `${L}stores/sharded/row-levels.test.ts`,
      name: 'a shard of 40 per 40s fixed owes nothing for what is being taken',
    },
  },
  {
    name: 'all shards are asked before a denial',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: 'const MOST_MORE = 2\n',
    replace: 'const MOST_MORE = 1000\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards is denied after three shards at most, by an instance that knows nothing of them',
    },
  },
  {
    name: 'one more shard is asked where one denies',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: 'const MOST_MORE = 2\n',
    replace: 'const MOST_MORE = 1\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards is denied after three shards at most, by an instance that knows nothing of them',
    },
  },
  {
    name: 'shards are asked that have too little left',
    file: `${L}stores/sharded/shard-choice.ts`,
    find: '    let [next, latest, most] = [-1, 0, cost]\n',
    replace: '    let [next, latest, most] = [-1, 0, Number.NEGATIVE_INFINITY]\n',
    test: {
      file: `${L}stores/sharded/shard-choice.test.ts`,
      name: 'after a denial none is asked where none has enough left, or can ever have',
    },
  },
  {
    name: 'a shard that has just denied is expected to admit',
    file: `${L}stores/sharded/row-levels.ts`,
    find: '    return isFresh && cost >= denied ? Math.min(room, cost - 1) : room\n',
    replace: '    return isFresh && cost < 0 * denied ? Math.min(room, cost - 1) : room\n',
    test: {
      file: `${L}stores/sharded/row-levels.test.ts`,
      name: 'a shard that has denied is expected to deny the same and more for a second, and to admit by the time that it names',
    },
  },
  {
    name: 'a denial of a shard is believed for longer than a second',
    file: `${L}stores/sharded/row-levels.ts`,
    find: 'const DENIAL_US = 1_000_000\n',
    replace: 'const DENIAL_US = 1_000_000_000_000\n',
    test: {
      file: `${L}stores/sharded/row-levels.test.ts`,
      name: 'a shard that has denied is expected to deny the same and more for a second, and to admit by the time that it names',
    },
  },
  {
    name: 'a denial of a shard is believed of smaller costs',
    file: `${L}stores/sharded/row-levels.ts`,
    find: '    return isFresh && cost >= denied ?',
    replace: '    return isFresh && cost >= 0 * denied ?',
    test: {
      file: `${L}stores/sharded/row-levels.test.ts`,
      name: 'a shard that has denied is expected to deny the same and more for a second, and to admit by the time that it names',
    },
  },
  {
    name: 'a denial names the time of the last shard that was asked',
    file: `${L}stores/sharded/shard-answers.ts`,
    find: '    if (isDenied) answer.setGoAt(limit, Math.min(answer.goAt(limit), earliest))\n',
    replace:
      '    if (isDenied) answer.setGoAt(limit, Math.min(answer.goAt(limit), Math.max(answer.goAt(limit), earliest)))\n',
    test: {
      file: `${L}stores/sharded/shard-answers.test.ts`,
      name: 'a denial names the earliest time of the shards that were asked',
    },
  },
  {
    name: 'what is left of a rule in shards is what one shard has',
    file: `${L}stores/sharded/shard-answers.ts`,
    find: '      left += Math.max(0, Math.floor(levels.level(other, j, now)))\n',
    replace: '      left += 0 * Math.max(0, Math.floor(levels.level(other, j, now)))\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards says what is left of all shards, and never more than the limit',
    },
  },
  {
    name: 'a dry run of a rule in shards says what one shard has',
    file: `${L}stores/sharded/shard-answers.ts`,
    find: 'shards.reduce((sum, shard) => sum + shard.remaining(j), 0)',
    replace: 'speaker.remaining(j)',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards looks at every shard in a dry run, and takes nothing',
    },
  },
  {
    name: 'a cost above the smallest shard is asked of any shard',
    file: `${L}stores/sharded/shard-choice.ts`,
    find: '    if (rule.isTooExpensive(cost)) return 0\n',
    replace: '',
    test: {
      file: `${L}stores/sharded/shard-choice.test.ts`,
      name: 'a shard is chosen without a draw where none can ever hold so much: the smallest says so',
    },
  },
  {
    name: 'other shards are asked for a cost above the smallest shard',
    file: `${L}stores/sharded/shard-choice.ts`,
    find: 'choice.rule.isTooExpensive(choice.cost) ? -1 : this.#next(choice, asked)',
    replace: 'this.#next(choice, asked)',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards never admits what only some shards hold, and says so to those who look',
    },
  },
  {
    name: 'a dry run of a cost above the smallest shard may pass',
    file: `${L}stores/sharded/shard-answers.ts`,
    find: '    if (cost > numbers.mostCost) answer.setStatus(limit, NEVER)\n',
    replace: '',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards never admits what only some shards hold, and says so to those who look',
    },
  },
  {
    name: 'shards convert a changed amount as if it had always been so',
    file: `${L}stores/sharded/sharded-rule.ts`,
    find: '      numbers.since = this.whole.limits[j]!.numbers.since\n',
    replace: '      numbers.since = 0 * this.whole.limits[j]!.numbers.since\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards converts from the time at which its numbers took effect, not from when it is next asked',
    },
  },
  {
    name: 'a reset leaves the shards as they are',
    file: `${L}stores/sharded/shard-changes.ts`,
    find: '    const families = [family, ...this.#rules.familiesOf(family)]\n',
    replace: '    const families = [family]\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards is one row: reset gives back all shards and counts as one',
    },
  },
  {
    name: 'a report of which a part was sent is said to be not sent',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: "isSplit ? 'unknown' : undone",
    replace: 'isSplit ? undone : undone',
    test: {
      file: `${T}shards/leases.test.ts`,
      name: 'what was told in parts is never said to be untold, because it would be told again',
    },
  },
  {
    name: 'reports of other shards are dropped',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: '    for (const [other, list] of reports) this.#report(other, list, ask)\n',
    replace: '',
    test: {
      file: `${T}shards/leases.test.ts`,
      name: 'reports go to the shards that they are of: with the want where they meet, else besides',
    },
  },
  {
    name: 'levels of any number of rows in shards are kept',
    file: `${L}stores/sharded/row-levels.ts`,
    find: '      if (this.#size <= this.#most) break\n',
    replace: '      if (this.#size > 0) break\n',
    test: {
      file: `${L}stores/sharded/level-book.test.ts`,
      name: 'the book of levels holds no more numbers than it may, however many rows are asked for',
    },
  },
  {
    name: 'a rule whose shards hold less than a lease is worth is leased',
    file: `${L}stores/leased/leased-rows.ts`,
    find: 'numbers.burst < LEAST_BURST * shards',
    replace: 'numbers.burst < LEAST_BURST',
    test: {
      file: `${L}stores/leased/leased-rows.test.ts`,
      name: 'tokens of 63/s in four shards can be leased: false, because a lease is of one shard',
    },
  },
  {
    name: 'a reset counts the shards of a row',
    file: `${L}stores/sharded/shard-changes.ts`,
    find: ' ? Math.min(1, own) : own\n',
    replace: ' ? own : own\n',
    test: {
      file: `${T}shards/one-rule.test.ts`,
      name: 'a rule in shards is reset as one row, which changes by one',
    },
  },
  {
    name: 'another shard is waited for without end',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: 'this.#timers.deadline(transaction.deadline,',
    replace: 'this.#timers.deadline(Number.POSITIVE_INFINITY,',
    test: {
      file: `${T}shards/one-deadline.test.ts`,
      name: 'what another shard answers too late is given back, and the denial is given in time',
    },
  },
  {
    name: 'what Redis takes too late from another shard is kept',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: 'transaction, choices, giveBack)',
    replace: 'transaction, choices)',
    test: {
      file: `${T}redis/shards.test.ts`,
      name: 'what a second shard takes too late is given back',
    },
  },
  {
    name: 'a large lease is always of the smallest shard',
    file: `${L}stores/sharded/sharded-store.ts`,
    find: 'this.#chooser.one(rule, value, 1, now)',
    replace: 'this.#chooser.one(rule, value, want, now)',
    test: {
      file: `${T}shards/leases.test.ts`,
      name: 'a want of more than any shard holds goes to all shards alike',
    },
  },
]
