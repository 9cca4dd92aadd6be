// What is honoured once: receipts, reservations, holds.
import { S, ST } from './folders.mjs'

export const usedOnce = [
  {
    name: 'a reservation passes for a receipt',
    file: `${S}receipts/vouchers.ts`,
    find: '    const start = `${kind};${rules.namespace};`\n',
    replace: '    const start = text === null ? kind : `${text[0]};${rules.namespace};`\n',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'vouchers are good for an hour, and of one kind',
    },
  },
  {
    name: 'a receipt is good in another namespace',
    file: `${S}receipts/vouchers.ts`,
    find: '    const start = `${kind};${rules.namespace};`\n',
    replace: "    const start = `${kind};${text?.split(';', 2)[1] ?? rules.namespace};`\n",
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'vouchers are good in their own namespace alone',
    },
  },
  {
    name: 'a receipt is good for ever',
    file: `${S}receipts/vouchers.ts`,
    find: '    if (decidedAtMs < this.#now() - GOOD_FOR_MS) return null\n',
    replace: '',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'vouchers are good for an hour, and of one kind',
    },
  },
  {
    name: 'receipts of before the secret was shared are not known',
    file: `${S}receipts/vouchers.ts`,
    find: ' ?? this.#before?.open(sealed) ?? null\n',
    replace: ' ?? null\n',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'vouchers are known after another secret was shared, and never the same twice',
    },
  },
  {
    name: 'a receipt that was used for another amount answers',
    file: `${S}receipts/vouchers.ts`,
    find: "    if (before !== asked) throw new Conflict('it was used before, for something else')\n",
    replace: '',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'vouchers give back what was taken, by unit, and the same answer again',
    },
  },
  {
    name: 'a replayed answer has a receipt of its own, which is honoured too',
    file: `${S}receipts/vouchers.ts`,
    find: '    if (known !== undefined) return known\n',
    replace: '',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'vouchers are honoured once for one take, whichever of them comes first',
    },
  },
  {
    name: 'a receipt is honoured twice',
    file: `${S}receipts/once.ts`,
    find: '    if (known !== undefined) return known.promise\n',
    replace: '',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'once runs what it is given once for each id, also at the same time',
    },
  },
  {
    name: 'what may have been used and forgotten is honoured',
    file: `${S}receipts/once.ts`,
    find: "    if (mayBeForgotten) throw new Forgotten('it may have been used, and forgotten')\n",
    replace: '',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'once does not run again what it may have forgotten',
    },
  },
  {
    name: 'what this process gave out is compared by the clock',
    file: `${S}receipts/once.ts`,
    find: 'number === null ? at < this.#oldSince : number < this.#oldFrom',
    replace: 'number === -1 ? at < this.#oldSince : at < this.#oldSince',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'once, under a clock that jumps honours what this process gives out after the clock has stepped back',
    },
  },
  {
    name: 'what is known to be used goes back with the clock',
    file: `${S}receipts/once.ts`,
    find: '    this.#youngSince = Math.max(this.#youngSince, now)\n',
    replace: '    this.#youngSince = now\n',
    test: {
      file: `${S}receipts/receipts.test.ts`,
      name: 'once, under a clock that jumps does not run again what it has forgotten, also after the clock has stepped back',
    },
  },
  {
    name: 'what was not done cannot be done again',
    file: `${S}receipts/once.ts`,
    find: '        this.#young.delete(id)\n        this.#old.delete(id)\n',
    replace: '',
    test: { file: `${S}receipts/receipts.test.ts`, name: 'once runs again what was not done' },
  },
  {
    name: 'what another instance has claimed is begun',
    file: `${S}receipts/once-in-redis.ts`,
    find: 'const found = claimed === null ? await this.#found(key) : claim',
    replace: "const found = claim === '' ? await this.#found(key) : claim",
    test: {
      file: `${ST}receipts/once-in-redis.test.ts`,
      name: 'what another instance has claimed is not run',
    },
  },
  {
    name: 'what another instance has begun meanwhile is begun again',
    file: `${S}receipts/once-in-redis.ts`,
    find: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n",
    replace: '',
    test: {
      file: `${ST}receipts/once-in-redis.test.ts`,
      name: 'a claim that another instance has replaced is not begun',
    },
  },
  {
    name: 'an answer takes the place of what came after it',
    file: `${S}receipts/once-in-redis.ts`,
    find: 'if there and there ~= ARGV[1] then return 0 end\n',
    replace: '',
    test: {
      file: `${ST}receipts/once-in-redis.test.ts`,
      name: 'an answer takes the place of nothing that came after its beginning',
    },
  },
  {
    name: 'an answer is not kept where Redis has lost its beginning',
    file: `${S}receipts/once-in-redis.ts`,
    find: 'if there and there ~= ARGV[1] then return 0 end\n',
    replace: 'if there ~= ARGV[1] then return 0 end\n',
    test: {
      file: `${ST}faults/receipts.test.ts`,
      name: 'over one Redis what ended is recorded also where a failover has lost that it was begun',
    },
  },
  {
    name: 'what came after a claim is taken away with it',
    file: `${S}receipts/once-in-redis.ts`,
    find: 'if there == ARGV[1] or there == ARGV[2] then redis',
    replace: 'if there then redis',
    test: {
      file: `${ST}receipts/once-in-redis.test.ts`,
      name: 'what was not done is taken away, and nothing that came after it',
    },
  },
  {
    name: 'what certainly did not run blocks other instances',
    file: `${S}receipts/once-in-redis.ts`,
    find: '        void this.#letGo(key, found, begun)\n',
    replace: '',
    test: {
      file: `${ST}faults/receipts.test.ts`,
      name: 'over one Redis where only the beginning was not answered, another instance does it',
    },
  },
  {
    name: 'what certainly did not run blocks its own instance',
    file: `${S}receipts/once-in-redis.ts`,
    find: '    if (this.#notRun.has(found)) return found\n',
    replace: '',
    test: {
      file: `${ST}receipts/once-in-redis.test.ts`,
      name: 'what was begun without an answer did not run, so the same instance may run it',
    },
  },
  {
    name: 'what was begun runs again',
    file: `${S}receipts/once-in-redis.ts`,
    find: '    const isBegun = found.startsWith(BEGUN) || livesMs',
    replace: '    const isBegun = livesMs',
    test: {
      file: `${ST}faults/receipts.test.ts`,
      name: 'over one Redis what is begun elsewhere is under way at first, and then not known',
    },
  },
  {
    name: 'what the previous release began runs again',
    file: `${S}receipts/once-in-redis.ts`,
    find: ' || livesMs > CLAIMED_FOR_MS\n',
    replace: '\n',
    test: {
      file: `${ST}faults/receipts.test.ts`,
      name: 'over one Redis what an instance of the previous release has begun is under way at first, and then not known',
    },
  },
  {
    name: 'a claim that was not begun blocks for an hour',
    file: `${S}receipts/once-in-redis.ts`,
    find: "'PX', CLAIMED_FOR_MS, 'NX'",
    replace: "'PX', GOOD_FOR_MS, 'NX'",
    test: {
      file: `${ST}receipts/once-in-redis.test.ts`,
      name: 'a claim that is not begun is gone after some seconds',
    },
  },
  {
    name: 'what has an unknown outcome runs again',
    file: `${S}receipts/once-in-redis.ts`,
    find: "isNotDone ? '' : UNKNOWN).catch",
    replace: "isNotDone || UNKNOWN ? '' : UNKNOWN).catch",
    test: {
      file: `${ST}faults/receipts.test.ts`,
      name: 'over one Redis a receipt whose refund may have been done gives back nothing more, on any instance',
    },
  },
]
