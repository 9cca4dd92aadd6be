// The files of counters, and the lock of their folder.
import { S, ST } from './folders.mjs'

export const counterFiles = [
  {
    name: 'a frame is believed whose checksum is wrong',
    file: `${S}counters/counter-log.ts`,
    find: '    if (checksum !== head.readUInt32BE(5)) return\n',
    replace: '',
    test: {
      file: `${ST}counters/damage.test.ts`,
      name: 'a file of counters with a group damaged, cut, missing, doubled or moved says what was written before it',
    },
  },
  {
    name: 'a frame is believed that does not follow the one before',
    file: `${S}counters/counter-log.ts`,
    find: '    checksum = checksumOf(head, content, checksum)\n',
    replace: '    checksum = checksumOf(head, content, 0)\n',
    also: {
      find: 'frame.subarray(HEAD_BYTES), this.#checksum)',
      replace: 'frame.subarray(HEAD_BYTES), 0)',
    },
    test: {
      file: `${ST}counters/damage.test.ts`,
      name: 'a file of counters with a group damaged, cut, missing, doubled or moved says what was written before it',
    },
  },
  {
    name: 'a group counts before its end is there',
    file: `${S}counters/counter-log.ts`,
    find: '    if (kind !== END) continue\n    const { takenAtMs } = JSON.parse(content.toString()) as GroupEnd\n',
    replace:
      '    const { takenAtMs } = kind === END ? (JSON.parse(content.toString()) as GroupEnd) : { takenAtMs: 0 }\n',
    test: {
      file: `${ST}counters/damage.test.ts`,
      name: 'a file of counters with a group damaged, cut, missing, doubled or moved says what was written before it',
    },
  },
  {
    name: 'a new file has its name before it is whole',
    file: `${S}counters/counter-writer.ts`,
    find: '    const aside = this.#files.asideOf(number)\n',
    replace: '    const aside = this.#files.pathOf(number)\n',
    test: {
      file: `${ST}counters/writes.test.ts`,
      name: 'a new file has its name once its first group is on the disk, and changes are too when a write has ended',
    },
  },
  {
    name: 'the file before the newest is not kept',
    file: `${S}counters/counter-writer.ts`,
    find: '    this.#files.keepNewest(2)\n',
    replace: '    this.#files.keepNewest(1)\n',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'counters in a folder begin another file when one has grown, and keep one before',
    },
  },
  {
    name: 'all files of counters are kept',
    file: `${S}counters/counter-writer.ts`,
    find: '    this.#files.keepNewest(2)\n',
    replace: '',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'counters in a folder begin another file when one has grown, and keep one before',
    },
  },
  {
    name: 'on a full disk the file that is kept in case stays',
    file: `${S}counters/counter-writer.ts`,
    find: 'this.#files.keepNewest(1)\n',
    replace: 'this.#files.keepNewest(2)\n',
    test: {
      file: `${ST}counters/writes.test.ts`,
      name: 'on a full disk the file that is kept in case goes first',
    },
  },
  {
    name: 'a file of counters grows for ever',
    file: `${S}counters/counter-writer.ts`,
    find: ' || this.#hasGrown(this.#log))\n',
    replace: ')\n',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'counters in a folder begin another file when one has grown, and keep one before',
    },
  },
  {
    name: 'changes go on in a file whose last write failed',
    file: `${S}counters/counter-writer.ts`,
    find: '      await this.#leave()\n      if (!(error instanceof',
    replace: '      if (!(error instanceof',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'trouble with the disk (ENOSPC) is said once, stops no decision, and is over by itself',
    },
  },
  {
    name: 'no whole state is written though rows had to go',
    file: `${S}counters/counter-writer.ts`,
    find: '      await this.#writeWhole()\n    }\n  }',
    replace: '    }\n  }',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'a full store is written whole where rows had to go while their changes were read',
    },
  },
  {
    name: 'a group is not synced',
    file: `${S}counters/counter-log.ts`,
    find: '    await this.#file.datasync()\n',
    replace: '',
    test: {
      file: `${ST}counters/writes.test.ts`,
      name: 'a new file has its name once its first group is on the disk, and changes are too when a write has ended',
    },
  },
  {
    name: 'a damaged file is not set aside',
    file: `${S}counters/restore.ts`,
    find: '      const aside = files.setAside(number)\n',
    replace: "      const aside = ''\n",
    test: {
      file: `${ST}counters/damage.test.ts`,
      name: 'a file of counters with a group damaged, cut, missing, doubled or moved says what was written before it',
    },
  },
  {
    name: 'all damaged files are kept',
    file: `${S}counters/counter-files.ts`,
    find: '    this.#remove(/\\.damaged$/)\n',
    replace: '',
    test: { file: `${ST}counters/writes.test.ts`, name: 'only the last damaged file is kept' },
  },
  {
    name: 'a file that may not be opened is taken for a damaged one',
    file: `${S}counters/restore.ts`,
    find: '      if (isAboutTheDisk(error)) throw error\n',
    replace: '',
    test: {
      file: `${ST}counters/writes.test.ts`,
      name: 'a file that may not be opened is not taken for a damaged one',
    },
  },
  {
    name: 'files that a killed server began are kept',
    file: `${S}counters/counters.ts`,
    find: '    files.removeParts()\n',
    replace: '',
    test: {
      file: `${ST}counters/damage.test.ts`,
      name: 'a file of counters that is damaged is set aside for the one before',
    },
  },
  {
    name: 'others may read the folder of counters',
    file: `${S}counters/counters.ts`,
    find: '    chmodSync(folder, 0o700)\n',
    replace: '',
    test: {
      file: `${ST}counters/writes.test.ts`,
      name: 'a folder that was there is closed to others',
    },
  },
  {
    name: 'others may read the files of counters',
    file: `${S}counters/counter-writer.ts`,
    find: "'w', 0o600)",
    replace: "'w', 0o644)",
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'counters in a folder are nobody else’s to read',
    },
  },
  {
    name: 'trouble with the disk is said with each write',
    file: `${S}counters/counters.ts`,
    find: 'if (this.#failures++ === 0) this',
    replace: 'if (this.#failures++ >= 0) this',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'trouble with the disk (ENOSPC) is said once, stops no decision, and is over by itself',
    },
  },
  {
    name: 'a server that is closed does not write',
    file: `${S}counters/counters.ts`,
    find: '    const written = this.flush()\n',
    replace: '    const written = Promise.resolve()\n',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'counters in a folder are there again after a restart, and after another',
    },
  },
  {
    name: 'a server whose disk hangs cannot be closed',
    file: `${S}counters/counters.ts`,
    find: '    await within(timeMs, written)\n',
    replace: '    await written\n',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'trouble with the disk does not keep a server from closing',
    },
  },
  {
    name: 'a folder is taken over from a process that is alive',
    file: `${S}counters/folder-lock.ts`,
    find: "  return owner.began !== '' && owner.began !== beganOf(owner.pid)\n",
    replace: '  return true\n',
    test: { file: `${ST}counters/lock.test.ts`, name: 'of a process that is alive is honoured' },
  },
  {
    name: 'a folder is not taken over from a process that was killed',
    file: `${S}counters/folder-lock.ts`,
    find: "  if (!isAlive(owner.pid)) return true\n  return owner.began !== '' && owner.began !== beganOf(owner.pid)\n",
    replace: '  return false\n',
    test: {
      file: `${ST}counters/lock.test.ts`,
      name: 'of a process that ended is taken over, though another one has its number',
    },
  },
  {
    name: 'a folder is not taken over from a process whose number another has',
    file: `${S}counters/folder-lock.ts`,
    find: "  return owner.began !== '' && owner.began !== beganOf(owner.pid)\n",
    replace: '  return false\n',
    test: {
      file: `${ST}counters/lock.test.ts`,
      name: 'of a process that ended is taken over, though another one has its number',
    },
  },
  {
    name: 'a process opens a folder twice',
    file: `${S}counters/folder-lock.ts`,
    find: ' return !heldHere.has(path)\n',
    replace: ' return true\n',
    test: {
      file: `${ST}counters/kill.test.ts`,
      name: 'two servers and one folder the second is told who has it, and gets it once the first was killed',
    },
  },
  {
    name: 'a folder is not taken over from a process that ended and waits for its parent',
    file: `${S}counters/folder-lock.ts`,
    find: "    return !['Z', 'X'].includes(fieldsOf(pid)[0] ?? '')\n",
    replace: '    return true\n',
    test: {
      file: `${ST}counters/lock.test.ts`,
      name: 'of a process that ended is taken over, though its parent does not know yet',
    },
  },
  {
    name: 'a folder is never taken over from another machine',
    file: `${S}counters/folder-lock.ts`,
    find: 'return Date.now() - refreshedAt > FORGOTTEN_MS\n',
    replace: 'return Date.now() - refreshedAt > 1e12\n',
    test: {
      file: `${ST}counters/kill.test.ts`,
      name: 'two servers and one folder a lock from another machine is honoured while it is refreshed',
    },
  },
  {
    name: 'a folder is taken over at once from another machine',
    file: `${S}counters/folder-lock.ts`,
    find: 'return Date.now() - refreshedAt > FORGOTTEN_MS\n',
    replace: 'return true\n',
    test: {
      file: `${ST}counters/kill.test.ts`,
      name: 'two servers and one folder a lock from another machine is honoured while it is refreshed',
    },
  },
  {
    name: 'the lock of a folder is not refreshed',
    file: `${S}counters/folder-lock.ts`,
    find: '      await utimes(this.#path, now / 1000, now / 1000)\n',
    replace: '      await utimes(this.#path, 0 * now, 0 * now)\n',
    test: { file: `${ST}counters/lock.test.ts`, name: 'is refreshed with each write' },
  },
  {
    name: 'a server that closes removes the lock of another',
    file: `${S}counters/folder-lock.ts`,
    find: '    if (read(this.#path)?.text === this.#text) rm',
    replace: "    if (this.#text !== '') rm",
    test: {
      file: `${ST}counters/lock.test.ts`,
      name: 'that another server has taken over stays when this one closes',
    },
  },
  {
    name: 'a folder is opened though its lock is there',
    file: `${S}counters/folder-lock.ts`,
    find: "if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false\n",
    replace: "if ((error as NodeJS.ErrnoException).code === 'EEXIST') return true\n",
    test: {
      file: `${ST}counters/kill.test.ts`,
      name: 'two servers and one folder the second is told who has it, and gets it once the first was killed',
    },
  },
  {
    name: 'a disk in trouble is written to at every interval',
    file: `${S}counters/counters.ts`,
    find: 'Math.min(2 ** this.#failures, MOST_INTERVALS)',
    replace: '1',
    test: {
      file: `${ST}counters/counters.test.ts`,
      name: 'trouble with the disk lets the next write wait for 2, 4, 8 and so on intervals, and for 32 at most',
    },
  },
]
