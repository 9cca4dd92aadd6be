// The simulator itself: without each of these its tests would prove less than they say.
import { L, SIM, SIMSRC } from './folders.mjs'

export const simulator = [
  {
    name: 'the judge of buckets forgives debts',
    file: `${SIMSRC}ledger.ts`,
    find: '    if (debt - burst > Math.max(over, 1e-6)) [over, when] = [debt - burst, at]\n',
    replace: '    if (debt - burst > Math.max(over, 1e9)) [over, when] = [debt - burst, at]\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds returns that are only clipped at the burst, with nothing known of what is out',
    },
  },
  {
    name: 'holders never wait for the end of a period',
    file: `${SIMSRC}adversary.ts`,
    find: '    const soon = [0, 0, 0, 0, 1, 1000, 20_000, 100_000, toBoundary - 1, toBoundary]\n',
    replace: '    const soon = [0, 0, 0, 0, 1, 1000, Math.min(1000, toBoundary)]\n',
    also: { find: '[...soon, isLong ? 3e6 : 1e6]', replace: '[...soon, isLong ? 2e3 : 1e3]' },
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds refill that is clipped only at the next look, across an expiry',
    },
  },
  {
    name: 'the judge of logs sees no excess',
    file: `${SIMSRC}ledger.ts`,
    find: '    while (spends[first]!.at <= at - window) sum -= spends[first++]!.cost\n    sum += cost\n',
    replace:
      '    while (spends[first]!.at <= at - window) sum -= spends[first++]!.cost\n    sum = Math.min(amount, sum + cost)\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds a log that is stamped when a lease is granted',
    },
  },
  {
    name: 'holders undo nothing',
    file: `${SIMSRC}adversary.ts`,
    find: '      undo(receipt)\n',
    replace: '      ledger.undone(rule!, VALUE, receipt.spend)\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds receipts that know nothing of what others gave back',
    },
  },
  {
    name: 'holders undo only what is gone',
    file: `${SIMSRC}adversary.ts`,
    find: '    if (answer.allowed) receipts.push({ spend: ledger.spent(rule!, VALUE, cost), answer })\n',
    replace: '    if (answer.allowed) ledger.spent(rule!, VALUE, cost)\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds receipts in which what is leased out counts',
    },
  },
  {
    name: 'reports are never heard twice',
    file: `${SIMSRC}adversary.ts`,
    find: '    if (malice.doubled === true) counters.lease({ ...call, want: 0 }, time())\n',
    replace: '',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds reports that are heard twice',
    },
  },
  {
    name: 'the server never runs anew',
    file: `${SIMSRC}adversary.ts`,
    find: '    if (malice.forgets === true && random.chance(0.02)) counters.run++\n',
    replace: '',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds reports of leases that another run of the server granted',
    },
  },
  {
    name: 'holders stop in time',
    file: `${SIMSRC}adversary.ts`,
    find: ' && world.now < ends + (malice.lateUs ?? 0)',
    replace: ' && world.now < ends',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds holders that spend a little after the end',
    },
  },
  {
    name: 'the clock of the server never steps back',
    file: `${SIMSRC}adversary.ts`,
    find: '    if (meter.canStep && random.chance(0.03)) {\n',
    replace: '    if (meter.canStep && random.chance(0)) {\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds leases that are forgotten when the row is started anew',
    },
  },
  {
    name: 'the clock of the server steps back a little only',
    file: `${SIMSRC}adversary.ts`,
    find: 'random.whole(0, random.chance(0.3) ? LONG_STEP_US : 200_000)',
    replace: 'random.whole(0, 200_000)',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'the search finds receipts that are honoured after the clock has stepped back and the row was started anew',
    },
  },
  {
    name: 'holders drop the leases of a window when the clock steps back',
    file: `${SIMSRC}adversary.ts`,
    find: '      if (canOutliveWindow && malice.outlivesWindows !== true) held = []\n',
    replace: '      if (canOutliveWindow) held = []\n',
    test: {
      file: `${SIM}adversary.test.ts`,
      name: 'leases of holders that do their worst let at most a quarter more through where a step back ends the window of a lease early',
    },
  },
  {
    name: 'instances are never paused',
    file: `${SIMSRC}instance.ts`,
    find: '    if (world.now >= this.#pausedUntil) run()\n',
    replace: '    if (world.now >= this.#pausedUntil * 0) run()\n',
    test: {
      file: `${SIM}leases.test.ts`,
      name: 'the simulator sees an instance that goes on spending after its lease has ended',
    },
  },
  {
    name: 'machines are never suspended',
    file: `${SIMSRC}instance.ts`,
    find: '    if (isSuspended) this.#stood += us\n',
    replace: '    if (isSuspended) this.#stood += 0 * us\n',
    test: {
      file: `${SIM}leases.test.ts`,
      name: 'the simulator sees one that looks at no clock but the one that stands still while the machine is suspended',
    },
  },
  {
    name: 'calls never arrive twice',
    file: `${SIMSRC}server.ts`,
    find: '    const times = random.chance(weather.doubled) ? 2 : 1\n',
    replace: '    const times = random.chance(weather.doubled) ? 1 : 1\n',
    test: { file: `${SIM}leases.test.ts`, name: 'the simulator sees calls that arrive twice' },
  },
  {
    name: 'each shard has the whole burst',
    file: `${L}limits/split.ts`,
    find: '  return { ...limit, amount: part(limit.amount), burst: part(limit.burst) }\n',
    replace:
      '  return { ...limit, amount: part(limit.amount), burst: Math.max(part(limit.burst), limit.burst) }\n',
    test: {
      file: `${SIM}leases.test.ts`,
      name: 'instances with leases never let more through together than the limit, whatever happens to them',
    },
  },
  {
    name: 'holders ask for half a second ahead',
    file: `${L}stores/leased/leased-row.ts`,
    find: 'const AHEAD_MS = 50\n',
    replace: 'const AHEAD_MS = 450\n',
    test: {
      file: `${SIM}use-of-limits.test.ts`,
      name: 'of what a limit allows, leases use at least 99 in a hundred, and never more than all under 2000/s fixed',
    },
  },
  {
    name: 'holders give nothing back',
    file: `${L}stores/leased/leased-store.ts`,
    find: '      const back = row.excess(steady)\n',
    replace: '      const back = 0 * row.excess(steady)\n',
    test: {
      file: `${SIM}use-of-limits.test.ts`,
      name: 'of what a limit allows, leases use at least 99 in a hundred, and never more than all under 2000/s',
    },
  },
]
