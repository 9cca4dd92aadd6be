/** What was used is known over restarts, whatever happens to the file, and the file stays small. */
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Forgotten, GOOD_FOR_MS, NotDone, OnceInMemory, OutcomeUnknown } from './once.js'
import { OnceFile } from './once-file.js'

/** Given out by another process. */
const foreign = (at: number) => ({ at, number: null, count: 0 })

const newFolder = () => mkdtempSync(join(tmpdir(), 'sluice-once-'))

function openOnce(folder: string, now: number) {
  const lines: string[] = []
  const say = (_msg: string, { code }: { code: string }) => lines.push(code)
  const file = new OnceFile(folder, now, { info: say, warn: say, error: say })
  return { file, once: new OnceInMemory(() => now, file), codes: () => lines }
}

describe('once over restarts', () => {
  const folder = newFolder()
  const open = (now: number) => openOnce(folder, now).once

  it('remembers answers, and what was cut off, and nothing that was not done', async () => {
    const now = 1e12
    const first = open(now)
    await first.run('done', foreign(now), async () => 'the answer')
    void first.run('cut off', foreign(now), () => new Promise(() => {}))
    const refused = first.run('not done', foreign(now), async () => {
      throw new NotDone('no')
    })
    await expect(refused).rejects.toThrow(NotDone)
    const second = open(now + 1000)
    expect(await second.run('done', foreign(now), async () => 'another')).toBe('the answer')
    await expect(second.run('cut off', foreign(now), async () => 'another')).rejects.toThrow(
      OutcomeUnknown,
    )
    expect(await second.run('not done', foreign(now), async () => 'at last')).toBe('at last')
  })

  it('does not honour what is older than what it knows', async () => {
    const now = 1e12 + 2000
    await expect(open(now).run('before', foreign(1e12 - 1), async () => '')).rejects.toThrow(
      Forgotten,
    )
    const later = open(1e12 + GOOD_FOR_MS + 5000)
    await expect(later.run('done', foreign(1e12), async () => 'again')).rejects.toThrow(Forgotten)
  })

  it('that a clock ahead wrote honours nothing of before the start, and says so', async () => {
    const [now, ahead] = [1e12, 1e12 + 86_400_000]
    const folder = newFolder()
    await openOnce(folder, ahead).once.run('ahead', foreign(ahead), async () => 'kept')
    const { once, codes } = openOnce(folder, now)
    expect(codes()).toEqual(['used_log_ahead'])
    await expect(once.run('before', foreign(now), async () => '')).rejects.toThrow(Forgotten)
    expect(await once.run('ahead', foreign(ahead), async () => 'twice')).toBe('kept')
    const own = { at: now, number: 0, count: 1 }
    expect(await once.run('own', own, async () => 'done')).toBe('done')
  })

  it('leaves out a last line that is torn, and says so', async () => {
    const now = 1e12 + 3000
    const torn = newFolder()
    await openOnce(torn, now).once.run('whole', foreign(now), async () => 'kept')
    appendFileSync(join(torn, 'used.log'), '["torn",100000')
    const { once, codes } = openOnce(torn, now)
    expect(codes()).toEqual(['used_log_torn'])
    expect(await once.run('torn', foreign(now), async () => 'done')).toBe('done')
    expect(await once.run('whole', foreign(now), async () => 'again')).toBe('kept')
  })
})

describe('a damaged file', () => {
  const given = 1e12
  const now = given + 60_000

  /** A file with one answer and one claim that was cut off. */
  async function written(): Promise<Buffer> {
    const folder = newFolder()
    const { once } = openOnce(folder, given - 1000)
    await once.run('done', foreign(given), async () => 'the answer')
    void once.run('cut off', foreign(given), () => new Promise(() => {}))
    return readFileSync(join(folder, 'used.log'))
  }

  it('never lets a receipt be used again, whichever bit was flipped, and is said', async () => {
    const content = await written()
    const folder = newFolder()
    const wrong: string[] = []
    for (let bit = 0; bit < content.length * 8; bit++) {
      const damaged = Buffer.from(content)
      damaged[bit >> 3]! ^= 1 << (bit & 7)
      writeFileSync(join(folder, 'used.log'), damaged)
      const { once, file, codes } = openOnce(folder, now)
      let runs = 0
      const work = async () => String(++runs)
      await once.run('done', foreign(given), work).catch(() => undefined)
      await once.run('cut off', foreign(given), work).catch(() => undefined)
      // The very last byte is the last line break; the line before it is still whole.
      const isSaid = codes().includes('used_log_damaged') || bit >> 3 === content.length - 1
      if (runs > 0 || !isSaid) wrong.push(`bit ${bit & 7} of byte ${bit >> 3}`)
      file.close()
    }
    expect(wrong).toEqual([])
  })

  it('refuses what was given out before, and honours what is given out after', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'used.log'), 'nonsense\n')
    const { once, codes } = openOnce(folder, now)
    expect(codes()).toEqual(['used_log_damaged'])
    await expect(once.run('before', foreign(now - 1), async () => '')).rejects.toThrow(Forgotten)
    expect(await once.run('after', foreign(now), async () => 'done')).toBe('done')
    expect(openOnce(folder, now).codes()).toEqual([])
  })

  it('is noticed where lines are missing or swapped, and where it is empty', async () => {
    const [head, claim, answer, cutOff] = (await written()).toString().split(/(?<=\n)(?=\[)/)
    const folder = newFolder()
    for (const lines of [[], [head, answer, cutOff], [head, answer, claim, cutOff], [claim]]) {
      writeFileSync(join(folder, 'used.log'), lines.join(''))
      const { once, file, codes } = openOnce(folder, now)
      expect(codes()).toEqual(['used_log_damaged'])
      await expect(once.run('other', foreign(given), async () => 'again')).rejects.toThrow(
        Forgotten,
      )
      file.close()
    }
  })

  it('is noticed where its tail is zeros, as a power cut leaves it', async () => {
    const content = await written()
    const folder = newFolder()
    for (let at = 0; at < content.length - 1; at++) {
      const damaged = Buffer.concat([content.subarray(0, at), Buffer.alloc(content.length - at)])
      writeFileSync(join(folder, 'used.log'), damaged)
      const { once, file, codes } = openOnce(folder, now)
      expect(codes(), `from byte ${at}`).toEqual(['used_log_damaged'])
      const again = () => Promise.resolve('again')
      await expect(once.run('other', foreign(given), again)).rejects.toThrow(Forgotten)
      file.close()
    }
  })

  it('of version 1, without checksums, is read and rewritten', async () => {
    const folder = newFolder()
    const lines = [[given - 1000], ['done', given, null], ['done', given, 'the answer']]
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    writeFileSync(join(folder, 'used.log'), text)
    const { once, codes } = openOnce(folder, now)
    expect(codes()).toEqual([])
    expect(await once.run('done', foreign(given), async () => 'another')).toBe('the answer')
    expect(readFileSync(join(folder, 'used.log'), 'utf8')).toMatch(/^\[\d+,2\]\n#/)
  })
})

describe('rotating', () => {
  it('leaves out what is older than an hour and keeps the rest', async () => {
    const folder = newFolder()
    let now = 1e12
    const file = new OnceFile(folder, now, { info() {}, warn() {}, error() {} })
    const once = new OnceInMemory(() => now, file)
    for (let i = 0; i < 1000; i++) await once.run(`old-${i}`, foreign(now), async () => 'answer')
    now += GOOD_FOR_MS + 1
    for (let i = 0; i < 10; i++) await once.run(`young-${i}`, foreign(now), async () => 'answer')
    const before = statSync(join(folder, 'used.log')).size
    await file.rotate(once, now)
    expect(statSync(join(folder, 'used.log')).size).toBeLessThan(before / 50)
    const again = openOnce(folder, now)
    expect(again.codes()).toEqual([])
    expect(await again.once.run('young-3', foreign(now), async () => 'twice')).toBe('answer')
  })

  it('that fails is said once, and refuses nothing', async () => {
    const folder = newFolder()
    const now = 1e12
    const { file, once, codes } = openOnce(folder, now)
    renameSync(folder, `${folder}-away`)
    await file.rotate(once, now)
    await file.rotate(once, now)
    expect(await once.run('one', foreign(now), async () => 'done')).toBe('done')
    expect(codes()).toEqual(['used_log_not_rewritten'])
    renameSync(`${folder}-away`, folder)
    await file.rotate(once, now)
    expect(await openOnce(folder, now).once.run('one', foreign(now), async () => 'x')).toBe('done')
  })

  it('keeps every claim, answer and release that is made meanwhile', async () => {
    const folder = newFolder()
    const now = 1e12
    const { file, once } = openOnce(folder, now)
    for (let i = 0; i < 3000; i++) await once.run(`before-${i}`, foreign(now), async () => 'answer')
    let answer!: (text: string) => void
    const slow = once.run('slow', foreign(now), () => new Promise((resolve) => (answer = resolve)))
    const rotating = file.rotate(once, now)
    let made = 0
    const state = { isOver: false }
    void rotating.then(() => (state.isOver = true))
    while (!state.isOver) {
      await once.run(`during-${made++}`, foreign(now), async () => 'answer')
      if (made === 3) answer('slow answer')
      await new Promise(setImmediate)
    }
    const refuse = async () => {
      throw new NotDone('no')
    }
    await once.run('released', foreign(now), refuse).catch(() => undefined)
    await slow
    expect(made).toBeGreaterThan(3)
    const again = openOnce(folder, now)
    expect(again.codes()).toEqual([])
    const rerun = (id: string) => again.once.run(id, foreign(now), async () => 'twice')
    for (let i = 0; i < made; i++) expect(await rerun(`during-${i}`)).toBe('answer')
    for (let i = 0; i < 3000; i++) expect(await rerun(`before-${i}`)).toBe('answer')
    expect(await rerun('slow')).toBe('slow answer')
    expect(await rerun('released')).toBe('twice')
  })

  it('keeps a claim that is made meanwhile and never answered', async () => {
    const folder = newFolder()
    const now = 1e12
    const { file, once } = openOnce(folder, now)
    for (let i = 0; i < 2000; i++) await once.run(`before-${i}`, foreign(now), async () => 'answer')
    const rotating = file.rotate(once, now)
    let turns = 0
    const state = { isOver: false }
    void rotating.then(() => (state.isOver = true))
    while (!state.isOver) {
      const cutOff = () => new Promise<string>(() => {})
      void once.run(`during-${turns++}`, foreign(now), cutOff)
      await new Promise(setImmediate)
    }
    const again = openOnce(folder, now)
    for (let i = 0; i < turns; i++) {
      const rerun = again.once.run(`during-${i}`, foreign(now), async () => 'twice')
      await expect(rerun).rejects.toThrow(OutcomeUnknown)
    }
  })

  it('is worth it when much was added', async () => {
    const { file, once } = openOnce(newFolder(), 1e12)
    expect(file.hasGrown).toBe(false)
    const answer = 'a'.repeat(10_000)
    for (let i = 0; i < 500; i++) await once.run(`id-${i}`, foreign(1e12), async () => answer)
    expect(file.hasGrown).toBe(true)
    await file.rotate(once, 1e12)
    expect(file.hasGrown).toBe(false)
  })
})
