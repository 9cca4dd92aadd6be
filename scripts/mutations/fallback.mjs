// While the store is away: breakers, fair parts, what is told on the return.
import { L, LUA, T } from './folders.mjs'

export const fallback = [
  {
    name: 'instances that are gone are counted',
    file: `${LUA}change.lua`,
    find: "  call('ZREMRANGEBYSCORE', name, '-inf', format('%.0f', now - COUNTED_FOR))\n",
    replace: '',
    test: {
      file: `${T}redis/calls.test.ts`,
      name: 'the count of instances has neither those that are gone nor those of a time ahead',
    },
  },
  {
    name: 'instances of a time ahead are counted',
    file: `${LUA}change.lua`,
    find: "  call('ZREMRANGEBYSCORE', name, format('(%.0f', now + GRACE_US), '+inf')\n",
    replace: '',
    test: {
      file: `${T}redis/calls.test.ts`,
      name: 'the count of instances has neither those that are gone nor those of a time ahead',
    },
  },
  {
    name: 'the count of instances is kept for ever',
    file: `${LUA}change.lua`,
    find: "  call('PEXPIRE', name, INSTANCES_LIVE_MS)\n",
    replace: '',
    test: {
      file: `${T}redis/calls.test.ts`,
      name: 'the count of instances is kept under one key that goes by itself',
    },
  },
  {
    name: 'an instance that was never counted takes the whole limit',
    file: `${L}stores/guarded/heartbeat.ts`,
    find: 'this.#seen[0]?.count ?? this.#configured',
    replace: 'this.#seen[0]?.count ?? 1 + 0 * this.#configured',
    test: {
      file: `${L}stores/guarded/heartbeat.test.ts`,
      name: 'there are as many instances as were counted at most within the last minute',
    },
  },
  {
    name: 'all that was used before counts against an instance’s part',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: 'Math.ceil(used * row.part)',
    replace: 'Math.ceil(used)',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'one of several instances starts with its part of what was used before',
    },
  },
  {
    name: 'what time has refilled since counts as used',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '      if (numbers.kind === BUCKET)\n        used -= ((now - seenRow.seenAt) / numbers.window) * numbers.amount\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'a row that was above its limit is counted on here from a full one',
    },
  },
  {
    name: 'what a window that is over has used counts',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '      if (resetAt <= now) continue\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'one of several instances starts with nothing of a window that is over',
    },
  },
  {
    name: 'what was used of a part is told as of the whole',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: ' - answer.remaining(j)) / part)',
    replace: ' - answer.remaining(j)) / Math.max(1, part))',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'several instances admit together what one limit would, away from Redis and on their way back',
    },
  },
  {
    name: 'more is told than the limit holds',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '      const amount = Math.min(limit.numbers.burst, used)\n',
    replace: '      const amount = used\n',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'one of several instances tells of no more than the limit holds, though its part was rounded up',
    },
  },
  {
    name: 'what was used here is told with each request',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: ' || row.usesSent === row.uses) return null',
    replace: ') return null',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'one of several instances tells what it has used once, while that is not answered',
    },
  },
  {
    name: 'what was used here is not told again after an unknown outcome',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '      else if (row.usesSent === uses) row.usesSent = row.usesConfirmed\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'what was used while the store was away is reported again after unknown',
    },
  },
  {
    name: 'what was told counts in the next outage too',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: "    this.#memory.change([{ kind: 'reset', family: rule.family, value }], momentAt(answeredAt))\n",
    replace: '',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'what was used while the store was away is counted from nothing in the next outage once the store has confirmed it',
    },
  },
  {
    name: 'what was taken here is given back to the store',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: "    if (kind === 'refund' && operation.take.isLocal) return",
    replace: "    if (kind === 'refund' && kind !== operation.kind) return",
    test: {
      file: `${T}redis/failure-modes.test.ts`,
      name: 'without Redis local takes are given back, held, renewed and released where they were taken',
    },
  },
  {
    name: 'what was taken of a part is given back as of the whole',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '    const take = { ...operation.take, takenUnder: limit.numbers.amount }\n',
    replace: '    const { take } = operation\n',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'one of several instances gives back what it took of its part of a bucket',
    },
  },
  {
    name: 'a grant to the store is one to what is counted here',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: "    if (kind !== 'refund') return null\n    const rule",
    replace: "    if (kind !== 'refund' && kind !== 'grant') return null\n    const rule",
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'one of several instances is granted nothing: that is for the store',
    },
  },
  {
    name: 'a release does not free what is held here',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: '        return combined(there, this.#local.changeOne(operation, moment))\n',
    replace: '        return there\n',
    test: {
      file: `${T}redis/failure-modes.test.ts`,
      name: 'without Redis local takes are given back, held, renewed and released where they were taken',
    },
  },
  {
    name: 'what is held here is renewed in the store',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: '    return operation.isLocal || expiry !== 0 ? expiry : null\n',
    replace: '    return operation.isLocal && expiry < 0 ? expiry : null\n',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a hold that was taken while the store was away is renewed here, and the store is not asked',
    },
  },
  {
    name: 'a dry run begins a row here',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '      dryRun ? this.#peekRow(rules[i]!, values[i]!) : this.#useRow',
    replace: '      dryRun && now < 0 ? this.#peekRow(rules[i]!, values[i]!) : this.#useRow',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'a dry run counts on from what was last seen, and keeps nothing of it',
    },
  },
  {
    name: 'a dry run charges what was last seen',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: "      seen.map((charge) => ({ ...charge, kind: 'grant' })),\n",
    replace: "      seen.slice(0, 0).map((charge) => ({ ...charge, kind: 'grant' })),\n",
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'a dry run counts on from what was last seen, and keeps nothing of it',
    },
  },
  {
    name: 'rows do not come back at random',
    file: `${L}stores/guarded/node-health.ts`,
    find: '    return rules.some((rule, i) => delayOf(rowKey(rule, values[i]!)) > ms)\n',
    replace: '    return rules.some((rule, i) => delayOf(rowKey(rule, values[i]!)) < 0)\n',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'an instance that comes back comes back row by row, and is let in by and by',
    },
  },
  {
    name: 'a node that is back is asked by 16 calls at a time for a second',
    file: `${L}stores/guarded/node-health.ts`,
    find: 'FIRST_CALLS * 2 ** Math.floor(ms / SPREAD_MS)',
    replace: 'FIRST_CALLS',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a node that is back is asked by 16 calls at a time at first, and by twice as many every 100 ms',
    },
  },
  {
    name: 'the first look at a row counts as traffic of others',
    file: `${L}stores/last-seen-rows.ts`,
    find: '    if (before >= 0 && taken >= before) {\n',
    replace: '    {\n',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'a row that was above its limit is counted on here from a full one',
    },
  },
  {
    name: 'what others take is not seen',
    file: `${L}stores/last-seen-rows.ts`,
    find: 'Math.max(cost, taken - before)',
    replace: 'cost',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: "an instance's part is mostly its part of the traffic, and a little an even one",
    },
  },
  {
    name: 'traffic of long ago counts as that of now',
    file: `${L}stores/last-seen-rows.ts`,
    find: '    if (numbers[row + ALL]! > HALVED_AT) {\n',
    replace: '    if (numbers[row + ALL]! < 0) {\n',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'traffic of long ago counts for less than that of now',
    },
  },
  {
    name: 'a breaker opens at the first failure',
    file: `${L}stores/guarded/breaker.ts`,
    find: ' && this.#failures >= FAILURES) this',
    replace: ' && this.#failures >= 1) this',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker opens after five failures in a row, and not after five with a success between',
    },
  },
  {
    name: 'a breaker closes after one success',
    file: `${L}stores/guarded/breaker.ts`,
    find: '    if (this.#successes < SUCCESSES) return\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker lets one probe through after a second, and closes after two that succeed',
    },
  },
  {
    name: 'a breaker that is open waits no longer after a failed probe',
    file: `${L}stores/guarded/breaker.ts`,
    find: '      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker waits twice as long after each failed probe, up to half a minute, and from the start once it has closed',
    },
  },
  {
    name: 'a breaker waits longer and longer',
    file: `${L}stores/guarded/breaker.ts`,
    find: 'Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)',
    replace: '2 * this.#pauseMs',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker waits twice as long after each failed probe, up to half a minute, and from the start once it has closed',
    },
  },
  {
    name: 'a breaker opens after failures with successes between',
    file: `${L}stores/guarded/breaker.ts`,
    find: '    this.#failures = 0\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker opens after five failures in a row, and not after five with a success between',
    },
  },
  {
    name: 'a breaker waits for ever for a probe',
    file: `${L}stores/guarded/breaker.ts`,
    find: '    this.#probingUntil = this.#now() + LONGEST_PROBE_MS\n',
    replace: '    this.#probingUntil = Number.POSITIVE_INFINITY\n',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker tries another probe if nothing is heard of the first',
    },
  },
  {
    name: 'breakers of all instances probe at the same time',
    file: `${L}stores/guarded/breaker.ts`,
    find: ' * (1 - JITTER * this.#random())',
    replace: '',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker pauses up to a fifth less, so that instances do not probe together',
    },
  },
  {
    name: 'a breaker does not probe at a sign of life',
    file: `${L}stores/guarded/breaker.ts`,
    find: "    if (this.#state === 'open') this.#openUntil = Math.min(this.#openUntil, this.#now())\n",
    replace: '',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker probes at once when there is a sign of life, and still closes after two successes',
    },
  },
]
