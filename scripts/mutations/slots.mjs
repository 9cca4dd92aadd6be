// Requests over several slots, and what is sent again.
import { L, T } from './folders.mjs'

export const slots = [
  {
    name: 'slots are asked at once near the limit',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '  const answers = isNearLimit\n',
    replace: '  const answers = isNearLimit && partsToAsk.length < 0\n',
    test: {
      file: `${L}stores/redis/cluster-decider.test.ts`,
      name: 'of two requests for the last token of two slots one passes',
    },
  },
  {
    name: 'slots are asked in the order of the rules',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '    return parts.sort((a, b) => a.slot - b.slot)\n',
    replace: '    return parts\n',
    test: {
      file: `${L}stores/redis/cluster-decider.test.ts`,
      name: 'a request over several slots is asked one by one near the limit, in the order of the slots, however its rules are ordered',
    },
  },
  {
    name: 'slots after the one that denies are taken from',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '      answers.push(await slots.askPart(isDenied ? withParts(part, { dryRun: true }) : part))\n',
    replace: '      answers.push(await slots.askPart(isDenied ? withParts(part, {}) : part))\n',
    test: {
      file: `${L}stores/redis/cluster-decider.test.ts`,
      name: 'a request over several slots only looks at the slots after the one that denies, and leaves all as they were',
    },
  },
  {
    name: 'a part of a request that comes too late is kept',
    file: `${L}stores/redis/redis-store.ts`,
    find: 'withParts(transaction, { late })',
    replace: 'withParts(transaction, {})',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs what a row takes too late, when its node goes on, is given back',
    },
  },
  {
    name: 'a denied request shows what a slot has left after a take that is given back',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '    if (!allowed) showUntaken(part, rules, whole)\n',
    replace: '',
    test: {
      file: `${L}stores/redis/cluster-decider.test.ts`,
      name: 'a request over several slots shows what a slot has left without the take that is given back',
    },
  },
  {
    name: 'what timed out is sent again',
    file: `${L}stores/redis/script-calls.ts`,
    find: "    this.#fail(late, failure, 'late')\n",
    replace:
      "    if (late.length > 0) { const { keys, args } = argumentsOf(late, this.#parts.clock.scriptTime, this.#parts.clock.packed); void this.#parts.port.run('EVALSHA', SHA, keys, args).catch(() => {}) }\n    this.#fail(late, failure, 'late')\n",
    test: {
      file: `${L}stores/redis/script-calls.test.ts`,
      name: 'a call is sent once where it is not answered by its deadline',
    },
  },
  {
    name: 'a script that Redis does not have is not sent',
    file: `${L}stores/redis/script-calls.ts`,
    find: "    if (command === 'EVALSHA' && message.startsWith('NOSCRIPT')) return this.attempt('EVAL', isLast)\n",
    replace: '',
    test: {
      file: `${L}stores/redis/script-calls.test.ts`,
      name: 'a call is sent after "NOSCRIPT No matching script." 2 times, and its outcome is unknown',
    },
  },
  {
    name: 'what a replica or a starting server refuses is not sent again',
    file: `${L}stores/redis/script-calls.ts`,
    find: '      const mayPass = PASSING.test(message) || NOT_SENT.test(message)\n',
    replace: '      const mayPass = NOT_SENT.test(message) || (isLast && PASSING.test(message))\n',
    test: {
      file: `${L}stores/redis/script-calls.test.ts`,
      name: 'a call is sent after "READONLY You can’t write against a read only replica." 2 times, and its outcome is not_done',
    },
  },
  {
    name: 'what a server refuses for good is sent again',
    file: `${L}stores/redis/script-calls.ts`,
    find: 'PASSING.test(message) || NOT_SENT.test(message)',
    replace: 'PASSING.test(message) || failure.undone !== null',
    test: {
      file: `${L}stores/redis/script-calls.test.ts`,
      name: 'a call is sent after "MISCONF Redis is configured to save RDB snapshots." 1 times, and its outcome is not_done',
    },
  },
  {
    name: 'what a closed connection may have carried is sent again',
    file: `${L}stores/redis/script-calls.ts`,
    find: "refused || NOT_SENT.test(message) ? 'not_done' : 'unknown'",
    replace:
      "refused || NOT_SENT.test(message) || /closed|RESET/.test(message) ? 'not_done' : 'unknown'",
    test: {
      file: `${L}stores/redis/script-calls.test.ts`,
      name: 'a call is sent after "Connection is closed." 1 times, and its outcome is unknown',
    },
  },
  {
    name: 'a denial of a row in a cluster is remembered for a second',
    file: `${L}redis.ts`,
    find: 'port.isCluster ? 2 * deadlineMs : Number.POSITIVE_INFINITY',
    replace: 'Number.POSITIVE_INFINITY',
    test: {
      file: `${T}redis/leases.test.ts`,
      name: 'a denial of a row in a cluster is remembered for two deadlines, because slots may give back',
    },
  },
  {
    name: 'what has no time left is sent',
    file: `${L}stores/redis/operation-queue.ts`,
    find: 'operations.filter((operation) => operation.deadline > now)',
    replace: '[...operations]',
    test: {
      file: `${L}stores/redis/operation-queue.test.ts`,
      name: 'an operation that has no time left when its turn ends is not sent, and certainly not done',
    },
  },
]
