// Leases and who holds them.
import { L, LUA, SIM, T } from './folders.mjs'

export const leases = [
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
  {
    name: 'more is reported than is out',
    file: `${L}algorithms/leases.ts`,
    find: ' || n > lease[from]!',
    replace: '',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases does not believe a report of more than is out of that period',
    },
  },
  {
    name: 'tokens of one window are given back to another',
    file: `${L}algorithms/leases.ts`,
    find: '    if (row[at]! <= grantedAt) refundFixedWindow(',
    replace: '    refundFixedWindow(',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases gives tokens of a fixed window back only to the window that they were taken from',
    },
  },
  {
    name: 'tokens of one window of a sliding counter are given back to another',
    file: `${L}algorithms/leases.ts`,
    find: '    if (start <= grantedAt) refundSlidingCounter(',
    replace: '    refundSlidingCounter(',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases gives tokens of a sliding counter back only to the window that they were taken from',
    },
  },
  {
    name: 'a retry takes no account of leases that are out',
    file: `${L}algorithms/leases.ts`,
    find: '    if (cost <= limit.burst - out && (out === 0 || go < end)) return go\n',
    replace: '    return go\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'the account of leases names a retry at which the bucket admits, and before which it does not, also while leases are out',
    },
  },
  {
    name: 'buckets that space requests are leased',
    file: `${L}stores/leased/leased-rows.ts`,
    find: "  if (limit.algorithm === 'gcra' || limit.algorithm === 'leaky_bucket') return false\n",
    replace: '',
    test: {
      file: `${L}stores/leased/leased-rows.test.ts`,
      name: 'tokens of 100/s smooth 50 can be leased: false',
    },
  },
  {
    name: 'a holder believes all of its lease',
    file: `${L}stores/leased/holding.ts`,
    find: 'const BELIEVED = 0.995\nconst SLACK_MS = 2\n',
    replace: 'const BELIEVED = 1\nconst SLACK_MS = 0\n',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is spent no longer when either clock says that the lease has ended',
    },
  },
]
