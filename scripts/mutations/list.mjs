// The breaks of `npm run test:mutations`: what each takes out, where the guard is stated, and the test that must fail.
// `isBuilt`: the test runs the built packages.

const L = 'packages/limiter/src/'
const LUA = 'packages/limiter/lua/'
const T = 'packages/limiter/test/'
const SIM = 'packages/simulation/test/'
const S = 'packages/server/src/'

export const MUTATIONS = [
  // Arithmetic of each algorithm.
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
  // All or nothing.
  {
    name: 'memory takes from limits that pass although another denies',
    file: `${L}stores/memory/consume.ts`,
    find: '  if (allowed && !transaction.dryRun) takeAll(transaction, out)\n',
    replace: '  if (!transaction.dryRun) takeAll(transaction, out)\n',
    test: {
      file: `${T}properties/several-limits.test.ts`,
      name: 'several limits at once take from all or from none, and the numbers on top are those of the right one',
    },
  },
  {
    name: 'Redis takes from limits that pass although another denies',
    file: `${LUA}plain.lua`,
    find: '  if allowed and not dry then\n',
    replace: '  if not dry then\n',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a dry run takes',
    file: `${LUA}wide.lua`,
    find: '    if other or dry then\n',
    replace: '    if other then\n',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a rule in shadow denies',
    file: `${L}stores/memory/consume.ts`,
    find: '      if (out[o + STATUS] !== YES && !rule.shadow) allowed = false\n',
    replace: '      if (out[o + STATUS] !== YES) allowed = false\n',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores the memory store shadow rules a shadow limit that would deny lets pass, and is not charged',
    },
  },
  {
    name: 'slots keep what they took for a request that another slot denied',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '  if (!allowed) giveBack(slots, answers)\n',
    replace: '',
    test: {
      file: `${T}redis/conformance.test.ts`,
      name: 'stores a cluster the Redis store over a cluster all or nothing a limit that denies keeps other rules from being taken from, whichever it is',
    },
  },
  {
    name: 'slots keep what they took for a request that failed elsewhere',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '  giveBack(slots, answers)\n  throw failed.reason\n',
    replace: '  throw failed.reason\n',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs what another row took before the breaker opened is given back',
    },
  },
  {
    name: 'slots that are asked one by one keep what they took for a request that failed elsewhere',
    file: `${L}stores/redis/cluster-decider.ts`,
    find: '    giveBack(slots, answers)\n    throw failure\n',
    replace: '    throw failure\n',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs what another row took near the limit is given back',
    },
  },
  {
    name: 'a bucket takes a cost above its burst',
    file: `${L}algorithms/bucket.ts`,
    find: 'limit, MOST_OVER)\n  }\n  if (cost > limit.mostCost) {\n',
    replace: 'limit, MOST_OVER)\n  }\n  if (cost > 2 * limit.mostCost) {\n',
    also: {
      find: '  out[o + RESET_AT] = t\n  if (cost > limit.mostCost) {\n',
      replace: '  out[o + RESET_AT] = t\n  if (cost > 2 * limit.mostCost) {\n',
    },
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket answers every request as an exact bucket does',
    },
  },
  {
    name: 'a dry run over memory takes',
    file: `${L}stores/memory/consume.ts`,
    find: '  if (allowed && !transaction.dryRun) takeAll(transaction, out)\n',
    replace: '  if (allowed) takeAll(transaction, out)\n',
    test: {
      file: `${T}properties/every-algorithm.test.ts`,
      name: 'token_bucket is changed by no dry run',
    },
  },
  {
    name: 'Redis decides by the clock of the caller',
    file: `${L}stores/redis/store-clock.ts`,
    find: '    return this.#testTime === null ? 0 : this.#testTime()\n',
    replace: '    return this.#testTime === null ? this.#asked : this.#testTime()\n',
    test: {
      file: `${T}redis/instances.test.ts`,
      name: 'an instance whose clock is wrong decides by the server’s and says how far it is off: an hour ahead',
    },
  },
  {
    name: 'numbers are written as Lua prints them',
    file: `${LUA}side-keys.lua`,
    find: "  local words, score = {}, format('%.0f', expiry)\n",
    replace: '  local words, score = {}, tostring(expiry)\n',
    test: {
      file: `${T}redis/rows.test.ts`,
      name: 'a row keeps numbers of more than 14 digits as they are',
    },
  },
  {
    name: 'a key that holds something else fails the whole call',
    file: `${LUA}plain.lua`,
    find: '    if not done then failOperation(code, at, n, two, first, problem) end\n',
    replace: '    if not done then error(problem) end\n',
    test: {
      file: `${T}redis/failure-modes.test.ts`,
      name: 'a key that holds something else fails whoever asks for it, and nobody who travels in the same call',
    },
  },
  {
    name: 'receipts from before a change of amount are honoured',
    file: `${L}algorithms/bucket-changes.ts`,
    find: 'row[at + AMOUNT] !== amount || limit.amount !== amount || since < 0',
    replace: 'since < 0',
    test: {
      file: `${T}properties/changes-of-amount.test.ts`,
      name: 'a change of amount and burst leaves receipts from before worth nothing',
    },
  },
  {
    name: 'memory does not note what receipts gave back',
    file: `${L}stores/memory/store.ts`,
    find: '    if (given > 0 && numbers.kind === BUCKET) table.noteRefund(column, given, now)\n',
    replace: '',
    test: {
      file: `${T}properties/refund.test.ts`,
      name: 'a refund by receipt gives nothing of what time has repaid sooner because another take was given back',
    },
  },
  {
    name: 'memory does not note what was granted',
    file: `${L}stores/memory/store.ts`,
    find: '    if (given > 0) table.noteRefund(column, amount, now)\n',
    replace: '',
    test: {
      file: `${T}properties/token-bucket.test.ts`,
      name: 'token_bucket gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'a reset in memory leaves receipts as they were',
    file: `${L}stores/memory/store.ts`,
    find: '    for (const column of family.columns.keys()) table.noteRefund(column, RESET, now)\n',
    replace: '',
    test: {
      file: `${T}properties/grants-and-resets.test.ts`,
      name: 'a reset makes everything available, and leaves older receipts worth nothing',
    },
  },
  {
    name: 'Redis does not note what receipts gave back',
    file: `${LUA}change.lua`,
    find: '    if limit.kind == BUCKET then w.sums[j] = w.sums[j] + given end\n',
    replace: '',
    test: {
      file: `${T}redis/same-as-memory.test.ts`,
      name: 'a limiter over Redis answers as one over memory does, whatever it is asked',
    },
  },
  {
    name: 'a leaky bucket takes back a take that is not its newest',
    file: `${L}algorithms/bucket-changes.ts`,
    find: '  if (limit.queues && (row[at + T] !== mark || row[at + F] !== markRest)) return 0\n',
    replace: '',
    test: {
      file: `${T}properties/leaky-bucket.test.ts`,
      name: 'leaky_bucket gives back, grants, resets and owes exactly',
    },
  },
  // Leases.
  {
    name: 'a bucket with leases is clipped at the next look only',
    file: `${L}algorithms/leases.ts`,
    find: '    notBefore(row, at, limit, (account[PERIOD]! + 1) * LEASE_PERIOD, leasedOut(account))\n',
    replace: '',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more through than the limit',
    },
  },
  {
    name: 'returns are clipped at the burst only',
    file: `${L}algorithms/leases.ts`,
    find: '  notBefore(row, at, limit, time, leasedOut(account))\n',
    replace: '',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more through than the limit',
    },
  },
  {
    name: 'a lease ends later than the window that it was taken from',
    file: `${L}algorithms/leases.ts`,
    find: '  if (kind === FIXED_WINDOW) return Math.min(end, endOf(limit, mark))\n',
    replace: '  if (kind === FIXED_WINDOW) return end\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more through than the limit',
    },
  },
  {
    name: 'a lease outlives the stamp that it left in a log',
    file: `${L}algorithms/leases.ts`,
    find: '  return Math.min(end, mark)\n',
    replace: '  return end\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more of a log through than the limit',
    },
  },
  {
    name: 'a log is stamped at the grant of a lease instead of its end',
    file: `${LUA}wide.lua`,
    find: '  if want > 0 then setLead(rule, true) end\n',
    replace: '',
    test: {
      file: `${SIM}same-as-redis.test.ts`,
      name: 'the counters of the simulator answer leases and decisions as Redis does',
    },
  },
  {
    name: 'more than a quarter of a burst is leased out',
    file: `${L}algorithms/leases.ts`,
    find: '  return Math.max(0, Math.min(want, Math.floor(left / 8), room))\n',
    replace: '  return Math.max(0, Math.min(want, left, room * 8))\n',
    test: {
      file: `${SIM}use-of-limits.test.ts`,
      name: 'of what a limit allows, leases use at least 99 in a hundred, and never more than all under 2000/s fixed',
    },
  },
  {
    name: 'receipts of rows with leases count what is leased out',
    file: `${L}algorithms/leases.ts`,
    find: '  span(out, limit)\n  verdict[o + MARK] = verdict[o + MARK]! - spanned[0]!\n',
    replace: '  span(0, limit)\n  verdict[o + MARK] = verdict[o + MARK]! - spanned[0]!\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst never let more through than the limit',
    },
  },
  {
    name: 'reports of another run of the server are heard',
    file: `${LUA}wide.lua`,
    find: 'birth ~= w.birth or from ~= runOfServer() then',
    replace: 'birth ~= w.birth then',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'a report changes nothing on a replica that has become the primary: it may not know of the lease',
    },
  },
  {
    name: 'reports of a row that was created anew are heard',
    file: `${LUA}wide.lua`,
    find: 'not w.found or birth ~= w.birth or from',
    replace: 'not w.found or from',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'a report changes nothing of a row that was made anew since',
    },
  },
  {
    name: 'a report whose fate is unknown is sent again',
    file: `${L}stores/leased/lease-calls.ts`,
    find: "        const kept = failure.undone === 'unknown' ? 0 : row.unreport(reports)\n",
    replace: '        const kept = row.unreport(reports)\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'a report is not sent again where nobody knows whether it was heard',
    },
  },
  {
    name: 'a holder goes by the steady clock alone',
    file: `${L}stores/leased/holding.ts`,
    find: '    return steady >= this.#steadyEnd || wall >= this.#wallEnd\n',
    replace: '    return steady >= this.#steadyEnd\n',
    test: {
      file: `${SIM}leases.test.ts`,
      name: 'instances with leases never let more through together than the limit, whatever happens to them',
    },
  },
  {
    name: 'a holder counts its lease from the answer instead of the question',
    file: `${L}stores/leased/lease-calls.ts`,
    find: '        row.granted(reply, want, { steady, wall }, this.#time.steady())\n',
    replace:
      '        row.granted(reply, want, { steady: this.#time.steady(), wall: this.#time.wall() }, this.#time.steady())\n',
    test: {
      file: `${SIM}leases.test.ts`,
      name: 'instances with leases never let more through together than the limit, whatever happens to them',
    },
  },
  {
    name: 'a holder keeps its leases when the rules change',
    file: `${L}stores/leased/leased-store.ts`,
    find: '    this.#calls.leave(this.#rows.removeChanged(rules))\n',
    replace: '',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'when rules change what is held of the old ones is given back at once',
    },
  },
  {
    name: 'a denial is remembered for smaller costs too',
    file: `${L}stores/leased/denial-memory.ts`,
    find: '    return cost >= this.#cost && steady < this.#until && wall < this.#untilWall\n',
    replace:
      '    return this.#cost < Number.POSITIVE_INFINITY && steady < this.#until && wall < this.#untilWall\n',
    test: {
      file: `${T}leases/denials.test.ts`,
      name: 'a denial holds for what costs as much or more',
    },
  },
  {
    name: 'a denial is remembered past the time that it names',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'this.denial.note(cost, seen, askedAt, Math.min(most, (goAt - seen.decidedAt) / 1000))',
    replace: 'this.denial.note(cost, seen, askedAt, most)',
    test: {
      file: `${T}leases/denials.test.ts`,
      name: 'a denial is never remembered past its retry with 0 leased out',
    },
  },
  {
    name: 'a denial is remembered although tokens were given back',
    file: `${L}stores/leased/leased-store.ts`,
    find: '    for (const operation of operations) this.#forgetDenials(operation)\n',
    replace: '',
    test: { file: `${T}leases/denials.test.ts`, name: 'a denial is forgotten by a reset' },
  },
  {
    name: 'tokens are taken for a lease before it is known which run of the server grants it',
    file: `${LUA}wide.lua`,
    find: '  local server = runOfServer()\n',
    replace: '  local server\n',
    also: { find: '    server, ends, leasedOut', replace: '    runOfServer(), ends, leasedOut' },
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'nothing is leased where the user may not call INFO, which says which run of the server grants',
    },
  },
  {
    name: 'a request that waits for a second lease is decided at the time of the first',
    file: `${L}stores/leased/leased-store.ts`,
    find: '    const clockDifferenceUs = this.#time.wall() - wall\n',
    replace: '    const clockDifferenceUs = this.#time.wall() - transaction.now\n',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is decided at the time at which a request has waited for the second lease',
    },
  },
  {
    name: 'a report of a lease that has ended is believed',
    file: `${L}algorithms/leases.ts`,
    find: '  if (from < 0 || n > lease[from]!) return false\n',
    replace: '  if (from < 0) from = OLDER\n',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'a report changes nothing once the lease has ended: it was spent',
    },
  },
  {
    name: 'what is to be given back can be spent until it is reported',
    file: `${L}stores/leased/holding.ts`,
    find: '    this.unspent -= back\n',
    replace: '',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'a report gives back what cannot be spent any more before it is sent',
    },
  },
  {
    name: 'several leases of a row are asked for at a time',
    file: `${L}stores/leased/leased-row.ts`,
    find: ' && !this.isCalling && !this.isPaused(steady)',
    replace: ' && !this.isPaused(steady)',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'a report goes with the next lease that is asked for',
    },
  },
  {
    name: 'what is held is not given back at the end',
    file: `${L}stores/leased/leased-store.ts`,
    find: '    this.#calls.leave(this.#rows.removeAll())\n',
    replace: '    this.#rows.removeAll()\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'when it is closed what is held is given back, and only then is the store closed',
    },
  },
  {
    name: 'a denial is remembered for long although leases may come back',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'isAlone ? DENIED_ALONE_MS : DENIED_MS',
    replace: 'DENIED_ALONE_MS',
    test: {
      file: `${T}leases/denials.test.ts`,
      name: 'a denial is remembered for 20 ms while leases are out that may come back',
    },
  },
  {
    name: 'a reset frees what is leased out of a window',
    file: `${LUA}change.lua`,
    find: '  if w.lease and limit.kind ~= BUCKET then atLeast(',
    replace: '  if w.lease and limit.kind == BUCKET then atLeast(',
    test: {
      file: `${T}redis/lease-reset.test.ts`,
      name: 'a limit of 2000/h fixed with leases out stays within its amount after a reset',
    },
  },
  {
    name: 'a request with an idempotency key is decided from a lease',
    file: `${L}stores/leased/leased-store.ts`,
    find: '    if (transaction.idempotency !== null && !transaction.dryRun)\n      return this.#inner.decide(transaction)\n    return this.#decide(',
    replace: '    return this.#decide(',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'what is not decided from leases is a request with a key for idempotency',
    },
  },
  // Shards.
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
  // Idempotency keys.
  {
    name: 'a denial is kept under an idempotency key',
    file: `${LUA}wide.lua`,
    find: "  if letters[said + 1] == '1' then\n",
    replace: "  if letters[said + 1] ~= 'b' then\n",
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
  // Without the store.
  {
    name: 'every instance gives the whole limit while the store is away',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '    const even = 1 / this.#instances.count\n',
    replace: '    const even = 1\n',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'several instances admit together what one limit would, away from Redis and on their way back',
    },
  },
  {
    name: 'what was used before the store went away is forgotten',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '      this.#memory.change(this.#usedBefore(rule, row, value, now), momentAt(now))\n',
    replace: '      this.#memory.change([], momentAt(now))\n',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'an instance that comes back tells Redis what it has used before it asks, whatever the algorithm',
    },
  },
  {
    name: 'what was used while the store was away is not told',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: '  #ask(transaction: Transaction): Promise<Answer> {\n    this.#reportLocalUse(transaction)\n',
    replace: '  #ask(transaction: Transaction): Promise<Answer> {\n',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'an instance that comes back tells Redis what it has used before it asks, whatever the algorithm',
    },
  },
  {
    name: 'what was used while the store was away is forgotten although the report of it failed',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: "      if (outcomes.every((outcome) => typeof outcome === 'number'))\n",
    replace: '      if (outcomes.length > 0)\n',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'what was used while the store was away is reported again after unknown',
    },
  },
  {
    name: 'what is used here is forgotten when its report is confirmed, though the request was not answered',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '    if (this.usesAnswered !== this.uses) return false\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'what was used while the store was away is counted on where the report was confirmed and the request was not answered',
    },
  },
  {
    name: 'a probe that was not sent is kept',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: '.finally(() => this.#nodes.release(names, transaction))',
    replace: '',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a probe of a node whose breaker is half-open is for the next request if the first was answered without that node',
    },
  },
  {
    name: 'what several instances used is added up instead of raised',
    file: `${LUA}change.lua`,
    find: '  return atLeast(row, at, limit, amount, now, beside)\n',
    replace: '  return charge(row, at, limit, amount, now, beside)\n',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'several instances admit together what one limit would, away from Redis and on their way back',
    },
  },
  {
    name: 'all rows come back to the store at once',
    file: `${L}stores/guarded/node-health.ts`,
    find: "    if (nodes.some((node) => node.delays(transaction, now))) return 'store_returning'\n",
    replace: '',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'an instance that comes back comes back row by row, and is let in by and by',
    },
  },
  {
    name: 'a change is made on healthy nodes though another node is not asked',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: '(!isRefused || isOfHold(operations[i]!))',
    replace: '(i >= 0 || isOfHold(operations[i]!))',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs a refund of rows there and elsewhere is not done, and can be repeated',
    },
  },
  {
    name: 'a breaker that is open asks',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: '    if (refusal !== null) return this.#local.decide(transaction, refusal)\n',
    replace: '',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs a decision with one row there is answered as a whole, and nothing is taken elsewhere',
    },
  },
  {
    name: 'a probe is given back by a request that is not the probe',
    file: `${L}stores/guarded/node-health.ts`,
    find: '    if (this.#probe !== asker) return\n',
    replace: '    if (this.#probe === null) return\n',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a probe of a node whose breaker is half-open stays the request that was admitted, though a change is refused or another request is answered meanwhile',
    },
  },
  {
    name: 'a replay in the fallback has a receipt of its own',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '    if (earlier !== undefined) return earlier.again()\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'a request that repeats its idempotency key while the store is away has the receipt of the first, which gives back once',
    },
  },
  {
    name: 'a dry run is a probe',
    file: `${L}stores/guarded/node-health.ts`,
    find: "    if (transaction.dryRun && nodes.some(({ breaker }) => breaker.state !== 'closed'))\n",
    replace:
      "    if (transaction.dryRun && nodes.some(({ breaker }) => breaker.state === 'open'))\n",
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a probe of a node whose breaker is half-open is neither a dry run nor a lease',
    },
  },
  {
    name: 'a lease is a probe',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: "    if (names.some((name) => !this.#nodes.isClosed(name))) return 'breaker_open'\n",
    replace: '',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a probe of a node whose breaker is half-open is neither a dry run nor a lease',
    },
  },
  {
    name: 'a probe is sent while a heartbeat is unanswered',
    file: `${L}stores/guarded/node-health.ts`,
    find: '    if (this.beatsOut > 0 || !this.breaker.admits()) return false\n',
    replace: '    if (!this.breaker.admits()) return false\n',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a probe of a node whose breaker is half-open is not sent while a heartbeat of that node is unanswered',
    },
  },
  {
    name: 'a reset leaves what was counted here',
    file: `${L}stores/guarded/guarded-store.ts`,
    find: "      if (operation.kind === 'reset' && there !== 'not_done')\n",
    replace: "      if (operation.kind === 'reset' && there === 'not_done')\n",
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'what was used while the store was away is gone after a reset that the store has done',
    },
  },
  {
    name: 'instances share evenly whatever their part of the traffic was',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '    return Math.min(1, (0.8 * seenRow.own) / seenRow.all + 0.2 * even)\n',
    replace: '    return even\n',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: "an instance's part is mostly its part of the traffic, and a little an even one",
    },
  },
  {
    name: 'one node that is away opens the breaker of all',
    file: `${L}stores/guarded/node-health.ts`,
    find: '    const nodes = names.map((name) => this.#of(name))\n',
    replace: '    const nodes = names.length === 0 ? [] : [...this.#nodes.values()]\n',
    test: {
      file: `${T}redis/node-breakers.test.ts`,
      name: 'while one node of a cluster hangs keys of the others are answered by the store, and those of the dead one by failure mode',
    },
  },
  {
    name: 'a closed rule lets through what another rule of the request answers',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: '    return isShut ? answer : this.#decideHere(answer, now)\n',
    replace: '    return this.#decideHere(answer, now)\n',
    test: {
      file: `${T}redis/failure-modes.test.ts`,
      name: 'without Redis a closed rule refuses for the others too, and they are charged nothing',
    },
  },
  {
    name: 'what a reset took the answer of is sent again',
    file: `${L}stores/redis/script-calls.ts`,
    find: "  /isn't writeable",
    replace: "  /Connection is closed|Reached the max retries|isn't writeable",
    also: {
      find: "return this.#attemptAgain('EVALSHA', true, PAUSE_MS)",
      replace: "return this.#attemptAgain('EVALSHA', false, PAUSE_MS)",
    },
    test: {
      file: `${T}redis/faults/sent-once.test.ts`,
      name: 'over ioredis what a reset took the answer of is not sent again',
    },
  },
  {
    name: 'several requests are probes at a time',
    file: `${L}stores/guarded/breaker.ts`,
    find: '    if (this.#now() < this.#probingUntil) return false\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/breaker.test.ts`,
      name: 'the breaker lets one probe through after a second, and closes after two that succeed',
    },
  },
  {
    name: 'fractions of parts are rounded down',
    file: `${L}stores/guarded/scaled-rules.ts`,
    find: ' + (lot < n - Math.floor(n) ? 1 : 0)',
    replace: '',
    test: {
      file: `${T}redis/away-and-back.test.ts`,
      name: 'several instances share evenly what nobody has seen, also where there is less than one for each',
    },
  },
  {
    name: 'deadlines are looked at before sockets after a stalled turn',
    file: `${L}stores/deadlines.ts`,
    find: '    const look = () => setImmediate(() => this.#look())\n',
    replace: '    const look = () => this.#look()\n',
    test: {
      file: `${L}stores/deadlines.test.ts`,
      name: 'deadlines do not call an answer late that has arrived while this process stood still',
    },
  },
  // Decisions: memory, files, receipts, the feed.
  {
    name: 'a row with a hold is evicted',
    file: `${L}stores/memory/table/rows.ts`,
    find: ' && !this.#holds(segment, row)',
    replace: '',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys keeps a row that holds something',
    },
  },
  {
    name: 'a refund of which a part was done counts as done',
    file: `${L}stores/operation.ts`,
    find: "changed.every((one) => one === 'not_done') ? 'not_done' : 'unknown', amounts }",
    replace: "changed.includes('unknown') ? 'unknown' : null, amounts }",
    isBuilt: true,
    test: {
      file: 'packages/server/test/faults/receipts.test.ts',
      name: 'over a cluster a refund of which a part was done is not said to be not done',
    },
  },
  {
    name: 'changes leave out rows that were written before their rule had a bucket',
    file: `${L}stores/memory/export/write.ts`,
    find: '      const isWritten = isUnexported || ',
    replace: '      const isWritten = ',
    test: {
      file: `${T}memory/changes.test.ts`,
      name: 'changes exported after a whole state have a row that was written before its rule had its first bucket',
    },
  },
  {
    name: 'a key that had to go comes back unused',
    file: `${L}stores/memory/table/rows.ts`,
    find: '      this.sketch.fold(x, y, segment.numbers, victim + 1)\n',
    replace: '',
    test: {
      file: `${T}memory/flooding.test.ts`,
      name: 'a flood of keys never admits a key more often than an unbounded store does, whatever else is asked',
    },
  },
  {
    name: 'a receipt that was changed is believed',
    file: `${S}receipts/seal.ts`,
    find: '    return different === 0 ? text : null\n',
    replace: '    return different >= 0 ? text : null\n',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'a seal opens what it closed, and nothing that differs in a character',
    },
  },
  {
    name: 'a change of the feed follows any other',
    file: `${S}feed/follower.ts`,
    find: '      if (!isNext || digestOf(change.previous, change.edits) !== change.digest) return false\n',
    replace: '',
    test: {
      file: 'packages/server/test/feed/follower.test.ts',
      name: 'a follower is not misled by changes that are lost, doubled or out of order',
    },
  },
]
