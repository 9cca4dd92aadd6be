// Concurrency: holds, their ends, and until when a holder believes.
import { L, LUA, T } from './folders.mjs'

export const holds = [
  {
    name: 'one more is held than the limit',
    file: `${L}algorithms/concurrency.ts`,
    find: '  } else if (used + cost <= limit.amount) {\n',
    replace: '  } else if (used + cost <= limit.amount + 1) {\n',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'a hold of several places is told to come back when the first of them is free',
    file: `${L}algorithms/concurrency.ts`,
    find: 'holds.nthExpiry(used + cost - limit.amount, now)',
    replace: 'holds.nthExpiry(1, now)',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'holds that have ended are kept',
    file: `${L}algorithms/concurrency.ts`,
    find: '    holds.dropExpired(now)\n',
    replace: '',
    test: {
      file: `${T}redis/holds.test.ts`,
      name: 'holds in Redis that have ended are dropped by the next one',
    },
  },
  {
    name: 'a hold in memory counts until it is dropped',
    file: `${L}stores/memory/side/hold-book.ts`,
    find: '    if (this.#earliest > now) return this.#total\n    let count = 0\n',
    replace: '    if (this.#earliest > 0) return this.#total\n    let count = 0\n',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'a release in memory frees the holds of others',
    file: `${L}stores/memory/store.ts`,
    find: '      holds.remove(holdId)\n',
    replace: '      holds.removeAll()\n',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'a release in Redis frees the holds of others',
    file: `${LUA}change.lua`,
    find: '      beside:remove(id)\n',
    replace: '      beside:removeAll()\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis what is used a hold that is renewed above a lowered limit passes, and all that is held is used',
    },
  },
  {
    name: 'the release of a hold that has ended says that it was held',
    file: `${L}stores/memory/store.ts`,
    find: '      if (holds.expiryOf(holdId) > now) released++\n',
    replace: '      if (holds.expiryOf(holdId) > 0) released++\n',
    test: {
      file: `${T}limiter/hold.test.ts`,
      name: 'a hold that has ended is not released, also before anyone else holds',
    },
  },
  {
    name: 'a cost of several places takes one in Redis',
    file: `${LUA}side-keys.lua`,
    find: '  for k = 1, cost do words',
    replace: '  for k = 1, 1 do words',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back 5 concurrent for 10s: what is used stays used',
    },
  },
  {
    name: 'a renewal in Redis renews one place of several',
    file: `${LUA}side-keys.lua`,
    find: '    k = k + 1\n  end\n  if k > 1 then',
    replace: '    k = k + 1\n    break\n  end\n  if k > 1 then',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis holds a cost holds as many places, and releases them together',
    },
  },
  {
    name: 'a release in Redis frees one place of several',
    file: `${LUA}side-keys.lua`,
    find: "  while call('ZREM', self.key, id .. '/' .. k) == 1 do k = k + 1 end\n",
    replace: "  if call('ZREM', self.key, id .. '/' .. k) == 1 then k = k + 1 end\n",
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis holds a cost holds as many places, and releases them together',
    },
  },
  {
    name: 'holds that are renewed go with their key',
    file: `${LUA}change.lua`,
    find: "      if expiry > 0 then call('PEXPIRE'",
    replace: "      if expiry < 0 then call('PEXPIRE'",
    test: {
      file: `${T}redis/holds.test.ts`,
      name: 'holds in Redis that are renewed keep their key',
    },
  },
  {
    name: 'a renewal in Redis by a clock that stepped back shortens a hold',
    file: `${LUA}side-keys.lua`,
    find: "call('ZADD', self.key, 'GT', unpack(words))",
    replace: "call('ZADD', self.key, unpack(words))",
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a renewal in memory by a clock that stepped back shortens a hold',
    file: `${L}stores/memory/side/hold-book.ts`,
    find: ' || held.expiry >= expiry) return',
    replace: ') return',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'a holder believes until the end of its hold',
    file: `${L}hold.ts`,
    find: '    return 0.995 * ',
    replace: '    return 1 * ',
    test: {
      file: `${L}hold.test.ts`,
      name: 'a hold whose renewals have unknown outcomes is lost before its time-out, counted from when it was asked for',
    },
  },
  {
    name: 'a holder counts a renewal from its answer',
    file: `${L}hold.ts`,
    find: 'expiry > 0) this.heldUntil = askedAt + this.lifeMs',
    replace: 'expiry > 0) this.heldUntil = performance.now() + this.lifeMs',
    test: { file: `${L}hold.test.ts`, name: 'a hold lives on from when its renewal was asked for' },
  },
  {
    name: 'a holder counts its hold from the answer',
    file: `${L}limiter.ts`,
    find: '    const hold = new HoldRecord(decision, keeper, askedAt)\n',
    replace: '    const hold = new HoldRecord(decision, keeper, performance.now() + 0 * askedAt)\n',
    test: {
      file: `${L}hold.test.ts`,
      name: 'a hold whose renewals have unknown outcomes is lost before its time-out, counted from when it was asked for',
    },
  },
  {
    name: 'a hold is renewed so late that one renewal may fail',
    file: `${L}hold.ts`,
    find: '0.3 * this.lifeMs',
    replace: '0.5 * this.lifeMs',
    test: { file: `${L}hold.test.ts`, name: 'a hold lives on from when its renewal was asked for' },
  },
  {
    name: 'a hold that the store does not know any more is not lost',
    file: `${L}hold.ts`,
    find: '    if (expiry === 0 || performance.now()',
    replace: '    if (performance.now()',
    test: {
      file: `${L}hold.test.ts`,
      name: 'a hold is lost as soon as the store says that it has ended',
    },
  },
  {
    name: 'a hold that could not be renewed is not lost',
    file: `${L}hold.ts`,
    find: '    if (expiry === 0 || performance.now() >= this.heldUntil) this.end()\n',
    replace: '    if (expiry === 0) this.end()\n',
    also: {
      find: '    if (performance.now() >= this.heldUntil) this.end()\n',
      replace: '    if (this.ticket === null) this.end()\n',
    },
    test: {
      file: `${L}hold.test.ts`,
      name: 'a hold whose renewals have unknown outcomes is lost before its time-out, counted from when it was asked for',
    },
  },
  {
    name: 'a hold whose renewal is not answered is not lost',
    file: `${L}hold.ts`,
    find: '    this.awaitEnd()\n    const expiry',
    replace: '    const expiry',
    test: { file: `${L}hold.test.ts`, name: 'a hold lives on from when its renewal was asked for' },
  },
  {
    name: 'a renewal in memory under several limits says the latest end',
    file: `${L}stores/memory/store.ts`,
    find: 'Math.min(...expiries)',
    replace: 'Math.max(...expiries)',
    test: {
      file: `${T}limiter/hold.test.ts`,
      name: 'a hold under several limits is renewed until the first of them ends it',
    },
  },
  {
    name: 'a renewal in Redis under several limits says the latest end',
    file: `${LUA}change.lua`,
    find: 'if not first or expiry < first then',
    replace: 'if not first or expiry > first then',
    test: {
      file: `${T}redis/holds.test.ts`,
      name: 'holds in Redis under several limits are renewed until the first of them ends one',
    },
  },
]
