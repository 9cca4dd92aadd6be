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
  {
    name: 'an idempotency key depends on the rules',
    file: `${L}request-transaction.ts`,
    find: '  const [scope, value] = subject[0] ?? [NOBODY, NOBODY]\n',
    replace:
      '  const [scope, value] = subject.find(([name]) => name === rules[0]?.scope) ?? [NOBODY, NOBODY]\n',
    test: {
      file: `${T}limiter/idempotency-key.test.ts`,
      name: 'an idempotency key depends on the request alone, not on the rules that apply',
    },
  },
  {
    name: 'an idempotency key is that of other subjects too',
    file: `${L}request-transaction.ts`,
    find: '  const [scope, value] = subject[0] ?? [NOBODY, NOBODY]\n',
    replace: '  const [scope, value] = [NOBODY, NOBODY]\n',
    test: {
      file: `${T}limiter/idempotency-key.test.ts`,
      name: 'an idempotency key refuses another request under the same key, and is nobody else’s',
    },
  },
  {
    name: 'an idempotency key depends on the order of the subject’s fields',
    file: `${L}request-transaction.ts`,
    find: '  subject.sort(([a], [b]) => (a < b ? -1 : 1))\n',
    replace: '',
    test: {
      file: `${T}limiter/idempotency-key.test.ts`,
      name: 'an idempotency key is of the same request in whichever order its subject is written',
    },
  },
  {
    name: 'memory replays an answer for ever',
    file: `${L}stores/memory/idempotency-book.ts`,
    find: ' || kept.until <= now) return undefined',
    replace: ') return undefined',
    test: {
      file: `${T}properties/idempotency.test.ts`,
      name: 'an idempotency key brings the first allowed answer again for 5 minutes, and counts it once',
    },
  },
  {
    name: 'memory replays an answer of a time ahead',
    file: `${L}stores/memory/idempotency-book.ts`,
    find: '    if (kept.until > now + REPLAYABLE_US + GRACE_US) return undefined\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store time going back an answer under an idempotency key is not replayed for a day',
    },
  },
  {
    name: 'memory keeps any number of idempotency keys',
    file: `${L}stores/memory/idempotency-book.ts`,
    find: ' && this.#answers.size <= this.#most) break',
    replace: ') break',
    test: {
      file: `${T}limiter/idempotency-key.test.ts`,
      name: 'an idempotency key is remembered within bounds',
    },
  },
  {
    name: 'memory replays an answer for less than 5 minutes',
    file: `${L}stores/memory/idempotency-book.ts`,
    find: 'until: now + REPLAYABLE_US }',
    replace: 'until: now + REPLAYABLE_US - 10_000_000 }',
    test: {
      file: `${T}properties/idempotency.test.ts`,
      name: 'an idempotency key brings the first allowed answer again for 5 minutes, and counts it once',
    },
  },
  {
    name: 'a dry run is replayed',
    file: `${L}stores/memory/store.ts`,
    find: 'idempotency === null || transaction.dryRun) return',
    replace: 'idempotency === null) return',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store idempotency keys a dry run is neither stored nor replayed',
    },
  },
  {
    name: 'Redis replays an answer as long as its key lives',
    file: `${LUA}records.lua`,
    find: '  return ends > now and ends',
    replace: '  return ends',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis idempotency keys a key is remembered for 5 minutes, to the millisecond',
    },
  },
  {
    name: 'Redis replays an answer of a time ahead',
    file: `${LUA}records.lua`,
    find: ' and ends <= now + REPLAYABLE_US + GRACE_US and',
    replace: ' and',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back an answer under an idempotency key is not replayed for a day',
    },
  },
  {
    name: 'a replayed answer is not marked as one',
    file: `${L}stores/memory/store.ts`,
    find: 'return known.again()',
    replace: 'return known',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store what is used an answer that is given again says what was used then',
    },
  },
  {
    name: 'a denied request gives up the claim of another',
    file: `${LUA}change.lua`,
    find: "    if mine then call('DEL', name) end\n",
    replace: "    call('DEL', name)\n",
    test: {
      file: `${T}redis/claims.test.ts`,
      name: 'whoever is denied gives up no claim but its own',
    },
  },
  {
    name: 'a key that another request has claimed is decided',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '      if (letter === LETTER_IN_PROGRESS) throw new IdempotencyInProgress()\n',
    replace: '',
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots takes nothing where the key is claimed by another request, or was used for one',
    },
  },
  {
    name: 'over several slots a key that was used for another request is decided',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '      if (letter === LETTER_CONFLICT) throw new IdempotencyConflict()\n',
    replace: '',
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots takes nothing where the key is claimed by another request, or was used for one',
    },
  },
  {
    name: 'a claim lives as long as a record',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: "askRecord(CLAIM, 2 * deadlineMs, '')",
    replace: "askRecord(CLAIM, REPLAYABLE_US / 1000, '')",
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots claims the key for two deadlines, and confirms it for five minutes',
    },
  },
  {
    name: 'what was taken is given back although its record may have been kept',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: "      if (notConfirmedBy(failure) === 'unknown') records.noteOwn(key, answer)\n      else {",
    replace: '      {',
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots keeps what it took where the record may have been kept, and replays that',
    },
  },
  {
    name: 'what was taken is kept although its record was not',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: "        giveBack(answer)\n        askRecord(UNCLAIM, 0, '').catch(() => {})\n",
    replace: "        askRecord(UNCLAIM, 0, '').catch(() => {})\n",
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots gives back what it took and gives up its claim where the record was certainly not kept',
    },
  },
  {
    name: 'a claim is kept although its record was not',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: "        giveBack(answer)\n        askRecord(UNCLAIM, 0, '').catch(() => {})\n",
    replace: '        giveBack(answer)\n',
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots gives back what it took and gives up its claim where the record was certainly not kept',
    },
  },
  {
    name: 'a replay over Redis has a receipt of its own',
    file: `${L}stores/redis/records.ts`,
    find: '    if (own?.decidedAt === record.readDoubleLE(BODY_AT)) return own.again()\n',
    replace: '',
    test: {
      file: `${L}stores/redis/claimed-keys.test.ts`,
      name: 'a decision under an idempotency key over several slots keeps what it took where the record may have been kept, and replays that',
    },
  },
  {
    name: 'an instance replays its own answer instead of the one that is recorded',
    file: `${L}stores/redis/records.ts`,
    find: '    if (own?.decidedAt === record.readDoubleLE(BODY_AT)) return own.again()\n',
    replace: '    if (own !== undefined) return own.again()\n',
    test: {
      file: `${T}redis/calls.test.ts`,
      name: 'an answer that is replayed is that of the record, also where this instance gave another one before',
    },
  },
  {
    name: 'the answer of another instance can be given back twice',
    file: `${L}stores/redis/records.ts`,
    find: 'isForeign: true }',
    replace: 'isForeign: false }',
    test: {
      file: `${T}redis/calls.test.ts`,
      name: 'an answer that is replayed has no receipt where another instance gave it',
    },
  },
]
