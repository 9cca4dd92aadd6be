import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inOwnFolder, runWords } from './command.js'

const EVIL = 'evil\u001b[31m\u0007\u009b1m\u202e\nname'
const ID = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'

/** Whatever is asked for is in it, and all of it is hostile. */
const ITEM = {
  id: ID,
  name: EVIL,
  scope: EVIL,
  value: EVIL,
  tier: EVIL,
  resource: EVIL,
  methods: [EVIL],
  limits: [EVIL],
  limit: EVIL,
  rule: EVIL,
  unit: EVIL,
  why: EVIL,
  reason: EVIL,
  role: EVIL,
  namespaces: [EVIL],
  expires_at: EVIL,
  until: EVIL,
  at: EVIL,
  actor: EVIL,
  what: EVIL,
  change: 'changed',
  before: EVIL,
  after: EVIL,
  counters: EVIL,
  count: 1,
  remaining: 1,
  limit_total: 2,
  override: { until: EVIL, reason: EVIL },
}
const ANSWER = {
  ...ITEM,
  items: [
    { ...ITEM, version: 2, rule: ITEM, deleted: false },
    { ...ITEM, version: 1, rule: ITEM, deleted: false },
  ],
  limits: [ITEM],
  changes: [ITEM, { ...ITEM, change: EVIL }],
  rules: { [EVIL]: ITEM },
  totals: { count: 9 },
  next: null,
  token: EVIL,
  revision: EVIL,
  version: EVIL,
  reset: 2,
}
const ERROR = {
  error: {
    code: EVIL,
    message: EVIL,
    faults: [
      { field: EVIL, message: EVIL },
      { field: EVIL, message: EVIL },
    ],
  },
}

let server: Server
let status = 200
beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', etag: '"1"' })
    response.end(JSON.stringify(status < 300 ? ANSWER : ERROR))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const folder = inOwnFolder()

const COMMANDS = [
  'rules list',
  'rules plan',
  'rules diff',
  'rules apply --yes',
  'rules export',
  `rules history ${ID}`,
  `rules rollback ${ID} --yes`,
  'subject show user:42',
  'subject tier user:42 pro',
  'subject override user:42 search 5/s',
  'subject block user:42',
  'subject exempt user:42',
  'subject reset user:42',
  'violations',
  'token create ci --role client',
  'token list',
  `token revoke ${ID} --yes`,
]

describe.each([200, 422, 409])('an answer %i that would act on the terminal', (answered) => {
  it.each(COMMANDS)('is escaped by %s', async (line) => {
    status = answered
    folder.write('sluice.yaml', 'rules: { all: { scope: global, limits: 5/s } }\n')
    const { port } = server.address() as AddressInfo
    const ran = await runWords(line.split(' '), {
      environment: { SLUICE_SERVER: `localhost:${port}` },
    })
    const said = ran.out + ran.words
    expect(said).not.toBe('')
    expect(said.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u)
    if (answered !== 200) expect(ran.code).toBe(answered === 422 ? 3 : 1)
  })
})
