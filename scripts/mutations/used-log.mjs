// What was used, kept over restarts: used.log and the secret beside it.
import { S, ST } from './folders.mjs'

export const usedLog = [
  {
    name: 'a claim is not written',
    file: `${S}receipts/once.ts`,
    find: '    this.#journal?.claimed(id, now)\n',
    replace: '',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'once over restarts remembers answers, and what was cut off, and nothing that was not done',
    },
  },
  {
    name: 'an answer is not written',
    file: `${S}receipts/once.ts`,
    find: '      this.#journal?.answered(id, answer, used.at)\n',
    replace: '',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'once over restarts remembers answers, and what was cut off, and nothing that was not done',
    },
  },
  {
    name: 'a release is not written',
    file: `${S}receipts/once.ts`,
    find: '        this.#journal?.released(id, this.#now())\n',
    replace: '',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'once over restarts remembers answers, and what was cut off, and nothing that was not done',
    },
  },
  {
    name: 'a claim that the disk did not take is acted on',
    file: `${S}receipts/once-file.ts`,
    find: '    this.#append([id, at, null])\n',
    replace: '    this.#appendNowOrLater([id, at, null])\n',
    test: {
      file: `${ST}counters/full-disk.test.ts`,
      name: 'on a full disk (skipped where no disk can be mounted) a refund is refused with 503, works once there is room, and is honoured once',
    },
  },
  {
    name: 'an answer that the disk did not take is not written later',
    file: `${S}receipts/once-file.ts`,
    find: '      this.#pending.push(line)\n',
    replace: '',
    test: {
      file: `${ST}counters/full-disk.test.ts`,
      name: 'on a full disk (skipped where no disk can be mounted) an answer that finds no room is given, and written once there is room',
    },
  },
  {
    name: 'half a line stays in used.log',
    file: `${S}receipts/once-file.ts`,
    find: '      ftruncateSync(this.#file, this.#bytes)\n',
    replace: '',
    test: {
      file: `${ST}counters/full-disk.test.ts`,
      name: 'on a full disk (skipped where no disk can be mounted) an answer that finds no room is given, and written once there is room',
    },
  },
  {
    name: 'a line that was not written counts in the checksum',
    file: `${S}receipts/once-file.ts`,
    find: '      this.#text.checksum = checksum\n',
    replace: '',
    test: {
      file: `${ST}counters/full-disk.test.ts`,
      name: 'on a full disk (skipped where no disk can be mounted) an answer that finds no room is given, and written once there is room',
    },
  },
  {
    name: 'a claim that is made while used.log is rewritten is lost',
    file: `${S}receipts/once-file.ts`,
    find: '    if (!isNoted) this.#meanwhile?.push(line)\n',
    replace: '',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'rotating keeps a claim that is made meanwhile and never answered',
    },
  },
  {
    name: 'an answer that is given while used.log is rewritten is lost',
    file: `${S}receipts/once-file.ts`,
    find: '    this.#meanwhile?.push(line)\n    try',
    replace: '    try',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'rotating keeps every claim, answer and release that is made meanwhile',
    },
  },
  {
    name: 'used.log keeps what is older than an hour',
    file: `${S}receipts/once-file.ts`,
    find: '      if (at >= oldest) lines += text.line([id, at, answer])\n',
    replace: '      lines += text.line([id, at, answer])\n',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'rotating leaves out what is older than an hour and keeps the rest',
    },
  },
  {
    name: 'used.log grows for ever',
    file: `${S}receipts/once-file.ts`,
    find: 'GROWTH * this.#keptBytes)\n',
    replace: 'GROWTH * this.#keptBytes) && this.#bytes < 0\n',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'rotating is worth it when much was added',
    },
  },
  {
    name: 'a line of used.log is believed whose checksum is wrong',
    file: `${S}receipts/used-log.ts`,
    find: '    if (line !== `${json}\\t${hex(next)}`) return undefined\n',
    replace: '',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'a damaged file never lets a receipt be used again, whichever bit was flipped, and is said',
    },
  },
  {
    name: 'a line of used.log is believed that does not follow the one before',
    file: `${S}receipts/used-log.ts`,
    find: '    const next = crc32(json, checksum)\n',
    replace: '    const next = crc32(json)\n',
    also: {
      find: '    this.checksum = crc32(json, this.checksum)\n',
      replace: '    this.checksum = crc32(json)\n',
    },
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'a damaged file is noticed where lines are missing or swapped, and where it is empty',
    },
  },
  {
    name: 'a tail of zeros in used.log counts as torn',
    file: `${S}receipts/used-log.ts`,
    find: "  if (isCut && rest.includes('\\0')) damagedLine = lines.length + 1\n",
    replace: '',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'a damaged file is noticed where its tail is zeros, as a power cut leaves it',
    },
  },
  {
    name: 'a whole last line of used.log without its line break is left out',
    file: `${S}receipts/used-log.ts`,
    find: '(isVersion1 || !use(read(rest) ?? read(rest.slice(0, -1))))',
    replace: "(isVersion1 || rest !== '')",
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'a damaged file never lets a receipt be used again, whichever bit was flipped, and is said',
    },
  },
  {
    name: 'a damaged used.log counts as complete',
    file: `${S}receipts/once-file.ts`,
    find: 'since: damagedLine !== null || since === null ? now :',
    replace: 'since: since === null ? now :',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'a damaged file never lets a receipt be used again, whichever bit was flipped, and is said',
    },
  },
  {
    name: 'a used.log that is missing counts as complete',
    file: `${S}receipts/once-file.ts`,
    find: '      return { since: now, entries: [] }\n',
    replace: '      return { since: 0 * now, entries: [] }\n',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'once over restarts does not honour what is older than what it knows',
    },
  },
  {
    name: 'a used.log of a time ahead counts as complete',
    file: `${S}receipts/once-file.ts`,
    find: 'Math.max(since, oldest),',
    replace: 'Math.max(Math.min(since, now - 60_000), oldest),',
    test: {
      file: `${S}receipts/once-file.test.ts`,
      name: 'once over restarts that a clock ahead wrote honours nothing of before the start, and says so',
    },
  },
  {
    name: 'a secret is used whose checksum is wrong',
    file: `${S}counters/secret-file.ts`,
    find: '(sum === null || sum.equals(checksumOf(kept)))',
    replace: '(sum === null || sum.length > 0)',
    test: {
      file: `${S}counters/secret-file.test.ts`,
      name: 'is replaced and said where any bit was flipped, or the file was cut short',
    },
  },
  {
    name: 'a secret of another length is used',
    file: `${S}counters/secret-file.ts`,
    find: '  if (kept.length === SECRET_BYTES && (',
    replace: '  if (kept.length > 0 && (',
    test: {
      file: `${S}counters/secret-file.test.ts`,
      name: 'of another length is replaced, also where it has no checksum',
    },
  },
]
