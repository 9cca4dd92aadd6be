// The arithmetic of each algorithm.
import { L, LUA, SIM, T } from './folders.mjs'

export const arithmetic = [
  {
    name: 'a bucket names a retry that is a microsecond early',
    file: `${L}algorithms/bucket.ts`,
    find: '  if (newF > limit.burstRest) goAt = goAt + 1\n',
    replace: '',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a bucket is clipped to its burst when the clock steps back',
    file: `${L}algorithms/bucket.ts`,
    find: '  else decideParts(t, f, limit, cost, now, out, o)\n',
    replace:
      '  else decideParts(Math.min(t, now + limit.burstWhole), f, limit, cost, now, out, o)\n',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a changed amount is converted as if it had changed now',
    file: `${L}algorithms/bucket.ts`,
    find: '  const x = Math.min(now, Math.max(limit.since, row[at + LAST]!))\n',
    replace: '  const x = now\n',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst neither refills nor empties a bucket, by new rules',
    },
  },
  {
    name: 'a changed amount is converted at the change, though the row was written later',
    file: `${L}algorithms/bucket.ts`,
    find: '  const x = Math.min(now, Math.max(limit.since, row[at + LAST]!))\n',
    replace: '  const x = Math.min(now, limit.since)\n',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst never admits above the largest burst and the largest rate',
    },
  },
  {
    name: 'a refund is clipped at the burst only',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  const given = tokens(t, f, limit, n)\n',
    replace: '  const given = Math.min(n, tokens(row[at + T]! - time, row[at + F]!, limit, n))\n',
    test: {
      file: `${T}properties/refund.test.ts`,
      name: 'a refund by receipt gives nothing once time has repaid the take and others have taken all',
    },
  },
  {
    name: 'receipts do not count what others gave back',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  span(since, limit)\n  let t = mark - time',
    replace: '  span(0, limit)\n  let t = mark - time',
    test: {
      file: `${T}properties/refund.test.ts`,
      name: 'a refund by receipt gives nothing of what time has repaid sooner because another take was given back',
    },
  },
  {
    name: 'a window starts anew when the clock steps back',
    file: `${L}algorithms/fixed-window.ts`,
    find: '  if (row[at + START]! >= start) {\n',
    replace: '  if (row[at + START]! === start) {\n',
    test: {
      file: `${T}properties/fixed-window.test.ts`,
      name: 'fixed_window admits at most the limit in each aligned window',
    },
  },
  {
    name: 'a window takes back what another window took',
    file: `${L}algorithms/fixed-window.ts`,
    find: 'if (row[at + START] !== mark || endOf(limit, mark) <= now) return 0',
    replace: 'if (endOf(limit, mark) < 0 || now < 0) return 0',
    test: {
      file: `${T}properties/refund.test.ts`,
      name: 'a refund by receipt leaves fixed_window its bound for what was taken and not given back',
    },
  },
  {
    name: 'a log goes by a clock that has stepped back',
    file: `${L}algorithms/sliding-log.ts`,
    find: '  const time = Math.max(now, row[at + SEEN]!)\n  measure(limit, entries, time)\n  const used',
    replace: '  const time = now\n  measure(limit, entries, time)\n  const used',
    test: {
      file: `${T}properties/sliding-log.test.ts`,
      name: 'sliding_window_log answers every request as a plain list does',
    },
  },
  {
    name: 'a long log merges entries into cells that have passed',
    file: `${L}algorithms/sliding-log.ts`,
    find: '  return Math.ceil(time / limit.cell) * limit.cell\n',
    replace: '  return Math.floor(time / limit.cell) * limit.cell\n',
    test: {
      file: `${T}properties/sliding-log.test.ts`,
      name: 'sliding_window_log admits at most the limit in every window, wherever it starts: a log in cells',
    },
  },
  {
    name: 'two counters round the weight of the window before down',
    file: `${L}algorithms/sliding-counter.ts`,
    find: '(limit.ticks - x) + limit.ticks - 1) / limit.ticks)',
    replace: '(limit.ticks - x)) / limit.ticks)',
    test: {
      file: `${T}properties/sliding-counter.test.ts`,
      name: 'sliding_window_counter answers every request as two weighted counts do',
    },
  },
  {
    name: 'a hold that has expired can be renewed',
    file: `${L}algorithms/concurrency.ts`,
    find: '  if (holds.expiryOf(id) <= now) return 0\n',
    replace: '  if (holds.expiryOf(id) === 0) return 0\n',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'a hold that is taken again takes a second place',
    file: `${L}algorithms/concurrency.ts`,
    find: '  if (holds.expiryOf(id) > now) {\n',
    replace: '  if (now < 0) {\n',
    test: {
      file: `${T}properties/concurrency.test.ts`,
      name: 'concurrency answers, renews and releases as a list of holds does',
    },
  },
  {
    name: 'receipts from before the clock stepped back are honoured',
    file: `${LUA}side-keys.lua`,
    find: '    restart(w.row, limit.at, limit, now, sides[j])\n    w.sums[j] = w.sums[j] + RESET\n',
    replace: '    restart(w.row, limit.at, limit, now, sides[j])\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores one server the Redis store over ioredis time going back 5 per 10s: receipts from before and from then give nothing, also when that time comes',
    },
  },
  {
    name: 'leases are forgotten when the clock steps back',
    file: `${LUA}side-keys.lua`,
    find: '  if w.lease then carryLeases(w.lease, now) end\n',
    replace: '  if w.lease then clearLeases(w.lease, now) end\n',
    test: {
      file: `${SIM}same-as-redis.test.ts`,
      name: 'the counters of the simulator answer leases and decisions as Redis does',
    },
  },
  {
    name: 'a changed amount is converted at a time that is yet to come',
    file: `${L}algorithms/bucket.ts`,
    find: '  const x = Math.min(now, Math.max(limit.since, row[at + LAST]!))\n',
    replace: '  const x = Math.max(limit.since, row[at + LAST]!)\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a bucket whose amount changes is converted now where the new numbers take effect later',
    },
  },
  {
    name: 'a receipt of a bucket that was begun anew is honoured',
    file: `${L}algorithms/bucket-changes.ts`,
    find: 'limit.amount !== amount || since < 0) return 0\n',
    replace: 'limit.amount !== amount) return 0\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a receipt of a bucket gives nothing where less was given back to the row than before the take: it was begun anew',
    },
  },
  {
    name: 'tokens are multiplied beyond 2^53',
    file: `${L}algorithms/limit-numbers.ts`,
    find: '  if (product < 9_007_199_254_740_992) {\n',
    replace: '  if (product >= 0) {\n',
    test: {
      file: `${L}algorithms/token-time.test.ts`,
      name: 'n tokens are there at exactly n tokens’ time, and n - 1 the smallest part of a microsecond before',
    },
  },
  {
    name: 'whole tokens of a time are rounded up by the division of doubles',
    file: `${L}algorithms/token-time.ts`,
    find: '  while (n > 0 && (spanned[0]! > t || (spanned[0] === t && spanned[1]! > f))) {\n    n = n - 1\n    span(n, limit)\n  }\n',
    replace: '',
    test: {
      file: `${L}algorithms/token-time.test.ts`,
      name: 'n tokens are there at exactly n tokens’ time, and n - 1 the smallest part of a microsecond before',
    },
  },
  {
    name: 'whole tokens of a time are rounded down by the division of doubles',
    file: `${L}algorithms/token-time.ts`,
    find: '  while (spanned[0]! < t || (spanned[0] === t && spanned[1]! <= f)) {\n    n = n + 1\n    span(n + 1, limit)\n  }\n',
    replace: '',
    test: {
      file: `${L}algorithms/token-time.test.ts`,
      name: 'n tokens are there at exactly n tokens’ time, and n - 1 the smallest part of a microsecond before',
    },
  },
  {
    name: 'a bucket whose tokens have fractions fills above its burst while it is not used',
    file: `${L}algorithms/bucket.ts`,
    find: '  else if (t < now) decideParts(now, 0, limit, cost, now, out, o)\n',
    replace: '  else if (t === 0) decideParts(now, 0, limit, cost, now, out, o)\n',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a bucket whose tokens have none fills above its burst while it is not used',
    file: `${L}algorithms/bucket.ts`,
    find: '  const next = Math.max(t, now) + cost * limit.whole\n',
    replace: '  const next = (t > 0 ? t : now) + cost * limit.whole\n',
    also: {
      find: 'decideWhole(Math.max(t, now), limit',
      replace: 'decideWhole(t > 0 ? t : now, limit',
    },
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a bucket admits a fraction of a microsecond early',
    file: `${L}algorithms/bucket.ts`,
    find: '(newT === topT && newF <= limit.burstRest)',
    replace: 'newT === topT',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a bucket does not admit at the very time that it names',
    file: `${L}algorithms/bucket.ts`,
    find: '  if (newT < topT || (newT === topT && newF <= limit.burstRest)) {\n',
    replace: '  if (newT < topT) {\n',
    test: {
      file: `${T}properties/every-algorithm.test.ts`,
      name: 'token_bucket denies until exactly the promised time, then admits',
    },
  },
  {
    name: 'the time of a retry is rounded down to milliseconds',
    file: `${L}decision-record.ts`,
    find: '  return Math.ceil(us / 1000)\n',
    replace: '  return Math.floor(us / 1000)\n',
    test: {
      file: `${T}properties/every-algorithm.test.ts`,
      name: 'token_bucket denies until exactly the promised time, then admits',
    },
  },
  {
    name: 'a leaky bucket whose tokens have fractions does not delay',
    file: `${L}algorithms/bucket.ts`,
    find: '    if (limit.queues) out[o + GO_AT] = base\n',
    replace: '',
    test: {
      file: `${T}properties/leaky-bucket.test.ts`,
      name: 'leaky_bucket delays and refuses every request as an exact queue does',
    },
  },
  {
    name: 'a leaky bucket whose tokens have none does not delay',
    file: `${L}algorithms/bucket.ts`,
    find: '  if (limit.queues) out[o + GO_AT] = t\n',
    replace: '',
    test: {
      file: `${T}properties/leaky-bucket.test.ts`,
      name: 'leaky_bucket delays and refuses every request as an exact queue does',
    },
  },
  {
    name: 'a bucket says that it is full a microsecond early',
    file: `${L}algorithms/bucket.ts`,
    find: '  if (f > 0) base = t + 1\n',
    replace: '',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a bucket that was taken from says that it is full a microsecond early',
    file: `${L}algorithms/bucket.ts`,
    find: '  if (out[o + MARK_REST]! > 0) resetAt = resetAt + 1\n',
    replace: '',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
]
