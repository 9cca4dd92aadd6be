/** A stranger asks the admin routes whatever the OpenAPI document allows and forbids, and holds the answers against it. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openApiDocument } from '@sluice/contract'
import { describe, expect, it } from 'vitest'
import { ControlPlane } from '../../src/control/control-plane.js'
import { openEmbedded } from '../../src/control/embedded.js'
import type { Route } from '../../src/http/route.js'
import { startAdmin } from './admin-server.js'
import { inconsistencies, ROOT } from './world.js'

const COMMAND = fileURLToPath(new URL('../../../../.cache/bin/schemathesis', import.meta.url))

/** The document without the routes of others. */
function adminDocument(routes: readonly Route[]): unknown {
  const document = openApiDocument({ version: '0.0.0' }) as { paths: Record<string, unknown> }
  const own = new Set(routes.map(({ contract }) => contract.path))
  const paths = Object.entries(document.paths).filter(([path]) => own.has(path))
  return { ...document, paths: Object.fromEntries(paths) }
}

describe('schemathesis', () => {
  it.skipIf(!existsSync(COMMAND) || spawnSync(COMMAND, ['--version']).status !== 0)(
    'finds no answer that the document does not have (skipped where there is no Python to run it)',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-strange-'))
      const database = openEmbedded(folder)
      const control = new ControlPlane({ database })
      await control.rules.create(ROOT, 'default', { name: 'a', scope: 'user', limits: '10/s' })
      const admin = await startAdmin({ control, mode: 'database' })
      const file = join(folder, 'openapi.json')
      writeFileSync(file, JSON.stringify(adminDocument(admin.routes)))
      // Whether ids, cursors, versions and names are known depends on what is there.
      const checks = ['--checks', 'all', '--exclude-checks', 'positive_data_acceptance']
      const args = ['run', file, '--url', admin.url, ...checks]
      const more = ['-n', '25', '--seed', '1', '--no-color', '--generation-database', 'none']
      const child = spawn(COMMAND, [...args, ...more], { cwd: folder })
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += String(chunk)
      })
      child.stderr.on('data', (chunk) => {
        said += String(chunk)
      })
      const [code] = await once(child, 'close')
      expect(code === 0 ? '' : said).toBe('')
      expect(said).toContain(`Tested: ${admin.routes.length}`)
      expect(admin.failures).toEqual([])
      expect(await inconsistencies(database)).toEqual([])
      await admin.stop()
      await database.close()
      rmSync(folder, { recursive: true })
    },
    180_000,
  )
})
