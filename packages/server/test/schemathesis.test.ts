import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startService } from './service.js'

const COMMAND = fileURLToPath(
  new URL('../../../.cache/schemathesis/bin/schemathesis', import.meta.url),
)
const RULES = `
rules:
  hello: { scope: user, resource: /hello, limits: 3 per 10s }
  jobs: { scope: org, resource: /jobs, limits: 2 concurrent for 60s }
  tokens: { scope: org, unit: tokens, additive: true, limits: 10k/min }
`

/** A stranger that makes requests of the OpenAPI document, good and bad, and holds the answers against it. */
describe('schemathesis', () => {
  it.skipIf(!existsSync(COMMAND) || spawnSync(COMMAND, ['--version']).status !== 0)(
    'finds no answer that the document does not have (skipped where there is no Python to run it)',
    async () => {
      const service = await startService({ rules: RULES })
      const url = `http://${service.host}:${service.port}/v1/openapi.json`
      // Which scopes and namespaces are known depends on the rules, so a body may fit the document and be refused.
      const args = ['run', url, '--checks', 'all', '--exclude-checks', 'positive_data_acceptance']
      const more = ['-n', '40', '--seed', '1', '--no-color', '--generation-database', 'none']
      const child = spawn(COMMAND, [...args, ...more], { cwd: service.folder })
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += String(chunk)
      })
      child.stderr.on('data', (chunk) => {
        said += String(chunk)
      })
      const [code] = await once(child, 'close')
      expect(code === 0 ? '' : said).toBe('')
      expect(said).toMatch(/Tested: 14/)
      expect(service.log.filter(({ level }) => level === 'error')).toEqual([])
      await service.stop()
    },
    120_000,
  )
})
