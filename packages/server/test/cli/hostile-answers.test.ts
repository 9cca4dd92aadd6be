import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { propertiesOf, ROUTE_IDS, routeOf, type TSchema } from '@sluice/contract'
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

/** An answer as the contract has it, with fields of a newer server; every text is hostile. */
function promised(schema: TSchema): unknown {
  const { type, anyOf, items, additionalProperties } = schema as {
    type?: string | string[]
    anyOf?: TSchema[]
    items?: TSchema
    additionalProperties?: TSchema | boolean
  }
  const kind = typeof type === 'object' ? type[0] : (type ?? (anyOf === undefined ? 'string' : ''))
  if (kind === '') return promised(anyOf![0]!)
  if (kind === 'boolean') return false
  if (kind === 'integer' || kind === 'number') return 1
  if (kind === 'array') return [promised(items!), promised(items!)]
  if (kind !== 'object') return EVIL
  if (typeof additionalProperties === 'object') return { [EVIL]: promised(additionalProperties) }
  const fields = Object.entries(propertiesOf(schema)).map(([name, one]) => [name, promised(one)])
  return { ...Object.fromEntries(fields), unheard_of: EVIL }
}

interface Answer {
  readonly status: number
  readonly body?: object
}

/** What the operation of a request answers; each list ends with its first page. */
function promisedAt(method: string, path: string): Answer {
  const id = ROUTE_IDS.find((one) => {
    const known = routeOf(one)
    const pattern = known.path.replace(/\{\w+\}/g, '[^/]+')
    return known.method === method && new RegExp(`^${pattern}$`).test(path)
  })!
  const { answer, status } = routeOf(id)
  return answer === null
    ? { status }
    : { status, body: { ...(promised(answer) as object), next: null } }
}

let server: Server
let answerOf: (method: string, path: string) => Answer
beforeAll(async () => {
  server = createServer(({ method, url }, response) => {
    const { status, body } = answerOf(method!, url!.split('?')[0]!)
    response.writeHead(status, { 'content-type': 'application/json', etag: '"1"' })
    response.end(body === undefined ? undefined : JSON.stringify(body))
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

async function ask(line: string, answer: typeof answerOf) {
  answerOf = answer
  folder.write('sluice.yaml', 'rules: { all: { scope: global, limits: 5/s } }\n')
  const { port } = server.address() as AddressInfo
  const environment = { SLUICE_SERVER: `localhost:${port}` }
  return runWords(line.split(' '), { environment })
}

describe.each([200, 422, 409])('an answer %i that would act on the terminal', (answered) => {
  it.each(COMMANDS)('is escaped by %s', async (line) => {
    const body = answered < 300 ? ANSWER : ERROR
    const ran = await ask(line, () => ({ status: answered, body }))
    const said = ran.out + ran.words
    expect(said).not.toBe('')
    expect(said.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u)
    if (answered !== 200) expect(ran.code).toBe(answered === 422 ? 3 : 1)
  })
})

/** Words of the server are among what these show. */
const SHOWN = [
  'rules list',
  'rules plan',
  'rules diff',
  'rules export',
  `rules history ${ID}`,
  `rules rollback ${ID} --yes`,
  'subject show user:42',
  'violations',
  'token create ci --role client',
  'token list',
  'check user:42',
  'explain user:42',
  'doctor',
]

describe('an answer as the contract has it, of a newer server, that would act on the terminal', () => {
  it.each([...new Set([...COMMANDS, ...SHOWN])])('is believed and escaped by %s', async (line) => {
    const ran = await ask(line, promisedAt)
    const said = ran.out + ran.words
    expect([line, ran.words, [0, 6].includes(ran.code!)]).toEqual([line, ran.words, true])
    expect(said.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u)
    if (SHOWN.includes(line)) expect(said).toContain('evil\\')
  })
})

describe('an answer without a field that the contract promises', () => {
  it.each([
    ['rules list', 'items[0].limits is missing; expected a list'],
    [`rules history ${ID}`, 'items[0].rule.limits is missing; expected a list'],
    ['subject show user:42', 'limits is missing; expected a list'],
    ['explain user:42', 'applied[0].limits is missing; expected a list'],
  ])('is not believed by %s', async (line, fault) => {
    const without = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(without)
      if (typeof value !== 'object' || value === null) return value
      const { limits: _limits, ...others } = value as Record<string, unknown>
      return Object.fromEntries(Object.entries(others).map(([name, one]) => [name, without(one)]))
    }
    const ran = await ask(line, (...asked) => without(promisedAt(...asked)) as Answer)
    expect(ran).toEqual({
      code: 5,
      out: '',
      words: `What answered is not Sluice, or of another version: ${fault}. Is --server right?\n`,
    })
  })
})

describe('an answer that is not the one of a deletion', () => {
  it('does not count as one', async () => {
    for (const line of [`token revoke ${ID} --yes`, 'subject override user:42 search --remove']) {
      const { code, words } = await ask(line, () => ({ status: 200, body: {} }))
      expect([line, code]).toEqual([line, 5])
      expect(words).toContain('answers, but not as Sluice does (HTTP 200, no error code)')
    }
  })
})
