/** `rules.ndjson` is used only as it was written: any damage is noticed, said, and the source is asked. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'
import { FeedFile } from '../../src/feed/feed-file.js'
import { FeedKeys } from '../../src/feed/feed-redis.js'
import { nothingTouched } from '../../src/feed/feed-state.js'
import { RedisPublisher } from '../../src/feed/redis-publisher.js'
import { Log } from '../../src/telemetry/log.js'
import { startService, type TestService } from '../service.js'
import { History, namespaceEdit, ruleEdit } from './history.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-feed-file-'))
const path = join(folder, 'rules.ndjson')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function newFile() {
  const lines: Record<string, unknown>[] = []
  const log = new Log({ write: (line) => lines.push(JSON.parse(line)) })
  return { file: new FeedFile(path, log, 1), codes: () => lines.map(({ code }) => code) }
}

/** A file as it is written, and what is in it. */
async function written(): Promise<{ content: Buffer; history: History }> {
  const history = new History()
  history.commit([namespaceEdit()])
  history.commit([ruleEdit('größe', '3/s')])
  const { file } = newFile()
  file.keep(history.state)
  await file.close()
  return { content: readFileSync(path), history }
}

/** More than are written at a time. */
function manyRules(limits: Parameters<typeof ruleEdit>[1]): History {
  const history = new History()
  history.commit([namespaceEdit()])
  history.commit(Array.from({ length: 3000 }, (_, i) => ruleEdit(`r${i}`, limits)))
  return history
}

async function loadOf(content: Buffer | string) {
  writeFileSync(path, content)
  const { file, codes } = newFile()
  return { snapshot: await file.load(), codes: codes() }
}

describe('a rules file that was written', () => {
  it('gives back what was in it', async () => {
    const { content, history } = await written()
    const { snapshot, codes } = await loadOf(content)
    expect(snapshot).toEqual(await history.snapshot())
    expect(codes).toEqual([])
  })

  it('is written while changes go on without a pause', async () => {
    const history = manyRules('1/s')
    const { file } = newFile()
    const over = new AbortController()
    const changing = (async () => {
      while (!over.signal.aborted) {
        history.commit([ruleEdit('r0', `${history.state.head.revision}/s`)])
        file.keep(history.state)
        await turn()
      }
    })()
    const { revision } = history.state.head
    try {
      await until('a later state is on disk', async () => {
        const kept = await newFile().file.load()
        return kept !== null && kept.revision > revision
      })
    } finally {
      over.abort()
      await changing
    }
    await file.close()
    expect(await newFile().file.load()).toEqual(await history.snapshot())
  })

  it('has nothing of a change that is only being put in force', async () => {
    const history = manyRules('1/s')
    const before = await history.snapshot()
    const { file } = newFile()
    file.keep(history.state)
    const { edits } = manyRules('2/s').changes.at(-1)!
    history.state.apply(JSON.parse(edits), nothingTouched())
    file.keep(history.state)
    await file.close()
    expect(await newFile().file.load()).toEqual(before)
  })

  it('is refused with any single bit flipped', async () => {
    const { content } = await written()
    const accepted: string[] = []
    for (let bit = 0; bit < content.length * 8; bit++) {
      const damaged = Buffer.from(content)
      damaged[bit >> 3]! ^= 1 << (bit & 7)
      const { snapshot, codes } = await loadOf(damaged)
      if (snapshot !== null || codes[0] !== 'rules_file_damaged')
        accepted.push(`bit ${bit & 7} of byte ${bit >> 3}`)
    }
    expect(accepted).toEqual([])
  })

  it('is refused where it is cut short, empty, or longer than it was', async () => {
    const { content } = await written()
    const cut = Array.from(content, (_, length) => content.subarray(0, length))
    const longer = ['x', '\n', '{}\n', content.toString()].map((more) =>
      Buffer.concat([content, Buffer.from(more)]),
    )
    for (const damaged of [...cut, ...longer])
      expect(await loadOf(damaged)).toEqual({ snapshot: null, codes: ['rules_file_damaged'] })
  })

  it('is refused where lines are missing, doubled or swapped', async () => {
    const { content } = await written()
    const [head, first, second, last] = content.toString().split(/(?<=\n)/)
    for (const lines of [
      [head, second, last],
      [head, first, first, second, last],
      [head, second, first, last],
    ])
      expect((await loadOf(lines.join(''))).codes).toEqual(['rules_file_damaged'])
  })
})

describe('a rules file of version 1', () => {
  it('is accepted with a warning, unless it is cut short or claims a checksum', async () => {
    const { content, history } = await written()
    const [head, first, second, last] = content.toString().split(/(?<=\n)/)
    const head1 = head!.replace('"version":2', '"version":1')
    const whole = [head1, first, second, '{"count":2}\n']
    expect(await loadOf(whole.join(''))).toEqual({
      snapshot: await history.snapshot(),
      codes: ['rules_file_version_1'],
    })
    for (const lines of [
      [head1, first, '{"count":2}\n'],
      [head1, first, second, last],
      [head, first, second, '{"count":2}\n'],
      [head1.replace('1', '7'), first, second, '{"count":2}\n'],
    ])
      expect((await loadOf(lines.join(''))).codes).toEqual(['rules_file_damaged'])
  })
})

describe('a data plane', () => {
  let redis: RedisServer
  const data = mkdtempSync(join(tmpdir(), 'sluice-feed-plane-'))
  const kept = join(data, 'rules.ndjson')
  const start = () => startService({ flags: { rules: 'feed', redis: redis.url, data } })
  const limitOf = (plane: TestService) =>
    plane
      .post('/v1/quota', { subject: { user: 'ada' }, resource: '/x' })
      .then(({ body }) => body.limit)
  const coded = (plane: TestService, code: string) => plane.log.filter((line) => line.code === code)

  async function publish(): Promise<void> {
    const client = new Redis(redis.port, '127.0.0.1')
    const history = new History()
    history.commit([namespaceEdit()])
    history.commit([ruleEdit('x', '3/s')])
    await new RedisPublisher(client, new FeedKeys('sluice')).publish(history)
    client.disconnect()
  }

  beforeAll(async () => {
    redis = await RedisServer.start()
    await publish()
    const first = await start()
    expect(await limitOf(first)).toBe(3)
    await first.stop()
  })
  afterAll(async () => {
    await redis.stop()
    rmSync(data, { recursive: true, force: true })
  })

  /** As a flipped bit does: 3 becomes 7. */
  const damage = () => writeFileSync(kept, readFileSync(kept, 'utf8').replace('3/s', '7/s'))

  it('rewrites a file of version 1 as version 2', async () => {
    const lines = readFileSync(kept, 'utf8').split(/(?<=\n)/)
    lines[0] = lines[0]!.replace('"version":2', '"version":1')
    lines[lines.length - 1] = `${JSON.stringify({ count: lines.length - 2 })}\n`
    writeFileSync(kept, lines.join(''))
    const plane = await start()
    expect(coded(plane, 'rules_file_version_1')).toHaveLength(1)
    await plane.stop()
    expect(readFileSync(kept, 'utf8')).toMatch(/^\{"version":2,[^]*"sha256":"[0-9a-f]{64}"\}\n$/)
  })

  it('says that its file is damaged, and takes the rules from Redis', async () => {
    damage()
    const plane = await start()
    expect(coded(plane, 'rules_file_damaged')).toHaveLength(1)
    expect(await limitOf(plane)).toBe(3)
    expect((await plane.get('/readyz')).status).toBe(200)
    await plane.stop()
  })

  it('is not ready with a damaged file and Redis away, and is once Redis is back', async () => {
    damage()
    await redis.kill()
    const plane = await start()
    expect(coded(plane, 'rules_file_damaged')).toHaveLength(1)
    expect((await plane.get('/readyz')).status).toBe(503)
    expect(await limitOf(plane)).toBe(null)
    await redis.start()
    await publish()
    await until('it is ready', async () => (await plane.get('/readyz')).status === 200)
    await plane.stop()
  })
})
