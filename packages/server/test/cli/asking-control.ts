/** A control plane that the command line is asked about: what it says, with what changes from run to run taken out. */
import { afterAll, beforeAll, expect } from 'vitest'
import { type RunOptions, run, shown } from './command.js'
import { type ControlServer, startControl } from './control-server.js'

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

export function steady(text: string): string {
  return text
    .replace(/\d+ (s|min|h) ago/g, 'N s ago')
    .replace(/in \d+ (s|min|h)\b/g, 'in N')
    .replace(/revision \d+/g, 'revision N')
    .replace(/localhost:\d+/g, 'localhost:PORT')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/sluice_[\w-]{43}/g, 'sluice_SECRET')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
}

/** Runs for the tests of a file. */
export function askingControl() {
  let server: ControlServer
  beforeAll(async () => {
    server = await startControl()
  }, 120_000)
  afterAll(async () => {
    expect(server.failures).toEqual([])
    await server.stop()
  })
  const address = () => ({ environment: { SLUICE_SERVER: `localhost:${server.port}` } })
  const ask = (line: string, options: RunOptions = {}) => run(line, { ...address(), ...options })
  return {
    get server(): ControlServer {
      return server
    },
    address,
    ask,
    seen: async (line: string, options: RunOptions = {}) => steady(shown(await ask(line, options))),
  }
}
