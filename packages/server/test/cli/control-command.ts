/** The command against a control plane of its own. */
import { afterAll, beforeAll, expect } from 'vitest'
import { parse } from 'yaml'
import { askJson } from '../service.js'
import { inOwnFolder, type RunOptions, run, shown } from './command.js'
import { type ControlServer, startControl } from './control-server.js'

/** The rules of a file that most tests begin with. */
export const RULES = `# our limits
rules:
  per-user: { scope: user, limits: 10/s, tiers: { pro: 50/s } }
  search: { scope: user, resource: GET /v1/search, limits: 3 per 300d fixed }
  once: { scope: user, resource: /once, limits: 1 per 300d fixed }
tiers: { pro: [user:grace] }
costs: { GET /v1/search: 2 }
blocks:
  - { ip: 198.51.100.0/24, reason: card testing }
`

/** What differs from run to run, replaced. */
export const steady = (text: string) =>
  text
    .replace(/\d+ (s|min|h) ago/g, 'N s ago')
    .replace(/in \d+ (s|min|h)\b/g, 'in N')
    .replace(/revision \d+/g, 'revision N')
    .replace(/localhost:\d+/g, 'localhost:PORT')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/sluice_[\w-]{43}/g, 'sluice_SECRET')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')

/** Starts a control plane for the tests of this file, with these rules where some are given. */
export function controlCommand(rules?: string) {
  let server: ControlServer
  beforeAll(async () => {
    server = await startControl()
    if (rules === undefined) return
    const asked = { host: '127.0.0.1', port: server.port, method: 'PUT', path: '/v1/document' }
    const applied = await askJson({ ...asked, headers: { 'If-Match': '*' } }, parse(rules))
    expect(applied.status).toBe(200)
  }, 120_000)
  afterAll(async () => {
    expect(server.failures).toEqual([])
    await server.stop()
  })
  const folder = inOwnFolder()
  const ask = (line: string, options: RunOptions = {}) =>
    run(line, { environment: { SLUICE_SERVER: `localhost:${server.port}` }, ...options })
  const seen = async (line: string, options: RunOptions = {}) =>
    steady(shown(await ask(line, options)))
  return { folder, ask, seen, server: () => server }
}
