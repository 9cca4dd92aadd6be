// Holders of leases: what they ask for, spend, give back and remember.
import { L, T } from './folders.mjs'

export const holders = [
  {
    name: 'a later lease is spent first',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    for (let i = 0; i < held.length; i++) {\n      const holding = held[i]!\n      if (holding.unspent < cost',
    replace:
      '    for (let i = held.length - 1; i >= 0; i--) {\n      const holding = held[i]!\n      if (holding.unspent < cost',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is spent of the lease that ends first, though a later one is there',
    },
  },
  {
    name: 'a lease that has ended is spent',
    file: `${L}stores/leased/leased-row.ts`,
    find: ' || holding.isOver(steady, wall)) continue',
    replace: ') continue',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is spent no longer when either clock says that the lease has ended',
    },
  },
  {
    name: 'what is held does not count as left',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'Math.min(Math.max(0, left) + held, burst)',
    replace: 'left',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a dry run takes nothing, and adds what is held',
    },
  },
  {
    name: 'a row that is rarely asked for is leased',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    if (rate * AHEAD_MS < LEAST_WANTED) return 0\n',
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is not leased while 50 ms of what is asked for are less than four',
    },
  },
  {
    name: 'more is asked for only once nothing is left',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    this.#low = this.want(steady) / 2\n',
    replace: '    this.#low = 1\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'of a row that is asked for 4 times in 20 ms, so that 20 are wanted ahead more are asked for once less than half is left',
    },
  },
  {
    name: 'more is asked for while more than half is left',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    this.#low = this.want(steady) / 2\n',
    replace: '    this.#low = this.want(steady)\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'of a row that is asked for 4 times in 20 ms, so that 20 are wanted ahead more are asked for once less than half is left',
    },
  },
  {
    name: 'more is asked for ahead at once where less was granted',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    if (reply.granted < wanted) this.#notAheadBefore = steady + PAUSE_MS\n',
    replace: '',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'of a row that is asked for 4 times in 20 ms, so that 20 are wanted ahead nothing is asked for ahead for 20 ms where less was granted',
    },
  },
  {
    name: 'a lease is asked for at once after a call that failed',
    file: `${L}stores/leased/leased-row.ts`,
    find: '  pause(steady: number): void {\n    this.#notAheadBefore = steady + PAUSE_MS\n',
    replace: '  pause(_steady: number): void {\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'a report is sent again where certainly nobody has heard it, and what it gave back can be spent',
    },
  },
  {
    name: 'what is held beyond twice of what is wanted is kept',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    return this.unspent > 2 * kept ? this.unspent - Math.ceil(kept) : 0\n',
    replace: '    return kept < 0 ? this.unspent : 0\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'of a row that is asked for 4 times in 20 ms, so that 20 are wanted ahead what is held beyond twice that is given back',
    },
  },
  {
    name: 'what is held beyond what is wanted is given back at once',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'this.unspent > 2 * kept ?',
    replace: 'this.unspent > kept ?',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'of a row that is asked for 4 times in 20 ms, so that 20 are wanted ahead what is held beyond twice that is given back',
    },
  },
  {
    name: 'what nobody asks for is kept',
    file: `${L}stores/leased/leased-row.ts`,
    find: '    if (isRare || this.#rate.idleMs(steady) >= idleMs) return this.unspent\n',
    replace: '    if (isRare && this.#rate.idleMs(steady) < 0 * idleMs) return this.unspent\n',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'a report says what was spent and gives back what is not needed',
    },
  },
  {
    name: 'who waits for a lease is not served when it comes',
    file: `${L}stores/leased/lease-calls.ts`,
    find: '      queueMicrotask(() => this.#serve(row))\n',
    replace: '',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'a lease on its way is the only one of its row; who finds nothing waits for it, is served in turn, or asks for himself',
    },
  },
  {
    name: 'a denial is remembered until its retry while nothing is leased',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'const DENIED_ALONE_MS = 1000\n',
    replace: 'const DENIED_ALONE_MS = 1_000_000\n',
    test: {
      file: `${T}leases/denials.test.ts`,
      name: 'a denial is remembered for a second while none is out',
    },
  },
  {
    name: 'a denial of one shard is remembered for a second',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'this.#out === 0 && this.rule.family.shards === 1',
    replace: 'this.#out === 0',
    test: {
      file: `${T}leases/denials.test.ts`,
      name: 'a denial of a rule in shards is remembered for 20 ms, because others may have leases',
    },
  },
  {
    name: 'a denial is remembered longer than it may be',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'Math.min(mostMs, isAlone ? DENIED_ALONE_MS : DENIED_MS)',
    replace: '(isAlone ? DENIED_ALONE_MS : Math.min(DENIED_MS, mostMs * 0 + DENIED_MS))',
    test: {
      file: `${T}leases/denials.test.ts`,
      name: 'a denial is remembered no longer than it may with 0 leased out',
    },
  },
  {
    name: 'what is granted after rules have changed is kept',
    file: `${L}stores/leased/lease-calls.ts`,
    find: '      if (row.isLeft) this.leave([row])\n',
    replace: '',
    test: {
      file: `${T}leases/reports.test.ts`,
      name: 'when rules change what is granted later is given back too',
    },
  },
  {
    name: 'holds are leased',
    file: `${L}stores/leased/leased-rows.ts`,
    find: "limit.algorithm === 'concurrency' || ",
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'what is not decided from leases is a rule of 100 concurrent for 60s',
    },
  },
  {
    name: 'limits with a small burst are leased',
    file: `${L}stores/leased/leased-rows.ts`,
    find: ' || numbers.burst < LEAST_BURST * shards',
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'what is not decided from leases is a rule of 15/s',
    },
  },
  {
    name: 'short logs are leased',
    file: `${L}stores/leased/leased-rows.ts`,
    find: '  return numbers.kind !== SLIDING_LOG || numbers.window >= SHORTEST_LOG_US\n',
    replace: '  return numbers.kind !== SLIDING_LOG || numbers.window >= 0 * SHORTEST_LOG_US\n',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'what is not decided from leases is a rule of 1000 per 9s exact',
    },
  },
  {
    name: 'any number of rows is leased',
    file: `${L}stores/leased/leased-rows.ts`,
    find: ' || this.#size >= MOST_ROWS',
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a flood of 200,000 subjects that are each asked for often has leases of a bounded number of rows, which are let go after',
    },
  },
  {
    name: 'a denied request keeps the tokens that it took from a lease',
    file: `${L}stores/leased/leased-store.ts`,
    find: '      else putBack(transaction, shares)\n      writeShares',
    replace: '      writeShares',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'of a request under a leased and a strict rule a no of the strict one leaves the lease as it was',
    },
  },
  {
    name: 'a dry run spends a lease',
    file: `${L}stores/leased/leased-store.ts`,
    find: '    if (dryRun) putBack(transaction, shares)\n',
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a dry run takes nothing, and adds what is held',
    },
  },
  {
    name: 'leases that end at other times are one',
    file: `${L}stores/leased/holding.ts`,
    find: ' || lease.endsAt !== mine.endsAt) return false',
    replace: ') return false',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is spent of the lease that ends first, though a later one is there',
    },
  },
  {
    name: 'leases of a row that was created anew are one with those before',
    file: `${L}stores/leased/holding.ts`,
    find: '    if (lease.period !== mine.period || lease.birth !== mine.birth || lease.run !== mine.run)\n      return false\n',
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is spent of leases that are reported apart where the store knows them apart, though they end together',
    },
  },
  {
    name: 'leases of different windows are one',
    file: `${L}stores/leased/holding.ts`,
    find: '    if (!this.#hasMarksOf(answer)) return false\n',
    replace: '',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often is spent of leases that are reported apart where the store knows them apart, though they end together',
    },
  },
  {
    name: 'receipts of leased tokens are all as of the grant',
    file: `${L}stores/leased/leased-row.ts`,
    find: '        moveMark(answer, limit, numbers, spent)\n',
    replace: '        moveMark(answer, limit, numbers, 0 * spent)\n',
    test: {
      file: `${T}leases/leased-store.test.ts`,
      name: 'a row that is asked for often has a receipt for each take, later by what was spent of the lease',
    },
  },
]
