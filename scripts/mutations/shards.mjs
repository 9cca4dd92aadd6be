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
    find: '        else if (answer !== null && transaction.idempotency === null)\n',
    replace: '        else if (answer !== null && transaction.idempotency !== null)\n',
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
]
