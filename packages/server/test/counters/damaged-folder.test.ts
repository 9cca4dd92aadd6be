/** A server starts with damaged files in its data folder, says so, and lets nothing be used twice. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { startService } from '../service.js'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const RULES = 'rules:\n  a: { scope: user, resource: /a, limits: 1000/d fixed }\n'
const REQUEST = { subject: { user: 'ada' }, resource: '/a', include: ['receipt'] }

/** A folder of a server that has stopped, and a receipt that was used there. */
async function usedFolder() {
  const data = mkdtempSync(join(tmpdir(), 'sluice-damaged-'))
  folders.push(data)
  const start = () => startService({ rules: RULES, flags: { data } })
  const service = await start()
  const { receipt } = (await service.post('/v1/check', REQUEST)).body
  expect((await service.post('/v1/refund', { receipt })).body.refunded).toEqual({ requests: 1 })
  await service.stop()
  return { data, start, receipt }
}

/** Where it is: beside the counters. */
function fileOf(data: string, name: string): string {
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' })
  return join(data, files.find((file) => `/${file}`.endsWith(`/${name}`))!)
}

function flipBit(file: string): void {
  const content = readFileSync(file)
  content[content.length >> 1]! ^= 4
  writeFileSync(file, content)
}

it.each([
  ['used.log', 'used_log_damaged'],
  ['secret', 'secret_damaged'],
])('with a flipped bit in %s', async (name, code) => {
  const { data, start, receipt } = await usedFolder()
  flipBit(fileOf(data, name))
  const service = await start()
  expect(
    service.log.filter((line) => line['level'] === 'error').map((line) => line['code']),
  ).toEqual([code])
  const { remaining } = (await service.post('/v1/check', REQUEST)).body
  expect((await service.post('/v1/refund', { receipt })).status).not.toBe(200)
  expect((await service.post('/v1/quota', REQUEST)).body.remaining).toBe(remaining)
  const fresh = (await service.post('/v1/check', REQUEST)).body.receipt
  expect((await service.post('/v1/refund', { receipt: fresh })).status).toBe(200)
  await service.stop()
  const again = await start()
  expect(again.log.filter((line) => line['level'] === 'error')).toEqual([])
  await again.stop()
})
