// While the store is away, and when it is back.
import { L, LUA, T } from './folders.mjs'

export const away = [
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
  {
    name: 'instances are as many as were counted last',
    file: `${L}stores/guarded/heartbeat.ts`,
    find: 'each.at > at - REMEMBERED_MS && each.count > count',
    replace: 'each.count < 0',
    test: {
      file: `${L}stores/guarded/heartbeat.test.ts`,
      name: 'there are as many instances as were counted at most within the last minute',
    },
  },
  {
    name: 'a node that is back is asked by all calls at once',
    file: `${L}stores/guarded/node-health.ts`,
    find: '    if (this.callsInFlight >= FIRST_CALLS * 2 ** Math.floor(ms / SPREAD_MS)) return true\n',
    replace: '',
    test: {
      file: `${L}stores/guarded/guarded-store.test.ts`,
      name: 'a node that is back is asked by 16 calls at a time at first, and by twice as many every 100 ms',
    },
  },
  {
    name: 'instances count each other by the namespace that they came to know first',
    file: `${L}stores/redis/redis-store.ts`,
    find: 'known.map((rules) => rules.namespace).sort()',
    replace: 'known.map((rules) => rules.namespace)',
    test: {
      file: `${T}redis/instances.test.ts`,
      name: 'instances that know several namespaces count each other in whatever order they came to know them',
    },
  },
  {
    name: 'a row that is counted here anew takes the place of another',
    file: `${L}stores/guarded/local-fallback.ts`,
    find: 'known === undefined && this.#rows.size >= MOST_ROWS',
    replace: 'this.#rows.size >= MOST_ROWS',
    test: {
      file: `${L}stores/guarded/local-fallback.test.ts`,
      name: 'a row whose rule has changed takes the place of nobody else',
    },
  },
  {
    name: 'two requests that had waited, with others between them, move the store’s time',
    file: `${L}stores/redis/store-clock.ts`,
    find: '      if (contradicts(doubted, by)) this.#doubted = NO_DOUBT\n',
    replace: '',
    test: {
      file: `${L}stores/redis/store-clock.test.ts`,
      name: "how far the store's clock is ahead is not moved by two such requests with another call between them",
    },
  },
]
