// Windows, logs and sliding counters: what counts when, and what is given back.
import { L, LUA, T } from './folders.mjs'

export const windows = [
  {
    name: 'a window names a retry before it ends',
    file: `${L}algorithms/fixed-window.ts`,
    find: '    out[o + GO_AT] = end\n',
    replace: '    out[o + GO_AT] = now + 1\n',
    test: {
      file: `${T}properties/fixed-window.test.ts`,
      name: 'fixed_window answers every request as a count per window does',
    },
  },
  {
    name: 'a window that has ended is given back to',
    file: `${L}algorithms/fixed-window.ts`,
    find: ' || endOf(limit, mark) <= now) return 0',
    replace: ') return 0',
    test: {
      file: `${T}properties/fixed-window.test.ts`,
      name: 'fixed_window gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'calendar bounds are those around the clock of the instance',
    file: `${L}stores/redis/store-clock.ts`,
    find: '    layout.packed(this.at(this.#asked), this.#offset)\n',
    replace: '    layout.packed(this.#asked, this.#offset)\n',
    test: {
      file: `${T}redis/instances.test.ts`,
      name: 'an instance whose clock is wrong decides by the server’s and says how far it is off: weeks ahead',
    },
  },
  {
    name: 'a calendar window is one of the bounds, though none holds the time',
    file: `${L}algorithms/fixed-window.ts`,
    find: '  if (now < limit.bounds[0]! || now >= limit.bounds[last]!) return -1\n',
    replace: '',
    test: {
      file: `${T}redis/instances.test.ts`,
      name: 'an instance whose clock is wrong decides by the server’s and says how far it is off: weeks ahead',
    },
  },
  {
    name: 'a request is not asked again where its calendar bounds hold no such time',
    file: `${L}stores/redis/operation-queue.ts`,
    find: '    if (operation.boundsAttempts++ < MOST_ASKS) this.push(operation)\n',
    replace: '    if (operation.boundsAttempts++ < 0) this.push(operation)\n',
    test: {
      file: `${T}redis/instances.test.ts`,
      name: 'an instance whose clock is wrong decides by the server’s and says how far it is off: weeks ahead',
    },
  },
  {
    name: 'a lease is not asked for again where its calendar bounds hold no such time',
    file: `${LUA}wide.lua`,
    find: '    if out[STATUS + 1] == OTHER_BOUNDS then\n',
    replace: '    if out[STATUS + 1] == -1 then\n',
    test: {
      file: `${T}redis/lease-reports.test.ts`,
      name: 'a calendar window is leased also by an instance whose clock is weeks ahead',
    },
  },
  {
    name: 'a denial trims a log',
    file: `${L}algorithms/sliding-log.ts`,
    find: '    out[o + STATUS] = NOT_NOW\n    let missing = used + cost - limit.amount\n    let i = left[0]!\n',
    replace:
      '    out[o + STATUS] = NOT_NOW\n    entries.dropOldest(left[0]!)\n    row[at + SUM] = used\n    let missing = used + cost - limit.amount\n    let i = 0\n',
    test: {
      file: `${T}properties/sliding-log.test.ts`,
      name: 'sliding_window_log still counts, for a clock that steps back, what a denial has seen leave',
    },
  },
  {
    name: 'a log counts an entry a microsecond longer than its window',
    file: `${L}algorithms/sliding-log.ts`,
    find: 'entries.stamp(i) <= edge',
    replace: 'entries.stamp(i) < edge',
    test: {
      file: `${T}properties/sliding-log.test.ts`,
      name: 'sliding_window_log answers every request as a plain list does',
    },
  },
  {
    name: 'a log names the retry at which its oldest entry leaves, however much is missing',
    file: `${L}algorithms/sliding-log.ts`,
    find: '    while (missing > 0) {\n      i = i + 1\n      missing = missing - entries.cost(i)\n    }\n',
    replace: '',
    test: {
      file: `${T}properties/sliding-log.test.ts`,
      name: 'sliding_window_log answers every request as a plain list does',
    },
  },
  {
    name: 'a log of a large limit has an entry for each take',
    file: `${L}algorithms/limit-numbers.ts`,
    find: 'cell = Math.ceil(window / 1024)',
    replace: 'cell = 1',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a log of a large limit has at most an entry for each 1024th of its window, and one more',
    },
  },
  {
    name: 'an entry that has left a log is given back to',
    file: `${L}algorithms/sliding-log.ts`,
    find: '  if (mark <= Math.max(now, row[at + SEEN]!) - limit.window) return 0\n',
    replace: '',
    test: {
      file: `${T}properties/sliding-log.test.ts`,
      name: 'sliding_window_log gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'a log gives back more than its entry has',
    file: `${L}algorithms/sliding-log.ts`,
    find: '      const given = Math.min(n, entries.cost(i))\n',
    replace: '      const given = n\n',
    test: {
      file: `${L}algorithms/guards.test.ts`,
      name: 'a log gives back at most what its entry has',
    },
  },
  {
    name: 'two counters name a retry after the window that frees them',
    file: `${L}algorithms/sliding-counter.ts`,
    find: '  return Math.min(start + x * limit.tick, start + limit.window)\n',
    replace: '  return start + x * limit.tick\n',
    test: {
      file: `${T}properties/sliding-counter.test.ts`,
      name: 'sliding_window_counter answers every request as two weighted counts do',
    },
  },
  {
    name: 'a take of the window before cannot be given back',
    file: `${L}algorithms/sliding-counter.ts`,
    find: '  if (rolled[START] === mark + limit.window) from = BEFORE\n',
    replace: '',
    test: {
      file: `${T}properties/sliding-counter.test.ts`,
      name: 'sliding_window_counter gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'two counters take back what an older window took',
    file: `${L}algorithms/sliding-counter.ts`,
    find: '  if (from < 0) return 0\n',
    replace: '  if (from < 0) from = COUNT\n',
    test: {
      file: `${T}properties/sliding-counter.test.ts`,
      name: 'sliding_window_counter gives back, grants, resets and owes exactly',
    },
  },
  {
    name: 'two counters start anew when the clock steps back',
    file: `${L}algorithms/sliding-counter.ts`,
    find: '  const start = Math.max(row[at + START]!, Math.floor(now / limit.window) * limit.window)\n',
    replace: '  const start = Math.floor(now / limit.window) * limit.window\n',
    test: {
      file: `${T}properties/sliding-counter.test.ts`,
      name: 'sliding_window_counter admits at most the limit in each aligned window',
    },
  },
  {
    name: 'two counters name the next window, whatever has to fade there',
    file: `${L}algorithms/sliding-counter.ts`,
    find: 'fadedAt(limit, start + limit.window, count, limit.amount - cost)',
    replace: '(start + limit.window)',
    test: {
      file: `${T}properties/sliding-counter.test.ts`,
      name: 'sliding_window_counter answers every request as two weighted counts do',
    },
  },
]
