// Idempotency keys, in one slot and over several.
import { L, LUA, T } from './folders.mjs'

export const idempotency = [
  {
    name: 'a denial is kept under an idempotency key',
    file: `${LUA}wide.lua`,
    find: "  if letters[letterCount + 1] == '1' then\n",
    replace: "  if letters[letterCount + 1] ~= 'b' then\n",
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis idempotency keys denials are not stored',
    },
  },
  {
    name: 'two requests claim one idempotency key',
    file: `${LUA}change.lua`,
    find: '  if known and not mine then return letterOf(known, fingerprint) end\n',
    replace:
      '  if code == CONFIRM and known and not mine then return letterOf(known, fingerprint) end\n',
    test: {
      file: `${T}redis/claims.test.ts`,
      name: 'of several instances that send the same key at once one is charged, and none twice',
    },
  },
  {
    name: 'an idempotency key answers another request',
    file: `${LUA}records.lua`,
    find: "  if sub(known, RECORD_TEXT_AT, RECORD_TEXT_AT - 1 + #fingerprint) ~= fingerprint then return 'c' end\n",
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis idempotency keys another request under the same key is a conflict, and takes nothing',
    },
  },
  {
    name: 'a record is confirmed although the claim was lost',
    file: `${LUA}change.lua`,
    find: '  if known and not mine then return letterOf(known, fingerprint) end\n',
    replace:
      '  if code == CLAIM and known and not mine then return letterOf(known, fingerprint) end\n',
    test: {
      file: `${T}redis/claims.test.ts`,
      name: 'whoever finds another record when it confirms answers by that, and gives back what it took',
    },
  },
  {
    name: 'a take over several slots is kept although another record was confirmed',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '      if (!isOurs) giveBack(answer)\n',
    replace: '',
    test: {
      file: `${T}redis/claims.test.ts`,
      name: 'whoever finds another record when it confirms answers by that, and gives back what it took',
    },
  },
  {
    name: 'a record is asked for together with its row while their slot is on the move',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: ' && !isMoving(slot))',
    replace: ')',
    test: {
      file: `${T}redis/faults/cluster-faults.test.ts`,
      name: 'a client of ioredis asks for somebody new under an idempotency key while his slot is on the move',
    },
  },
  {
    name: 'what may have been done is sent again because its slot is on the move',
    file: `${L}stores/redis/script-calls.ts`,
    find: "  return undone === 'not_done' && ",
    replace: '  return undone !== null && ',
    test: {
      file: `${L}stores/redis/script-calls.test.ts`,
      name: 'a slot is on the move, and nothing was done, after "Too many Cluster redirections. Last error: Error: Connection is closed.", unknown: false',
    },
  },
  {
    name: 'memory keeps a denial under an idempotency key',
    file: `${L}stores/memory/store.ts`,
    find: '    if (answer.allowed) this.#idempotency.add(',
    replace: '    this.#idempotency.add(',
    test: {
      file: `${T}properties/idempotency.test.ts`,
      name: 'an idempotency key brings the first allowed answer again for 5 minutes, and counts it once',
    },
  },
  {
    name: 'an idempotency key in memory answers another request',
    file: `${L}stores/memory/idempotency-book.ts`,
    find: '    if (kept.fingerprint !== asked.fingerprint) throw new IdempotencyConflict()\n',
    replace: '',
    test: {
      file: `${T}limiter/idempotency-key.test.ts`,
      name: 'an idempotency key refuses another request under the same key, and is nobody else’s',
    },
  },
  {
    name: 'a denied request keeps its claim',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: "      if (answer?.allowed !== true) askRecord(UNCLAIM, 0, '').catch(() => {})\n",
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores a cluster the Redis store over a cluster idempotency keys several rules and scopes are counted once',
    },
  },
]
