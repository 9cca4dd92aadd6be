/** Three instances that ask Sentinel for the primary, which dies. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Sentinels, startSentinels, until } from '../servers.js'
import { build, type Drilled, drill } from './drill.js'
import { type Expected, findings } from './findings.js'

let drilled: Drilled
let expected: Expected

/** The primary dies, and a replica takes over with what it had heard of; the dead one comes back. */
async function failOver(sentinels: Sentinels): Promise<Expected> {
  const first = await sentinels.primary()
  await first.kill()
  const lost = Date.now()
  await until('another primary', async () => {
    const next = await sentinels.primary()
    return next !== first && (await next.admin.info('replication')).includes('role:master')
  })
  await first.start()
  return { cuts: [lost] }
}

beforeAll(async () => {
  build()
  const sentinels = await startSentinels()
  const { name } = sentinels
  try {
    drilled = await drill({
      clients: [0, 1, 2].map(() => ({
        kind: 'ioredis-sentinel',
        sentinels: sentinels.sentinels,
        name,
      })),
      witnessed: sentinels.servers.map(({ port }) => ({ host: '127.0.0.1', port })),
      fault: async () => {
        expected = await failOver(sentinels)
      },
    })
  } finally {
    await sentinels.stop()
  }
}, 120_000)

describe('Sentinel', () => {
  it('fails over', () => {
    expect(findings(drilled, expected)).toEqual({})
  })
})
