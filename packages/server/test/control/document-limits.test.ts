/** How large and how deep a document may be is a setting, and holds before the document is read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'
import { ask } from '../service.js'

describe('documents that are sent', () => {
  let sluice: SluiceProcess
  const limits = ['--document-bytes', '70000', '--document-depth', '9']
  const put = (text: string) => {
    const headers = { 'Content-Type': 'application/json', 'If-Match': '*' }
    const path = '/v1/document?dry_run=true'
    return ask({ host: '127.0.0.1', port: sluice.port, method: 'PUT', path, headers }, text)
  }
  const padded = (bytes: number) => `{"rules":{}${' '.repeat(bytes - 12)}}`
  const nested = (depth: number) => `{"blocks":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

  beforeAll(async () => {
    sluice = new SluiceProcess(['serve', '--port', '0', '--drain-delay', '0', ...limits])
    await until('the database is there', async () => (await put(padded(100))).status === 200)
  })
  afterAll(() => sluice.stop('SIGKILL'))

  it('may be as long as the setting says', async () => {
    expect((await put(padded(70_000))).status).toBe(200)
    const { status, body } = await put(padded(70_001))
    expect([status, body.error.code]).toEqual([413, 'payload_too_large'])
  })

  it('may be as deep as the setting says', async () => {
    expect((await put(nested(9))).status).toBe(422)
    const { status, body } = await put(nested(10))
    expect(status).toBe(400)
    expect(body.error.message).toContain('nested more than 9 deep')
  })
})
