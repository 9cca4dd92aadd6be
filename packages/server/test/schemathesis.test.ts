import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROUTE_IDS, routeOf } from '@sluice/contract'
import { describe, expect, it } from 'vitest'
import { startService } from './service.js'

const COMMAND = fileURLToPath(new URL('../../../.cache/bin/schemathesis', import.meta.url))
const RULES = `
rules:
  hello: { scope: user, resource: /hello, limits: 3 per 10s }
  jobs: { scope: org, resource: /jobs, limits: 2 concurrent for 60s }
  tokens: { scope: org, unit: tokens, additive: true, limits: 10k/min }
`

/** What a stranger finds who makes requests of the OpenAPI document, good and bad, and holds the answers against it. */
async function tryOut(address: string, more: readonly string[]): Promise<string> {
  // Which scopes and namespaces are known depends on the rules, so a body may fit the document and be refused.
  const args = ['run', `http://${address}/v1/openapi.json`, '--checks', 'all']
  const excluded = ['--exclude-checks', 'positive_data_acceptance,missing_required_header']
  const common = ['--seed', '1', '--no-color', '--generation-database', 'none']
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-schemathesis-'))
  const child = spawn(COMMAND, [...args, ...excluded, ...common, ...more], { cwd })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    said += String(chunk)
  })
  const [code] = await once(child, 'close')
  expect(code === 0 ? '' : said).toBe('')
  return said
}

const isMissing = !existsSync(COMMAND) || spawnSync(COMMAND, ['--version']).status !== 0
/** Routes of every instance; `control/schemathesis.test.ts` has the others. */
const EVERYWHERE = ROUTE_IDS.filter((id) => routeOf(id).kind !== 'control').map(
  (id) => routeOf(id).path,
)

describe.skipIf(isMissing)('schemathesis (skipped where there is no Python to run it)', () => {
  it('finds no answer of a route that every instance has, that the document does not have', async () => {
    const service = await startService({ rules: RULES })
    const said = await tryOut(`${service.host}:${service.port}`, [
      '-n',
      '40',
      '--include-path-regex',
      `^(${EVERYWHERE.join('|')})$`,
    ])
    expect(said).toMatch(`Tested: ${EVERYWHERE.length}`)
    expect(service.log.filter(({ level }) => level === 'error')).toEqual([])
    await service.stop()
  }, 120_000)
})
